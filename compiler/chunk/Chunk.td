// The chunk dialect: a parallel algorithm on tiles with named axes. Loops over
// spans of axes, buffers, structured ops; no thread, lane or address.
// SPDX-License-Identifier: Apache-2.0
#ifndef RECURRA_CHUNK_TD
#define RECURRA_CHUNK_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Chunk_Dialect : Dialect {
  let name = "chunk";
  let cppNamespace = "::recurra::chunk";
  let summary = "A parallel algorithm on tiles with named axes";
  let description = [{
    A program is one `func.func` whose arguments are `!chunk.buf`s. Its body is
    a sequence of `alloc workspace` and top-level `forall`s; the foralls
    (*nests*) run one after the other, and what one stored the next may load.

    Attributes of the function:
    - `chunk.extents = {K = 64 : i64, V = 96 : i64}`: the size of every user axis.
    - on each argument `chunk.arg = "KIND NAME"`, KIND one of `input`,
      `initial-state`, `checkpoint`, `output-cotangent`,
      `final-state-cotangent`, `output`, `final-state`, `input-gradient`,
      `initial-state-gradient`: the kinds of compiler/Artifact.h.
    - `chunk.plan`, text for people.

    Root axes. `N`: sequences. `H`: value heads. `T`: tokens. All other axes are
    the user's. N, H, T have run-time sizes; the batch row is a part of T: token
    t of sequence n is row n, token t when sequences are batch rows, and row 0,
    token offsets[n] + t when they are packed.

    Padding. A span may be shorter than its capacity (the last one of an axis).
    A load gives 0 beyond the valid length, a store drops it. What other ops
    compute there is unspecified (it may be NaN); so what is reduced or dotted
    over such an axis must be zero there (`mask`), -inf for max.
  }];
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = [{ void registerTypes(); }];
}

class Chunk_Type<string name, string typeMnemonic> : TypeDef<Chunk_Dialect, name> {
  let mnemonic = typeMnemonic;
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Chunk_Tile : Chunk_Type<"Tile", "tile"> {
  let summary = "a value with named axes of static capacity";
  let description = [{
    `!chunk.tile<K:96, V:16>`, f32 unless `f64` follows the axes. The axes are a
    set, kept sorted by name: broadcasting is by name, never by position. A tile
    without axes, `!chunk.tile<>`, is a number.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names,
                        ArrayRefParameter<"int64_t">:$sizes,
                        "::mlir::Type":$element);
  let extraClassDeclaration = [{
    /// Sorts the axes.
    static TileType getSorted(::mlir::MLIRContext *context,
                              ::mlir::ArrayRef<std::pair<::mlir::StringRef, int64_t>> axes,
                              ::mlir::Type element);
    bool hasAxis(::mlir::StringRef axis) const;
    /// The capacity of an axis; 0 if it is absent.
    int64_t getSize(::mlir::StringRef axis) const;
    int64_t getNumElements() const;
    unsigned getRank() const { return getNames().size(); }
    /// This tile without some axes, or with one axis more.
    TileType dropAxes(::mlir::ArrayRef<::mlir::StringRef> axes) const;
    TileType addAxis(::mlir::StringRef axis, int64_t size) const;
  }];
}

def Chunk_Span : Chunk_Type<"Span", "span"> {
  let summary = "a run of consecutive entries of one axis";
  let description = [{
    `!chunk.span<T:64>`: the axis and the capacity are static; the origin, the
    valid length (1 .. capacity) and the parent span are known at run time.
    Capacity 1 is a point.
  }];
  let parameters = (ins "::mlir::StringAttr":$axis, "int64_t":$capacity);
}

def Chunk_Buffer : Chunk_Type<"Buffer", "buf"> {
  let summary = "memory with named axes in memory order";
  let description = [{
    `!chunk.buf<T, H per 4, K, V per 16, bf16>`; element f32, f64, f16 or bf16.
    An axis is one of
    - `A`: one slot per entry of the axis.
    - `A per n`: one slot per run of n entries. For user axes and H the slot of
      a span is origin / n. For T the slot of a span of sequence n is
      floor(start_n / n) + n_index + t / n, where start_n is the sequence's
      first token (n_index * T if sequences are batch rows) and t the span's
      origin within the sequence: distinct, ordered, and at most
      floor(B * T / n) + N of them.
    - `A:w` or `A:w per n`: a window of w entries, for scratch. The position of
      a span is its offset within its nearest enclosing span (or itself) that
      has capacity w.
    Converting loads and stores change the element type; tiles are f32 or f64.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names,
                        ArrayRefParameter<"int64_t">:$windows,
                        ArrayRefParameter<"int64_t">:$pers,
                        "::mlir::Type":$element);
  let extraClassDeclaration = [{
    unsigned getRank() const { return getNames().size(); }
    /// The position of an axis in memory order, or -1.
    int64_t findAxis(::mlir::StringRef axis) const;
  }];
}

class Chunk_Op<string mnemonic, list<Trait> traits = []>
    : Op<Chunk_Dialect, mnemonic, traits>;

def Chunk_ForallOp : Chunk_Op<"forall", [SingleBlock, RecursiveMemoryEffects]> {
  let summary = "independent iterations over spans";
  let description = [{
    `chunk.forall %n in N by 1, %h in H by 1, %vs in V by 16 { .. }`

    All combinations, in any order or at once; `chunk.forall once { .. }` has no
    iterator and one iteration. Each iterator runs over
    - a root axis, `V by 16`: origins 0, 16, 32 .. below the extent;
    - the tokens of a sequence, `T of %n by 64`, %n a point of N;
    - a parent span of the same axis, `%c : T:64 by 16`.
    Verifier: a store inside, except to scratch, names every enclosing parallel
    span, or one derived from it, as an index or in `first`.
    A top-level forall iterates over root axes only: its tasks are the product
    of their counts, row-major in the order of the iterators.
  }];
  let arguments = (ins Variadic<Chunk_Span>:$parents, StrArrayAttr:$axes,
                       DenseI64ArrayAttr:$steps, DenseBoolArrayAttr:$nested);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    ::mlir::BlockArgument getSpan(unsigned i) { return getBlock().getArgument(i); }
    unsigned getNumIterators() { return getSteps().size(); }
    /// The parent of iterator i, or null for a root axis.
    ::mlir::Value getParent(unsigned i);
    ::mlir::StringRef getAxis(unsigned i) {
      return ::llvm::cast<::mlir::StringAttr>(getAxes()[i]).getValue();
    }
  }];
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::ArrayRef<::mlir::StringRef>":$axes,
                                 "::mlir::ArrayRef<int64_t>":$steps,
                                 "::mlir::ArrayRef<::mlir::Value>":$parents)>];
}

def Chunk_ForOp : Chunk_Op<"for", [SingleBlock, AttrSizedOperandSegments,
    RecursiveMemoryEffects]> {
  let summary = "ordered iterations over spans of one axis";
  let description = [{
    `%r = chunk.for %t in %c : T:64 by 1 reverse carry(%M = %init : !kv) { .. }`

    The iterator is as in `forall`. `reverse` visits the same spans, last one
    first. The body ends in a `yield` of the next carries; with no iteration
    the results are the initial values. `assoc = "affine"` licenses a target to
    evaluate it as a tree.
  }];
  let arguments = (ins Optional<Chunk_Span>:$parent, StrAttr:$axis,
                       I64Attr:$step, UnitAttr:$reverse,
                       Variadic<Chunk_Tile>:$inits, OptionalAttr<StrAttr>:$assoc);
  let results = (outs Variadic<Chunk_Tile>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    ::mlir::BlockArgument getSpan() { return getBlock().getArgument(0); }
    ::mlir::Block::BlockArgListType getCarries() {
      return getBlock().getArguments().drop_front();
    }
  }];
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::StringRef":$axis, "int64_t":$step,
                                 "::mlir::Value":$parent, "bool":$reverse,
                                 "::mlir::ValueRange":$inits)>];
}

def Chunk_YieldOp : Chunk_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "ends the body of forall, for and map";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{ /* nothing to yield */ }]>];
}

def Chunk_LoadOp : Chunk_Op<"load"> {
  let summary = "reads a tile";
  let description = [{
    `chunk.load %v[T = %t, H = %h, V:16 = %vs] : !chunk.buf<T, H, V> -> !chunk.tile<V:16>`

    Each index is a span of the axis it names, its capacity written unless it is
    a point. Axes of the buffer that are not named are taken whole: a user axis
    with its extent, a window with its size, `A per n` with all its slots. (N, H
    and T outside windows have no static size, so they must be named.) A point
    drops its axis; a longer span keeps it with its capacity, or, on an axis
    `A per n`, drops it if the capacity is at most n (one slot) and else keeps
    it with capacity / n. The result has exactly these axes. Zero beyond the
    valid length.
    `A per n` where the extent is not a multiple of n has ceil(extent/n) slots.
    Reading a checkpoint or a workspace slot gives what was stored.
  }];
  let arguments = (ins Chunk_Buffer:$buffer, Variadic<Chunk_Span>:$indices);
  let results = (outs Chunk_Tile:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Chunk_StoreOp : Chunk_Op<"store", [AttrSizedOperandSegments]> {
  let summary = "writes a tile";
  let description = [{
    `chunk.store %o, %buf[T = %t, H = %h] first(%vs : V:16) : !tile, !buf`

    Indices as in `load`; drops what lies beyond the valid length. Outside
    scratch each element is stored at most once per call. `first(%vs)`: for a
    value that all iterations over %vs's axis compute alike: only the iteration
    whose span has origin 0 stores.
  }];
  let arguments = (ins Chunk_Tile:$value, Chunk_Buffer:$buffer,
                       Variadic<Chunk_Span>:$indices, Optional<Chunk_Span>:$first);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$value, "::mlir::Value":$buffer,
                                 "::mlir::ValueRange":$indices,
                                 CArg<"::mlir::Value", "{}">:$first)>];
}

def Chunk_AllocOp : Chunk_Op<"alloc"> {
  let summary = "makes a buffer";
  let description = [{
    `chunk.alloc workspace : !buf`, at the top level of the function: global,
    lives for the call. `chunk.alloc scratch : !buf`: private to the innermost
    parallel iteration that holds it; its axes are windows or user axes. The
    contents are undefined until stored.
  }];
  let arguments = (ins UnitAttr:$scratch);
  let results = (outs Chunk_Buffer:$buffer);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Chunk_FillOp : Chunk_Op<"fill", [Pure]> {
  let summary = "a tile of one number";
  let arguments = (ins F64Attr:$value);
  let results = (outs Chunk_Tile:$result);
  let hasCustomAssemblyFormat = 1;
}

def Chunk_MapOp : Chunk_Op<"map", [Pure, SingleBlock, IsolatedFromAbove]> {
  let summary = "elementwise, broadcasting by name";
  let description = [{
    `chunk.map (%x = %a, %y = %M : !s, !kv) -> !kv { .. chunk.yield %z : f32 }`

    The region computes one element from the elements of the operands at the
    same index, by arith and math ops on f32 (or f64) and i1 (compares, select).
    The result's axes are the union of the operands', or more (a broadcast).
  }];
  let arguments = (ins Variadic<Chunk_Tile>:$inputs);
  let results = (outs Chunk_Tile:$result);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
  }];
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "TileType":$result, "::mlir::ValueRange":$inputs)>];
}

def Chunk_ReduceOp : Chunk_Op<"reduce", [Pure]> {
  let summary = "adds up, or takes the maximum, over axes";
  let description = [{
    `chunk.reduce add %x over [K] : !kv -> !v`; kind `add` or `max`. The order
    of summation is the target's, fixed by the types.
  }];
  let arguments = (ins StrAttr:$kind, Chunk_Tile:$input, StrArrayAttr:$over);
  let results = (outs Chunk_Tile:$result);
  let assemblyFormat = [{ custom<Keyword>($kind) $input `over` custom<Axes>($over)
      `:` custom<Full>(type($input)) `->` custom<Full>(type($result)) attr-dict }];
  let hasVerifier = 1;
}

def Chunk_ScanOp : Chunk_Op<"scan", [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "inclusive running sum or maximum along an axis";
  let description = [{ `chunk.scan add %g along T : !t`; kind `add` or `max`. }];
  let arguments = (ins StrAttr:$kind, Chunk_Tile:$input, StrAttr:$along);
  let results = (outs Chunk_Tile:$result);
  let assemblyFormat = [{ custom<Keyword>($kind) $input `along`
      custom<Keyword>($along) `:` custom<Full>(type($input)) attr-dict }];
  let hasVerifier = 1;
}

def Chunk_DotOp : Chunk_Op<"dot", [Pure]> {
  let summary = "product of two tiles, summed over axes";
  let description = [{
    `chunk.dot %a, %b over [V] into %acc : !kv, !v, !k` or, without
    accumulator, `chunk.dot %a, %b over [V] : !kv, !v -> !k`.

    result = acc + sum over the axes of a * b; broadcast by name. `over []` into
    a state tile is the rank-1 update, `over [T]` the rank-C update, `over [K]`
    a read. The summed axes may be in one operand or in both.
  }];
  let arguments = (ins Chunk_Tile:$lhs, Chunk_Tile:$rhs, StrArrayAttr:$over,
                       Optional<Chunk_Tile>:$acc);
  let results = (outs Chunk_Tile:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Chunk_RenameOp : Chunk_Op<"rename", [Pure]> {
  let summary = "the same tile under another axis name";
  let description = [{ `chunk.rename %x [T -> U] : !tv -> !uv` }];
  let arguments = (ins Chunk_Tile:$input, StrAttr:$from, StrAttr:$to);
  let results = (outs Chunk_Tile:$result);
  let assemblyFormat = [{ $input `[` custom<Keyword>($from) `->`
      custom<Keyword>($to) `]` `:` custom<Full>(type($input)) `->` custom<Full>(type($result)) attr-dict }];
  let hasVerifier = 1;
}

def Chunk_IndexOp : Chunk_Op<"index", [Pure]> {
  let summary = "one entry of a small axis";
  let description = [{ `chunk.index %x [R = 1] : !chunk.tile<K:8, R:2> -> !chunk.tile<K:8>` }];
  let arguments = (ins Chunk_Tile:$input, StrAttr:$axis, I64Attr:$position);
  let results = (outs Chunk_Tile:$result);
  let assemblyFormat = [{ $input `[` custom<Keyword>($axis) `=` custom<Number>($position)
      `]` `:` custom<Full>(type($input)) `->` custom<Full>(type($result)) attr-dict }];
  let hasVerifier = 1;
}

def Chunk_PlaceOp : Chunk_Op<"place", [Pure]> {
  let summary = "zero but for one entry of a small axis";
  let description = [{ `chunk.place %x [R = 1] : !chunk.tile<K:8> -> !chunk.tile<K:8, R:2>` }];
  let arguments = (ins Chunk_Tile:$input, StrAttr:$axis, I64Attr:$position);
  let results = (outs Chunk_Tile:$result);
  let assemblyFormat = [{ $input `[` custom<Keyword>($axis) `=` custom<Number>($position)
      `]` `:` custom<Full>(type($input)) `->` custom<Full>(type($result)) attr-dict }];
  let hasVerifier = 1;
}

def Chunk_MaskOp : Chunk_Op<"mask", [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "zero beyond the valid length of a span";
  let description = [{
    `chunk.mask %x, %vs : !kv, V:16`: entries of the span's axis beyond its valid
    length become 0 (`minusInfinity`: -inf, for a max); others are unchanged.
  }];
  let arguments = (ins Chunk_Tile:$input, Chunk_Span:$span, UnitAttr:$minusInfinity);
  let results = (outs Chunk_Tile:$result);
  let assemblyFormat = [{ $input `,` $span (`minusInfinity` $minusInfinity^)? `:` custom<Full>(type($input)) `,`
      custom<SpanType>(type($span)) attr-dict }];
  let hasVerifier = 1;
}

def Chunk_FirstOp : Chunk_Op<"first", [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "zero unless the span is the first of its axis";
  let description = [{
    `chunk.first %x, %vs : !k, V:16`: x if the span's origin is 0, else 0. For a
    value that must count once in a sum over the iterations of %vs.
  }];
  let arguments = (ins Chunk_Tile:$input, Chunk_Span:$span);
  let results = (outs Chunk_Tile:$result);
  let assemblyFormat = [{ $input `,` $span `:` custom<Full>(type($input)) `,`
      custom<SpanType>(type($span)) attr-dict }];
  let hasVerifier = 1;
}

#endif
