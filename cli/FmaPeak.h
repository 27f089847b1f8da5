// The host's peak of fused multiply-adds, measured.
// SPDX-License-Identifier: Apache-2.0
#pragma once

extern "C" {
/// Operations per second on `threads` threads at once, each on a core of its
/// own, a multiply-add counted as two, with the widest vectors of the host: the
/// best two milliseconds of 0.4 seconds, so that a busy machine shows the same.
/// Plain C, as the bench calls it too.
double recurra_fma_peak(int threads);
}
