// RUN: recurra-opt %s --derive-backward -split-input-file -verify-diagnostics

// expected-error @+1 {{derive-backward wants one scan, this function has 2}}
func.func @twoScans(%x: !rec.seq {rec.gradient}) -> !rec.seq {
  %y = rec.scan forward over(%a = %x : !rec.val) -> (!rec.val) {
    rec.yield emit(%a : !rec.val)
  }
  %z = rec.scan reverse over(%a = %y : !rec.val) -> (!rec.val) {
    rec.yield emit(%a : !rec.val)
  }
  return %z : !rec.seq
}

// -----

func.func @readTwice(%x: !rec.seq {rec.gradient}) -> !rec.seq {
  // expected-error @+1 {{derive-backward wants each sequence read once; canonicalize first}}
  %y = rec.scan forward over(%a = %x : !rec.val, %b = %x : !rec.val) -> (!rec.val) {
    %0 = rec.mul %a, %b : !rec.val, !rec.val
    rec.yield emit(%0 : !rec.val)
  }
  return %y : !rec.seq
}
