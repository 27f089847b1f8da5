// The dialect `rec`: one token's step of one head, over the reals, on named
// axes. No sizes, no element types: they enter in rec-to-chunk.
// SPDX-License-Identifier: Apache-2.0
include "compiler/rec/RecInterfaces.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Rec_Dialect : Dialect {
  let name = "rec";
  let cppNamespace = "::recurra::rec";
  let summary = "recurrences, one token at a time";
  let description = [{
    A program is a `func.func` over `!rec.seq` (one value per token) and
    `!rec.val` (a parameter or a state at a sequence's end) around `rec.scan`s.
    Attributes of its arguments:
    - `rec.kind`: "input" (the default), "initialState", "outputCotangent",
      "finalStateCotangent"; of its results: "output", "finalState",
      "inputGradient", "initialStateGradient". `rec.name`: the user's name.
    - `rec.share`: "head" (the default), "group", "all": which heads own a copy.
    - `rec.fact`: "positive", "nonNegative", "nonPositive", "range(lo, hi)",
      "unit(K)", or an array of them.
    - `rec.layout`: the axes in memory order, where there are two or more.
    - `rec.dtype`: the element type of the tensor at the boundary, for states too;
      arithmetic has its own.
    - `rec.gradient`: a gradient of this argument is wanted.
    - `rec.reduce` (results): the instances over which rec-to-chunk adds: a
      "group" of heads, all "heads", the "batch", "batchGroup", or "all".
    A scan may name its states: `rec.carries = ["M", "J"]`.
  }];
  let useDefaultTypePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasCanonicalizer = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let hasOperationAttrVerify = 1;
}

// Types ---------------------------------------------------------------------

class Rec_Type<string cppName, string typeMnemonic, string text> : TypeDef<Rec_Dialect, cppName> {
  let mnemonic = typeMnemonic;
  let summary = text;
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$axes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let description = "Axes are a set: unique, kept and printed in sorted order.";
}
def Rec_Val : Rec_Type<"Val", "val", "a real array over a set of named axes">;
def Rec_Mask : Rec_Type<"Mask", "mask", "an array of truth values">;
def Rec_Seq : Rec_Type<"Seq", "seq", "one !rec.val per token">;

// Op classes ----------------------------------------------------------------

class Rec_Op<string mnemonic, list<Trait> traits = []> : Op<Rec_Dialect, mnemonic, traits>;

def Rec_Adjoint : DeclareOpInterfaceMethods<AdjointOpInterface>;
def Rec_Infer : DeclareOpInterfaceMethods<InferTypeOpInterface>;

// A pure op whose result type follows from operands and attributes.
class Rec_Pure<string mnemonic, list<Trait> traits = []>
    : Rec_Op<mnemonic, !listconcat([Pure, Rec_Infer], traits)>;

// Elementwise: the result has the union of the operands' axes.
class Rec_Elementwise<string mnemonic, list<Trait> traits = []>
    : Rec_Pure<mnemonic, traits> {
  code inferUnion = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *context, ::std::optional<::mlir::Location>,
        ::mlir::ValueRange operands, ::mlir::DictionaryAttr,
        ::mlir::OpaqueProperties, ::mlir::RegionRange,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      types.push_back(ValType::get(context, axesOfAll(operands)));
      return ::mlir::success();
    }
  }];
  let extraClassDefinition = inferUnion;
}
class Rec_Unary<string mnemonic, string text, list<Trait> traits = [Rec_Adjoint]>
    : Rec_Elementwise<mnemonic, traits> {
  let summary = text;
  let arguments = (ins Rec_Val:$operand);
  let results = (outs Rec_Val:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand)";
  let hasFolder = 1;
}
class Rec_Binary<string mnemonic, string text, list<Trait> traits = []>
    : Rec_Elementwise<mnemonic, !listconcat([Rec_Adjoint], traits)> {
  let summary = text;
  let arguments = (ins Rec_Val:$lhs, Rec_Val:$rhs);
  let results = (outs Rec_Val:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs)";
  let hasFolder = 1;
}

// Elementwise ops -----------------------------------------------------------

def Rec_AddOp : Rec_Binary<"add", "lhs + rhs", [Commutative]>;
def Rec_SubOp : Rec_Binary<"sub", "lhs - rhs">;
def Rec_MulOp : Rec_Binary<"mul", "lhs * rhs", [Commutative]>;
def Rec_DivOp : Rec_Binary<"div", "lhs / rhs">;
def Rec_MaxOp : Rec_Binary<"max", "the larger; on a tie the gradient is lhs's">;

def Rec_NegOp : Rec_Unary<"neg", "-x">;
def Rec_AbsOp : Rec_Unary<"abs", "|x|; at 0 the gradient is that of x">;
def Rec_ExpOp : Rec_Unary<"exp", "e^x">;
def Rec_LogOp : Rec_Unary<"log", "natural logarithm">;
def Rec_Expm1Op : Rec_Unary<"expm1", "e^x - 1">;
def Rec_Log1pOp : Rec_Unary<"log1p", "log(1 + x)">;
def Rec_SqrtOp : Rec_Unary<"sqrt", "square root">;
def Rec_RsqrtOp : Rec_Unary<"rsqrt", "1 / sqrt(x)">;
def Rec_TanhOp : Rec_Unary<"tanh", "hyperbolic tangent">;
def Rec_SigmoidOp : Rec_Unary<"sigmoid", "1 / (1 + e^-x)">;
def Rec_SoftplusOp : Rec_Unary<"softplus", "log(1 + e^x)">;
def Rec_DetachOp : Rec_Unary<"detach", "x, with a cotangent of zero", []>;

def Rec_ConstOp : Rec_Op<"const", [Pure, ConstantLike]> {
  let summary = "a number, the same along every axis of its type";
  let arguments = (ins F64Attr:$value);
  let results = (outs Rec_Val:$result);
  let assemblyFormat = "custom<Number>($value) attr-dict `:` type($result)";
  let hasFolder = 1;
}

def Rec_Predicate : I32EnumAttr<"Predicate", "an ordered comparison", [
    I32EnumAttrCase<"Less", 0, "lt">, I32EnumAttrCase<"LessEqual", 1, "le">,
    I32EnumAttrCase<"Greater", 2, "gt">, I32EnumAttrCase<"GreaterEqual", 3, "ge">,
    I32EnumAttrCase<"Equal", 4, "eq">, I32EnumAttrCase<"NotEqual", 5, "ne">]> {
  let cppNamespace = "::recurra::rec";
}

def Rec_CmpOp : Rec_Pure<"cmp"> {
  let summary = "lhs < rhs, and so on; false on NaN, except ne";
  let arguments = (ins Rec_Predicate:$predicate, Rec_Val:$lhs, Rec_Val:$rhs);
  let results = (outs Rec_Mask:$result);
  let assemblyFormat = "$predicate $lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs)";
}
def Rec_SelectOp : Rec_Elementwise<"select", [Rec_Adjoint]> {
  let summary = "one of two values per entry";
  let arguments = (ins Rec_Mask:$condition, Rec_Val:$lhs, Rec_Val:$rhs);
  let results = (outs Rec_Val:$result);
  let assemblyFormat = [{
    $condition `,` $lhs `,` $rhs attr-dict `:` type($condition) `,` type($lhs) `,` type($rhs)
  }];
  let hasFolder = 1;
}

// Ops on axes ---------------------------------------------------------------

class Rec_Reduction<string mnemonic, string text> : Rec_Pure<mnemonic, [Rec_Adjoint]> {
  let summary = text;
  let arguments = (ins Rec_Val:$operand, StrArrayAttr:$axes);
  let results = (outs Rec_Val:$result);
  let assemblyFormat = "$operand `over` custom<Axes>($axes) attr-dict `:` type($operand)";
  let hasFolder = 1;
}
def Rec_SumOp : Rec_Reduction<"sum", "the sum over some axes">;
def Rec_AmaxOp : Rec_Reduction<"amax", "the largest over some axes; ties share the gradient">;

def Rec_BroadcastOp : Rec_Pure<"broadcast", [Rec_Adjoint]> {
  let summary = "the same value along new axes";
  let arguments = (ins Rec_Val:$operand, StrArrayAttr:$axes);
  let results = (outs Rec_Val:$result);
  let assemblyFormat = "$operand `to` custom<Axes>($axes) attr-dict `:` type($operand)";
  let hasFolder = 1;
}
def Rec_RenameOp : Rec_Pure<"rename", [Rec_Adjoint]> {
  let summary = "the same value with axis `from` called `to`";
  let description = "Both axes have the same size.";
  let arguments = (ins Rec_Val:$operand, StrAttr:$from, StrAttr:$to);
  let results = (outs Rec_Val:$result);
  let assemblyFormat = "$operand custom<Renaming>($from, $to) attr-dict `:` type($operand)";
  let hasFolder = 1;
}
def Rec_IndexOp : Rec_Pure<"index", [Rec_Adjoint]> {
  let summary = "one entry of a small axis";
  let arguments = (ins Rec_Val:$operand, StrAttr:$axis, I64Attr:$position);
  let results = (outs Rec_Val:$result);
  let assemblyFormat = "$operand custom<Entry>($axis, $position) attr-dict `:` type($operand)";
  let hasFolder = 1;
}
def Rec_PlaceOp : Rec_Pure<"place", [Rec_Adjoint]> {
  let summary = "the operand at one entry of a new axis, 0 at the others";
  let arguments = (ins Rec_Val:$operand, StrAttr:$axis, I64Attr:$position);
  let results = (outs Rec_Val:$result);
  let assemblyFormat = "$operand custom<Entry>($axis, $position) attr-dict `:` type($operand)";
}
def Rec_ExtentOp : Rec_Pure<"extent"> {
  let summary = "the size of an axis, as a number";
  let arguments = (ins StrAttr:$axis);
  let results = (outs Rec_Val:$result);
  let assemblyFormat = "custom<Axis>($axis) attr-dict";
}

// Structure -----------------------------------------------------------------

def Rec_ScanOp : Rec_Op<"scan", [Pure, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>,
    SingleBlockImplicitTerminator<"::recurra::rec::YieldOp">]> {
  let summary = "runs its body once per token, forward or reverse";
  let description = [{
    `over` reads one value of each sequence per token, `carry` holds states.
    Results: the emitted sequences, then the states behind the last token
    visited. Values from outside may be used inside.
    ```mlir
    %o, %ST = rec.scan forward over(%k_t = %k : !rec.val<K>)
        carry(%S = %S0 : !rec.val<K>) -> (!rec.val<K>) {
      %S1 = rec.add %S, %k_t : !rec.val<K>, !rec.val<K>
      rec.yield carry(%S1 : !rec.val<K>) emit(%S1 : !rec.val<K>)
    }
    ```
  }];
  let arguments = (ins Variadic<Rec_Seq>:$sequences, Variadic<Rec_Val>:$inits,
                       UnitAttr:$reverse);
  let results = (outs Variadic<AnyTypeOf<[Rec_Seq, Rec_Val]>>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "bool":$reverse, "::mlir::ValueRange":$sequences,
      "::mlir::ValueRange":$inits, "::mlir::TypeRange":$emitted)>];
  let extraClassDeclaration = [{
    ::mlir::Block *getStep() { return &getBody().front(); }
    /// The body's arguments: this token's entries, then the states before it.
    ::mlir::MutableArrayRef<::mlir::BlockArgument> getTokens();
    ::mlir::MutableArrayRef<::mlir::BlockArgument> getStates();
    /// The results: emitted sequences, then last states.
    ::mlir::ResultRange getEmitted();
    ::mlir::ResultRange getLast();
    YieldOp getYield();
    /// `rec.carries`, or "state<i>".
    ::std::string getStateName(unsigned index);
  }];
}
def Rec_YieldOp : Rec_Op<"yield", [Pure, Terminator, AttrSizedOperandSegments,
    HasParent<"::recurra::rec::ScanOp">]> {
  let summary = "the states behind this token, and what it emits";
  let arguments = (ins Variadic<Rec_Val>:$carried, Variadic<Rec_Val>:$emitted);
  let builders = [OpBuilder<(ins), [{ (void)$_state; }]>];
  let assemblyFormat = [{
    (`carry` `(` $carried^ `:` type($carried) `)`)?
    (`emit` `(` $emitted^ `:` type($emitted) `)`)? attr-dict
  }];
}
def Rec_InvariantOp : Rec_Op<"invariant", [HasParent<"::recurra::rec::ScanOp">]> {
  let summary = "a state equals an expression at the start of the step";
  let description = "No effect: a licence to restart the state from the expression.";
  let arguments = (ins Rec_Val:$state, Rec_Val:$value);
  let assemblyFormat = "$state `,` $value attr-dict `:` type($state) `,` type($value)";
  let hasVerifier = 1;
}
