// What the verifiers reject, one program each.
// RUN: recurra-opt %s --split-input-file --verify-diagnostics

func.func @race(%o: !chunk.buf<N, f32>) {
  chunk.forall %n in N by 1, %h in H by 1 {
    %z = chunk.fill 0.0 : !chunk.tile<>
    // expected-error @below {{does not name the parallel span of "H" around it; iterations would store to the same place}}
    chunk.store %z, %o[N = %n] : !chunk.tile<>, !chunk.buf<N, f32>
  }
  return
}

// -----

func.func @part_of_a_slot(%o: !chunk.buf<H per 4, f32>) {
  chunk.forall %h in H by 1 {
    %z = chunk.fill 0.0 : !chunk.tile<>
    // expected-error @below {{index "H" covers only a part of a slot per 4}}
    chunk.store %z, %o[H = %h] : !chunk.tile<>, !chunk.buf<H per 4, f32>
  }
  return
}

// -----

func.func @missing_axis(%x: !chunk.buf<H, f32>) {
  chunk.forall %n in N by 1 {
    // expected-error @below {{names axis N, which '!chunk.buf<H, f32>' lacks}}
    %a = chunk.load %x[N = %n] : !chunk.buf<H, f32> -> !chunk.tile<>
  }
  return
}

// -----

func.func @unknown_size(%x: !chunk.buf<H, f32>) {
  chunk.forall %n in N by 1 {
    // expected-error @below {{takes axis H whole, whose size is not known here; name it as an index}}
    %a = chunk.load %x[] : !chunk.buf<H, f32> -> !chunk.tile<H:2>
  }
  return
}

// -----

func.func @wrong_tile(%x: !chunk.buf<N, K, f32>) attributes {chunk.extents = {K = 3}} {
  chunk.forall %n in N by 1 {
    // expected-error @below {{accesses '!chunk.tile<K:3>', not '!chunk.tile<K:4>'}}
    %a = chunk.load %x[N = %n] : !chunk.buf<N, K, f32> -> !chunk.tile<K:4>
  }
  return
}

// -----

func.func @no_window() {
  chunk.forall %n in N by 1 {
    %s = chunk.alloc scratch : !chunk.buf<T:8, f32>
    %z = chunk.fill 0.0 : !chunk.tile<>
    chunk.for %t in T of %n by 1 {
      // expected-error @below {{index T lies in no span of capacity 8}}
      chunk.store %z, %s[T = %t] : !chunk.tile<>, !chunk.buf<T:8, f32>
    }
  }
  return
}

// -----

func.func @tokens_of_nobody() {
  // expected-error @below {{tokens belong to a sequence; write T of a point of N}}
  chunk.forall %t in T by 1 {
  }
  return
}

// -----

func.func @nested_at_top(%x: !chunk.buf<T, f32>) {
  chunk.forall %n in N by 1 {
    // expected-error @below {{cannot iterate over K within '!chunk.span<N:1>'}}
    %r = "chunk.for"(%n) <{axis = "K", step = 1 : i64, operandSegmentSizes = array<i32: 1, 0>}> ({
    ^bb0(%k: !chunk.span<K:1>):
      chunk.yield
    }) : (!chunk.span<N:1>) -> !chunk.tile<>
  }
  return
}

// -----

func.func @carries() {
  chunk.forall %n in N by 1 {
    %z = chunk.fill 0.0 : !chunk.tile<K:3>
    %y = chunk.fill 0.0 : !chunk.tile<>
    // expected-error @below {{must yield its carries with their types}}
    %r = chunk.for %t in T of %n by 1 carry(%c = %z : !chunk.tile<K:3>) {
      chunk.yield %y : !chunk.tile<>
    }
  }
  return
}

// -----

func.func @workspace_inside() {
  chunk.forall %n in N by 1 {
    // expected-error @below {{workspace stands at the top level}}
    %w = chunk.alloc workspace : !chunk.buf<N, f32>
  }
  return
}

// -----

func.func @scratch_of_tokens() {
  chunk.forall %n in N by 1 {
    // expected-error @below {{scratch needs a window of T}}
    %w = chunk.alloc scratch : !chunk.buf<T, f32>
  }
  return
}

// -----

func.func @sizes_differ(%n: index) {
  chunk.forall %m in N by 1 {
    %a = chunk.fill 0.0 : !chunk.tile<K:3>
    %b = chunk.fill 0.0 : !chunk.tile<K:4>
    // expected-error @below {{has axis "K" of size 4 in '!chunk.tile<K:4>' but not in '!chunk.tile<K:3>'}}
    %c = chunk.dot %a, %b over [K] : !chunk.tile<K:3>, !chunk.tile<K:4> -> !chunk.tile<>
  }
  return
}

// -----

func.func @foreign_op_in_map() {
  chunk.forall %n in N by 1 {
    %a = chunk.fill 0.0 : !chunk.tile<>
    // expected-error @below {{holds builtin.unrealized_conversion_cast; only arith and math ops may stand in a map}}
    %b = chunk.map (%x = %a : !chunk.tile<>) -> !chunk.tile<> {
      %y = builtin.unrealized_conversion_cast %x : f32 to f32
      chunk.yield %y : f32
    }
  }
  return
}

// -----

func.func @reduce_kind() {
  chunk.forall %n in N by 1 {
    %a = chunk.fill 0.0 : !chunk.tile<K:3>
    // expected-error @below {{has kind mul; it is add or max}}
    %b = chunk.reduce mul %a over [K] : !chunk.tile<K:3> -> !chunk.tile<>
  }
  return
}

// -----

func.func @reduce_axis() {
  chunk.forall %n in N by 1 {
    %a = chunk.fill 0.0 : !chunk.tile<K:3>
    // expected-error @below {{reduces over axis "V", which its operand lacks}}
    %b = chunk.reduce add %a over [V] : !chunk.tile<K:3> -> !chunk.tile<>
  }
  return
}

// -----

func.func @entry() {
  chunk.forall %n in N by 1 {
    %a = chunk.fill 0.0 : !chunk.tile<R:2>
    // expected-error @below {{names entry 2 of axis R in '!chunk.tile<R:2>'}}
    %b = chunk.index %a[R = 2] : !chunk.tile<R:2> -> !chunk.tile<>
  }
  return
}

// -----

// expected-error @below {{axis "K" stands twice in a tile}}
func.func private @twice(!chunk.tile<K:3, K:4>)

// -----

// expected-error @below {{a buffer's element type is f32, f64, f16 or bf16, not 'f8E4M3FN'}}
func.func private @element(!chunk.buf<K, f8E4M3FN>)
