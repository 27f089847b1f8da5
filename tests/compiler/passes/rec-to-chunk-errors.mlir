// What cannot be lowered is said so.
// RUN: recurra-opt %s --split-input-file --verify-diagnostics --rec-to-chunk="spec='extent D 8;extent E 8' tile=4"

!d = !rec.val<D>
// expected-error @below {{axis 'D' is not free; leave it whole}}
func.func @not_free(%x: !rec.seq<D>) -> !d {
  %z = rec.const 0.0 : !d
  %r = rec.scan forward over(%x_t = %x : !d) carry(%S = %z : !d) {
    %n = rec.sum %S over [D] : !d
    %y = rec.mul %n, %x_t : !rec.val, !d
    rec.yield carry(%y : !d)
  }
  return %r : !d
}

// -----

!k = !rec.val<K>
// expected-error @below {{axis 'K' of state 'state0' has no size; give it one}}
func.func @no_size(%x: !rec.seq<K>) -> !k {
  %z = rec.const 0.0 : !k
  %r = rec.scan forward over(%x_t = %x : !k) carry(%S = %z : !k) {
    %y = rec.add %S, %x_t : !k, !k
    rec.yield carry(%y : !k)
  }
  return %r : !k
}

// -----

!d = !rec.val<D>
// expected-error @below {{the walk form takes one scan, or a forward one and a reverse one that reads it}}
func.func @two_forward(%x: !rec.seq<D>) -> !d {
  %z = rec.const 0.0 : !d
  %s, %r = rec.scan forward over(%x_t = %x : !d) carry(%S = %z : !d) -> (!d) {
    %y = rec.add %S, %x_t : !d, !d
    rec.yield carry(%y : !d) emit(%y : !d)
  }
  %q = rec.scan forward over(%x_t = %s : !d) carry(%S = %z : !d) {
    %y = rec.mul %S, %x_t : !d, !d
    rec.yield carry(%y : !d)
  }
  return %q : !d
}
