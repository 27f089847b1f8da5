// What the verifiers of `rec` reject, one case each.
// RUN: recurra-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{axis 'K' occurs twice}}
func.func @twice(%x: !rec.val<K, K>)

// -----

func.func @summedAxisIsThere(%x: !rec.val<K>) {
  // expected-error @+1 {{axis 'V' is not an axis of '!rec.val<K>'}}
  %0 = rec.sum %x over [V] : !rec.val<K>
  return
}

// -----

func.func @summedOnce(%x: !rec.val<K>) {
  // expected-error @+1 {{axis 'K' is not an axis of}}
  %0 = rec.sum %x over [K, K] : !rec.val<K>
  return
}

// -----

func.func @broadcastAxisIsNew(%x: !rec.val<K>) {
  // expected-error @+1 {{axis 'K' is already an axis of}}
  %0 = rec.broadcast %x to [K] : !rec.val<K>
  return
}

// -----

func.func @renamedAxisIsNew(%x: !rec.val<D, E>) {
  // expected-error @+1 {{axis 'E' is already an axis of}}
  %0 = rec.rename %x [D -> E] : !rec.val<D, E>
  return
}

// -----

func.func @stateKeepsItsType(%S0: !rec.val<K>) {
  rec.scan forward carry(%S = %S0 : !rec.val<K>) {
    %y = rec.sum %S over [K] : !rec.val<K>
    // expected-error @+1 {{carries '!rec.val' for a state of type '!rec.val<K>'}}
    rec.yield carry(%y : !rec.val)
  }
  return
}

// -----

func.func @everyStateIsCarried(%S0: !rec.val<K>) {
  rec.scan forward carry(%S = %S0 : !rec.val<K>) {
    // expected-error @+1 {{carries 0 states, the scan has 1}}
    rec.yield
  }
  return
}

// -----

func.func @emitsAsDeclared(%x: !rec.seq<K>) {
  %0 = rec.scan forward over(%x_t = %x : !rec.val<K>) -> (!rec.val) {
    // expected-error @+1 {{emits '!rec.val<K>' for a result of type '!rec.seq'}}
    rec.yield emit(%x_t : !rec.val<K>)
  }
  return
}

// -----

func.func @invariantOfAState(%x: !rec.seq, %S0: !rec.val) {
  rec.scan forward over(%x_t = %x : !rec.val) carry(%S = %S0 : !rec.val) {
    // expected-error @+1 {{wants a state of the scan}}
    rec.invariant %x_t, %S : !rec.val, !rec.val
    rec.yield carry(%S : !rec.val)
  }
  return
}

// -----

// expected-error @+1 {{has an unknown attribute "rec.fact" = "nonPositve"}}
func.func @misspeltFact(%g: !rec.seq {rec.fact = "nonPositve"}) {
  return
}

// -----

// expected-error @+1 {{has an unknown attribute "rec.reduce" = "batch"}}
func.func @reduceIsOfResults(%g: !rec.seq {rec.reduce = "batch"}) {
  return
}

// -----

func.func @aNamePerState(%S0: !rec.val) {
  // expected-error @+1 {{rec.carries names each state of a scan}}
  rec.scan forward carry(%S = %S0 : !rec.val) attributes {rec.carries = ["A", "B"]} {
    rec.yield carry(%S : !rec.val)
  }
  return
}
