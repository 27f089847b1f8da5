// The host's peak of fused multiply-adds, measured.
// SPDX-License-Identifier: Apache-2.0
#pragma once

extern "C" {
/// Operations per second on `threads` threads, a multiply-add counted as two,
/// with the widest vectors of the host; takes a few tens of milliseconds.
/// Plain C, as the bench calls it too.
double recurra_fma_peak(int threads);
}
