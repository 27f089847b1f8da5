// simple_gla needs its state before the token (for dg), linear attention the one
// behind it; palimpsa as in the proposal, with the plain adjoint of the gate.
// RUN: recurra-opt %s --canonicalize --derive-backward --canonicalize --cse --canonicalize | FileCheck %s

!s = !rec.val
!k = !rec.val<K>
!v = !rec.val<V>
!kv = !rec.val<K, V>
func.func @simple_gla(%q: !rec.seq<K> {rec.gradient, rec.share = "group"}, %k: !rec.seq<K> {rec.gradient, rec.share = "group"}, %v: !rec.seq<V> {rec.gradient}, %g: !rec.seq {rec.gradient},
    %scale: !s {rec.share = "all"}, %S0: !kv {rec.gradient, rec.kind = "initialState"}) -> (!rec.seq<V>, !kv) {
  %o, %ST = rec.scan forward over(%q_t = %q : !k, %k_t = %k : !k, %v_t = %v : !v, %g_t = %g : !s)
      carry(%S = %S0 : !kv) -> (!v) {
    %a = rec.exp %g_t : !s
    %aS = rec.mul %a, %S : !s, !kv
    %kv = rec.mul %k_t, %v_t : !k, !v
    %S1 = rec.add %aS, %kv : !kv, !kv
    %x = rec.mul %S1, %q_t : !kv, !k
    %y = rec.sum %x over [K] : !kv
    %o_t = rec.mul %scale, %y : !s, !v
    rec.yield carry(%S1 : !kv) emit(%o_t : !v)
  }
  return %o, %ST : !rec.seq<V>, !kv
}
func.func @linear_attention(%q: !rec.seq<K> {rec.gradient}, %k: !rec.seq<K> {rec.gradient}, %v: !rec.seq<V> {rec.gradient}, %S0: !kv) -> !rec.seq<V> {
  %o, %ST = rec.scan forward over(%q_t = %q : !k, %k_t = %k : !k, %v_t = %v : !v) carry(%S = %S0 : !kv) -> (!v) {
    %kv = rec.mul %k_t, %v_t : !k, !v
    %S1 = rec.add %S, %kv : !kv, !kv
    %x = rec.mul %S1, %q_t : !kv, !k
    %y = rec.sum %x over [K] : !kv
    rec.yield carry(%S1 : !kv) emit(%y : !v)
  }
  return %o : !rec.seq<V>
}
func.func @palimpsa(%q: !rec.seq<K> {rec.gradient}, %k: !rec.seq<K> {rec.gradient}, %v: !rec.seq<V> {rec.gradient}, %beta: !rec.seq<V> {rec.gradient, rec.fact = "nonNegative"},
    %g: !rec.seq {rec.gradient, rec.fact = "nonPositive"}, %prior: !s {rec.gradient, rec.fact = "positive"}, %scale: !s {rec.share = "all"}, %M0: !kv {rec.gradient}, %J0: !kv {rec.gradient})
    -> (!rec.seq<V>, !kv, !kv) {
  %o, %MT, %JT = rec.scan forward over(%q_t = %q : !k, %k_t = %k : !k, %v_t = %v : !v, %b_t = %beta : !v, %g_t = %g : !s)
      carry(%M = %M0 : !kv, %J = %J0 : !kv) -> (!v) {
    %a = rec.exp %g_t : !s
    %aM = rec.mul %a, %M : !s, !kv
    %vk = rec.mul %k_t, %v_t : !k, !v
    %M1 = rec.add %aM, %vk : !kv, !kv
    %k2 = rec.mul %k_t, %k_t : !k, !k
    %bk2 = rec.mul %k2, %b_t : !k, !v
    %aJ = rec.mul %a, %J : !s, !kv
    %J1 = rec.add %aJ, %bk2 : !kv, !kv
    %I = rec.add %J1, %prior : !kv, !s
    %mu = rec.div %M1, %I : !kv, !kv
    %x = rec.mul %mu, %q_t : !kv, !k
    %y = rec.sum %x over [K] : !kv
    %o_t = rec.mul %scale, %y : !s, !v
    rec.yield carry(%M1, %J1 : !kv, !kv) emit(%o_t : !v)
  }
  return %o, %MT, %JT : !rec.seq<V>, !kv, !kv
}

// CHECK-LABEL: func.func @simple_gla_backward
// CHECK-SAME: ([[F1_ARG0:%[a-z0-9_]+]]: !rec.seq<K> {rec.share = "group"}, [[F1_ARG1:%[a-z0-9_]+]]: !rec.seq<K> {rec.share = "group"}, [[F1_ARG2:%[a-z0-9_]+]]: !rec.seq<V>, [[F1_ARG3:%[a-z0-9_]+]]: !rec.seq, [[F1_ARG4:%[a-z0-9_]+]]: !s {rec.share = "all"}, [[F1_ARG5:%[a-z0-9_]+]]: !kv {rec.kind = "initialState"}, [[F1_ARG6:%[a-z0-9_]+]]: !rec.seq<V> {rec.kind = "outputCotangent"}, [[F1_ARG7:%[a-z0-9_]+]]: !kv {rec.kind = "finalStateCotangent"})
// CHECK-SAME: -> (!rec.seq<K> {rec.kind = "inputGradient", rec.reduce = "group", rec.share = "group"}, !rec.seq<K> {rec.kind = "inputGradient", rec.reduce = "group", rec.share = "group"}, !rec.seq<V> {rec.kind = "inputGradient"}, !rec.seq {rec.kind = "inputGradient"}, !kv {rec.kind = "initialStateGradient"}) {
// CHECK-NEXT: [[F1_0:%[a-z0-9_]+]]:2 = rec.scan forward over([[F1_ARG8:%[a-z0-9_]+]] = [[F1_ARG1]] : !k, [[F1_ARG9:%[a-z0-9_]+]] = [[F1_ARG2]] : !v, [[F1_ARG10:%[a-z0-9_]+]] = [[F1_ARG3]] : !s) carry([[F1_ARG11:%[a-z0-9_]+]] = [[F1_ARG5]] : !kv) -> (!kv) {
// CHECK-NEXT: [[F1_2:%[a-z0-9_]+]] = rec.exp [[F1_ARG10]] : !s
// CHECK-NEXT: [[F1_3:%[a-z0-9_]+]] = rec.mul [[F1_2]], [[F1_ARG11]] : !s, !kv
// CHECK-NEXT: [[F1_4:%[a-z0-9_]+]] = rec.mul [[F1_ARG8]], [[F1_ARG9]] : !k, !v
// CHECK-NEXT: [[F1_5:%[a-z0-9_]+]] = rec.add [[F1_3]], [[F1_4]] : !kv, !kv
// CHECK-NEXT: rec.yield carry([[F1_5]] : !kv) emit([[F1_ARG11]] : !kv)
// CHECK: [[F1_1:%[a-z0-9_]+]]:4, [[F1_DSTATE00:%[a-z0-9_]+]] = rec.scan reverse over([[F1_ARG8]] = [[F1_ARG0]] : !k, [[F1_ARG9]] = [[F1_ARG1]] : !k, [[F1_ARG10]] = [[F1_ARG2]] : !v, [[F1_ARG11]] = [[F1_ARG3]] : !s, [[F1_ARG12:%[a-z0-9_]+]] = [[F1_0]]#0 : !kv, [[F1_ARG13:%[a-z0-9_]+]] = [[F1_ARG6]] : !v) carry([[F1_ARG14:%[a-z0-9_]+]] = [[F1_ARG7]] : !kv) -> (!k, !k, !v, !s) {
// CHECK-NEXT: [[F1_2]] = rec.exp [[F1_ARG11]] : !s
// CHECK-NEXT: [[F1_3]] = rec.mul [[F1_2]], [[F1_ARG12]] : !s, !kv
// CHECK-NEXT: [[F1_4]] = rec.mul [[F1_ARG9]], [[F1_ARG10]] : !k, !v
// CHECK-NEXT: [[F1_5]] = rec.add [[F1_3]], [[F1_4]] : !kv, !kv
// CHECK-NEXT: [[F1_6:%[a-z0-9_]+]] = rec.mul [[F1_ARG13]], [[F1_ARG4]] : !v, !s
// CHECK-NEXT: [[F1_7:%[a-z0-9_]+]] = rec.mul [[F1_6]], [[F1_ARG8]] : !v, !k
// CHECK-NEXT: [[F1_8:%[a-z0-9_]+]] = rec.add [[F1_ARG14]], [[F1_7]] : !kv, !kv
// CHECK-NEXT: [[F1_9:%[a-z0-9_]+]] = rec.mul [[F1_6]], [[F1_5]] : !v, !kv
// CHECK-NEXT: [[F1_10:%[a-z0-9_]+]] = rec.sum [[F1_9]] over [V] : !kv
// CHECK-NEXT: [[F1_11:%[a-z0-9_]+]] = rec.mul [[F1_8]], [[F1_ARG10]] : !kv, !v
// CHECK-NEXT: [[F1_12:%[a-z0-9_]+]] = rec.sum [[F1_11]] over [V] : !kv
// CHECK-NEXT: [[F1_13:%[a-z0-9_]+]] = rec.mul [[F1_8]], [[F1_ARG9]] : !kv, !k
// CHECK-NEXT: [[F1_14:%[a-z0-9_]+]] = rec.sum [[F1_13]] over [K] : !kv
// CHECK-NEXT: [[F1_15:%[a-z0-9_]+]] = rec.mul [[F1_8]], [[F1_ARG12]] : !kv, !kv
// CHECK-NEXT: [[F1_16:%[a-z0-9_]+]] = rec.sum [[F1_15]] over [K, V] : !kv
// CHECK-NEXT: [[F1_17:%[a-z0-9_]+]] = rec.mul [[F1_8]], [[F1_2]] : !kv, !s
// CHECK-NEXT: [[F1_18:%[a-z0-9_]+]] = rec.mul [[F1_16]], [[F1_2]] : !s, !s
// CHECK-NEXT: rec.yield carry([[F1_17]] : !kv) emit([[F1_10]], [[F1_12]], [[F1_14]], [[F1_18]] : !k, !k, !v, !s)
// CHECK: return [[F1_1]]#0, [[F1_1]]#1, [[F1_1]]#2, [[F1_1]]#3, [[F1_DSTATE00]] : !rec.seq<K>, !rec.seq<K>, !rec.seq<V>, !rec.seq, !kv
// CHECK-LABEL: func.func @linear_attention_backward
// CHECK-SAME: ([[F2_ARG0:%[a-z0-9_]+]]: !rec.seq<K>, [[F2_ARG1:%[a-z0-9_]+]]: !rec.seq<K>, [[F2_ARG2:%[a-z0-9_]+]]: !rec.seq<V>, [[F2_ARG3:%[a-z0-9_]+]]: !kv, [[F2_ARG4:%[a-z0-9_]+]]: !rec.seq<V> {rec.kind = "outputCotangent"})
// CHECK-SAME: -> (!rec.seq<K> {rec.kind = "inputGradient"}, !rec.seq<K> {rec.kind = "inputGradient"}, !rec.seq<V> {rec.kind = "inputGradient"}) {
// CHECK-NEXT: [[F2_0:%[a-z0-9_]+]] = rec.const 0.000000e+00 : !kv
// CHECK-NEXT: [[F2_1:%[a-z0-9_]+]]:2 = rec.scan forward over([[F2_ARG5:%[a-z0-9_]+]] = [[F2_ARG1]] : !k, [[F2_ARG6:%[a-z0-9_]+]] = [[F2_ARG2]] : !v) carry([[F2_ARG7:%[a-z0-9_]+]] = [[F2_ARG3]] : !kv) -> (!kv) {
// CHECK-NEXT: [[F2_3:%[a-z0-9_]+]] = rec.mul [[F2_ARG5]], [[F2_ARG6]] : !k, !v
// CHECK-NEXT: [[F2_4:%[a-z0-9_]+]] = rec.add [[F2_ARG7]], [[F2_3]] : !kv, !kv
// CHECK-NEXT: rec.yield carry([[F2_4]] : !kv) emit([[F2_4]] : !kv)
// CHECK: [[F2_2:%[a-z0-9_]+]]:3, [[F2_DSTATE00:%[a-z0-9_]+]] = rec.scan reverse over([[F2_ARG5]] = [[F2_ARG0]] : !k, [[F2_ARG6]] = [[F2_ARG1]] : !k, [[F2_ARG7]] = [[F2_ARG2]] : !v, [[F2_ARG8:%[a-z0-9_]+]] = [[F2_1]]#0 : !kv, [[F2_ARG9:%[a-z0-9_]+]] = [[F2_ARG4]] : !v) carry([[F2_ARG10:%[a-z0-9_]+]] = [[F2_0]] : !kv) -> (!k, !k, !v) {
// CHECK-NEXT: [[F2_3]] = rec.mul [[F2_ARG9]], [[F2_ARG5]] : !v, !k
// CHECK-NEXT: [[F2_4]] = rec.add [[F2_ARG10]], [[F2_3]] : !kv, !kv
// CHECK-NEXT: [[F2_5:%[a-z0-9_]+]] = rec.mul [[F2_ARG9]], [[F2_ARG8]] : !v, !kv
// CHECK-NEXT: [[F2_6:%[a-z0-9_]+]] = rec.sum [[F2_5]] over [V] : !kv
// CHECK-NEXT: [[F2_7:%[a-z0-9_]+]] = rec.mul [[F2_4]], [[F2_ARG7]] : !kv, !v
// CHECK-NEXT: [[F2_8:%[a-z0-9_]+]] = rec.sum [[F2_7]] over [V] : !kv
// CHECK-NEXT: [[F2_9:%[a-z0-9_]+]] = rec.mul [[F2_4]], [[F2_ARG6]] : !kv, !k
// CHECK-NEXT: [[F2_10:%[a-z0-9_]+]] = rec.sum [[F2_9]] over [K] : !kv
// CHECK-NEXT: rec.yield carry([[F2_4]] : !kv) emit([[F2_6]], [[F2_8]], [[F2_10]] : !k, !k, !v)
// CHECK: return [[F2_2]]#0, [[F2_2]]#1, [[F2_2]]#2 : !rec.seq<K>, !rec.seq<K>, !rec.seq<V>
// CHECK-LABEL: func.func @palimpsa_backward
// CHECK-SAME: ([[F3_ARG0:%[a-z0-9_]+]]: !rec.seq<K>, [[F3_ARG1:%[a-z0-9_]+]]: !rec.seq<K>, [[F3_ARG2:%[a-z0-9_]+]]: !rec.seq<V>, [[F3_ARG3:%[a-z0-9_]+]]: !rec.seq<V> {rec.fact = "nonNegative"}, [[F3_ARG4:%[a-z0-9_]+]]: !rec.seq {rec.fact = "nonPositive"}, [[F3_ARG5:%[a-z0-9_]+]]: !s {rec.fact = "positive"}, [[F3_ARG6:%[a-z0-9_]+]]: !s {rec.share = "all"}, [[F3_ARG7:%[a-z0-9_]+]]: !kv, [[F3_ARG8:%[a-z0-9_]+]]: !kv, [[F3_ARG9:%[a-z0-9_]+]]: !rec.seq<V> {rec.kind = "outputCotangent"}, [[F3_ARG10:%[a-z0-9_]+]]: !kv {rec.kind = "finalStateCotangent"}, [[F3_ARG11:%[a-z0-9_]+]]: !kv {rec.kind = "finalStateCotangent"})
// CHECK-SAME: -> (!rec.seq<K> {rec.kind = "inputGradient"}, !rec.seq<K> {rec.kind = "inputGradient"}, !rec.seq<V> {rec.kind = "inputGradient"}, !rec.seq<V> {rec.kind = "inputGradient"}, !rec.seq {rec.kind = "inputGradient"}, !s {rec.kind = "inputGradient", rec.reduce = "batch"}, !kv {rec.kind = "inputGradient", rec.reduce = "batch"}, !kv {rec.kind = "inputGradient", rec.reduce = "batch"}) {
// CHECK-NEXT: [[F3_0:%[a-z0-9_]+]] = rec.const 0.000000e+00 : !s
// CHECK-NEXT: [[F3_1:%[a-z0-9_]+]]:4 = rec.scan forward over([[F3_ARG12:%[a-z0-9_]+]] = [[F3_ARG1]] : !k, [[F3_ARG13:%[a-z0-9_]+]] = [[F3_ARG2]] : !v, [[F3_ARG14:%[a-z0-9_]+]] = [[F3_ARG3]] : !v, [[F3_ARG15:%[a-z0-9_]+]] = [[F3_ARG4]] : !s) carry([[F3_ARG16:%[a-z0-9_]+]] = [[F3_ARG7]] : !kv, [[F3_ARG17:%[a-z0-9_]+]] = [[F3_ARG8]] : !kv) -> (!kv, !kv) {
// CHECK-NEXT: [[F3_3:%[a-z0-9_]+]] = rec.exp [[F3_ARG15]] : !s
// CHECK-NEXT: [[F3_4:%[a-z0-9_]+]] = rec.mul [[F3_3]], [[F3_ARG16]] : !s, !kv
// CHECK-NEXT: [[F3_5:%[a-z0-9_]+]] = rec.mul [[F3_ARG12]], [[F3_ARG13]] : !k, !v
// CHECK-NEXT: [[F3_6:%[a-z0-9_]+]] = rec.add [[F3_4]], [[F3_5]] : !kv, !kv
// CHECK-NEXT: [[F3_7:%[a-z0-9_]+]] = rec.mul [[F3_ARG12]], [[F3_ARG12]] : !k, !k
// CHECK-NEXT: [[F3_8:%[a-z0-9_]+]] = rec.mul [[F3_7]], [[F3_ARG14]] : !k, !v
// CHECK-NEXT: [[F3_9:%[a-z0-9_]+]] = rec.mul [[F3_3]], [[F3_ARG17]] : !s, !kv
// CHECK-NEXT: [[F3_10:%[a-z0-9_]+]] = rec.add [[F3_9]], [[F3_8]] : !kv, !kv
// CHECK-NEXT: rec.yield carry([[F3_6]], [[F3_10]] : !kv, !kv) emit([[F3_ARG16]], [[F3_ARG17]] : !kv, !kv)
// CHECK: [[F3_2:%[a-z0-9_]+]]:5, [[F3_DSTATE00:%[a-z0-9_]+]], [[F3_DSTATE10:%[a-z0-9_]+]]:2 = rec.scan reverse over([[F3_ARG12]] = [[F3_ARG0]] : !k, [[F3_ARG13]] = [[F3_ARG1]] : !k, [[F3_ARG14]] = [[F3_ARG2]] : !v, [[F3_ARG15]] = [[F3_ARG3]] : !v, [[F3_ARG16]] = [[F3_ARG4]] : !s, [[F3_ARG17]] = [[F3_1]]#0 : !kv, [[F3_ARG18:%[a-z0-9_]+]] = [[F3_1]]#1 : !kv, [[F3_ARG19:%[a-z0-9_]+]] = [[F3_ARG9]] : !v) carry([[F3_ARG20:%[a-z0-9_]+]] = [[F3_ARG10]] : !kv, [[F3_ARG21:%[a-z0-9_]+]] = [[F3_ARG11]] : !kv, [[F3_ARG22:%[a-z0-9_]+]] = [[F3_0]] : !s) -> (!k, !k, !v, !v, !s) {
// CHECK-NEXT: [[F3_3]] = rec.exp [[F3_ARG16]] : !s
// CHECK-NEXT: [[F3_4]] = rec.mul [[F3_3]], [[F3_ARG17]] : !s, !kv
// CHECK-NEXT: [[F3_5]] = rec.mul [[F3_ARG13]], [[F3_ARG14]] : !k, !v
// CHECK-NEXT: [[F3_6]] = rec.add [[F3_4]], [[F3_5]] : !kv, !kv
// CHECK-NEXT: [[F3_7]] = rec.mul [[F3_ARG13]], [[F3_ARG13]] : !k, !k
// CHECK-NEXT: [[F3_8]] = rec.mul [[F3_7]], [[F3_ARG15]] : !k, !v
// CHECK-NEXT: [[F3_9]] = rec.mul [[F3_3]], [[F3_ARG18]] : !s, !kv
// CHECK-NEXT: [[F3_10]] = rec.add [[F3_9]], [[F3_8]] : !kv, !kv
// CHECK-NEXT: [[F3_11:%[a-z0-9_]+]] = rec.add [[F3_10]], [[F3_ARG5]] : !kv, !s
// CHECK-NEXT: [[F3_12:%[a-z0-9_]+]] = rec.div [[F3_6]], [[F3_11]] : !kv, !kv
// CHECK-NEXT: [[F3_13:%[a-z0-9_]+]] = rec.mul [[F3_ARG19]], [[F3_ARG6]] : !v, !s
// CHECK-NEXT: [[F3_14:%[a-z0-9_]+]] = rec.mul [[F3_13]], [[F3_ARG12]] : !v, !k
// CHECK-NEXT: [[F3_15:%[a-z0-9_]+]] = rec.mul [[F3_13]], [[F3_12]] : !v, !kv
// CHECK-NEXT: [[F3_16:%[a-z0-9_]+]] = rec.sum [[F3_15]] over [V] : !kv
// CHECK-NEXT: [[F3_17:%[a-z0-9_]+]] = rec.div [[F3_14]], [[F3_11]] : !kv, !kv
// CHECK-NEXT: [[F3_18:%[a-z0-9_]+]] = rec.add [[F3_ARG20]], [[F3_17]] : !kv, !kv
// CHECK-NEXT: [[F3_19:%[a-z0-9_]+]] = rec.mul [[F3_17]], [[F3_12]] : !kv, !kv
// CHECK-NEXT: [[F3_20:%[a-z0-9_]+]] = rec.sub [[F3_ARG21]], [[F3_19]] : !kv, !kv
// CHECK-NEXT: [[F3_21:%[a-z0-9_]+]] = rec.sum [[F3_19]] over [K, V] : !kv
// CHECK-NEXT: [[F3_22:%[a-z0-9_]+]] = rec.mul [[F3_20]], [[F3_ARG18]] : !kv, !kv
// CHECK-NEXT: [[F3_23:%[a-z0-9_]+]] = rec.sum [[F3_22]] over [K, V] : !kv
// CHECK-NEXT: [[F3_24:%[a-z0-9_]+]] = rec.mul [[F3_20]], [[F3_3]] : !kv, !s
// CHECK-NEXT: [[F3_25:%[a-z0-9_]+]] = rec.mul [[F3_20]], [[F3_ARG15]] : !kv, !v
// CHECK-NEXT: [[F3_26:%[a-z0-9_]+]] = rec.sum [[F3_25]] over [V] : !kv
// CHECK-NEXT: [[F3_27:%[a-z0-9_]+]] = rec.mul [[F3_20]], [[F3_7]] : !kv, !k
// CHECK-NEXT: [[F3_28:%[a-z0-9_]+]] = rec.sum [[F3_27]] over [K] : !kv
// CHECK-NEXT: [[F3_29:%[a-z0-9_]+]] = rec.mul [[F3_26]], [[F3_ARG13]] : !k, !k
// CHECK-NEXT: [[F3_30:%[a-z0-9_]+]] = rec.add [[F3_29]], [[F3_29]] : !k, !k
// CHECK-NEXT: [[F3_31:%[a-z0-9_]+]] = rec.mul [[F3_18]], [[F3_ARG14]] : !kv, !v
// CHECK-NEXT: [[F3_32:%[a-z0-9_]+]] = rec.sum [[F3_31]] over [V] : !kv
// CHECK-NEXT: [[F3_33:%[a-z0-9_]+]] = rec.add [[F3_30]], [[F3_32]] : !k, !k
// CHECK-NEXT: [[F3_34:%[a-z0-9_]+]] = rec.mul [[F3_18]], [[F3_ARG13]] : !kv, !k
// CHECK-NEXT: [[F3_35:%[a-z0-9_]+]] = rec.sum [[F3_34]] over [K] : !kv
// CHECK-NEXT: [[F3_36:%[a-z0-9_]+]] = rec.mul [[F3_18]], [[F3_ARG17]] : !kv, !kv
// CHECK-NEXT: [[F3_37:%[a-z0-9_]+]] = rec.sum [[F3_36]] over [K, V] : !kv
// CHECK-NEXT: [[F3_38:%[a-z0-9_]+]] = rec.add [[F3_23]], [[F3_37]] : !s, !s
// CHECK-NEXT: [[F3_39:%[a-z0-9_]+]] = rec.mul [[F3_18]], [[F3_3]] : !kv, !s
// CHECK-NEXT: [[F3_40:%[a-z0-9_]+]] = rec.mul [[F3_38]], [[F3_3]] : !s, !s
// CHECK-NEXT: [[F3_41:%[a-z0-9_]+]] = rec.sub [[F3_ARG22]], [[F3_21]] : !s, !s
// CHECK-NEXT: rec.yield carry([[F3_39]], [[F3_24]], [[F3_41]] : !kv, !kv, !s) emit([[F3_16]], [[F3_33]], [[F3_35]], [[F3_28]], [[F3_40]] : !k, !k, !v, !v, !s)
// CHECK: return [[F3_2]]#0, [[F3_2]]#1, [[F3_2]]#2, [[F3_2]]#3, [[F3_2]]#4, [[F3_DSTATE10]]#1, [[F3_DSTATE00]], [[F3_DSTATE10]]#0 : !rec.seq<K>, !rec.seq<K>, !rec.seq<V>, !rec.seq<V>, !rec.seq, !s, !kv, !kv
