// Measures the peak of fused multiply-adds that the host reaches; bench.py
// compiles it with vectors as wide as the host has.
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

namespace {

using Vector = float __attribute__((vector_size(64)));

// 2 * 16 * 16 operations a round in sixteen independent chains.
void spinFma(int64_t rounds, float *sink) {
  Vector sums[16], a, b;
  for (int i = 0; i < 16; ++i) {
    a[i] = 1.0f - 1e-6f * sink[i];
    b[i] = 1e-6f * sink[i];
    for (int j = 0; j < 16; ++j) {
      sums[j][i] = sink[i] + j;
    }
  }
  for (int64_t n = 0; n < rounds; ++n) {
#pragma GCC unroll 16
    for (int j = 0; j < 16; ++j) {
      sums[j] = sums[j] * a + b;
    }
  }
  for (int j = 1; j < 16; ++j) {
    sums[0] += sums[j];
  }
  std::memcpy(sink, &sums[0], sizeof(Vector));
}

} // namespace

extern "C" {

// The host's measured peak of fused multiply-adds, in operations (two a
// multiply-add) per second, on `threads` threads.
double fma_peak(int threads) {
  constexpr int64_t rounds = 4'000'000;
  std::vector<float> sinks(64 * threads, 0.5f);
  auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> pool;
  for (int i = 0; i < threads; ++i) {
    pool.emplace_back(spinFma, rounds, sinks.data() + 64 * i);
  }
  for (std::thread &thread : pool) {
    thread.join();
  }
  std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  return 2.0 * 16 * 16 * rounds * threads / time.count();
}
}
