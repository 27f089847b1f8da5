// FmaPeak: twelve independent chains of multiply-adds per thread, timed.
// SPDX-License-Identifier: Apache-2.0
#include "cli/FmaPeak.h"

#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

namespace {

constexpr std::int64_t rounds = 5'000'000;
constexpr int chains = 12;

/// Operations done; `memory` holds a vector and takes the result, so
/// that nothing is optimised away.
template <typename Vector>
[[gnu::always_inline]] inline std::int64_t spin(float *memory) {
  constexpr int lanes = sizeof(Vector) / sizeof(float);
  Vector sums[chains], factor, term;
  std::memcpy(&factor, memory, sizeof(Vector));
  std::memcpy(&term, memory, sizeof(Vector));
  for (Vector &sum : sums) {
    std::memcpy(&sum, memory, sizeof(Vector));
  }
  for (std::int64_t n = 0; n < rounds; ++n) {
#pragma clang loop unroll(full)
    for (Vector &sum : sums) {
      sum = __builtin_elementwise_fma(sum, factor, term);
    }
  }
  for (int i = 1; i < chains; ++i) {
    sums[0] += sums[i];
  }
  std::memcpy(memory, &sums[0], sizeof(Vector));
  return 2 * rounds * chains * lanes;
}

using Wide = float __attribute__((vector_size(64)));
using Half = float __attribute__((vector_size(32)));

[[gnu::target("avx512f")]] std::int64_t spinAvx512(float *memory) {
  return spin<Wide>(memory);
}

[[gnu::target("avx2,fma")]] std::int64_t spinAvx2(float *memory) {
  return spin<Half>(memory);
}

} // namespace

double recurra_fma_peak(int threads) {
  auto work = __builtin_cpu_supports("avx512f") ? spinAvx512 : spinAvx2;
  std::vector<float> memories(64 * threads, 0.5f);
  std::vector<std::int64_t> operations(64 * threads);
  std::vector<std::thread> pool;
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < threads; ++i) {
    pool.emplace_back(
        [&, i] { operations[64 * i] = work(memories.data() + 64 * i); });
  }
  std::int64_t total = 0;
  for (int i = 0; i < threads; ++i) {
    pool[i].join();
    total += operations[64 * i];
  }
  std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  return static_cast<double>(total) / time.count();
}
