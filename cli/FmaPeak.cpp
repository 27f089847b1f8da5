// FmaPeak: twelve independent chains of multiply-adds on every thread at once;
// the best of many short windows, in which nothing else had the cores.
// SPDX-License-Identifier: Apache-2.0
#include "cli/FmaPeak.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <sched.h>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t rounds = 500; ///< of one slice: about a microsecond
constexpr int chains = 12;           ///< two units, latencies of up to six
/// Shorter than a scheduler's turn, and a thousand slices.
constexpr std::chrono::milliseconds window(2), whole(400);

using Wide = float __attribute__((vector_size(64)));
using Half = float __attribute__((vector_size(32)));

/// The chains' values, a factor and a term, which the compiler cannot know.
struct Chains {
  alignas(64) float values[(chains + 2) * sizeof(Wide) / sizeof(float)];
};

template <typename Vector>
[[gnu::always_inline]] inline std::int64_t spin(Chains &memory) {
  constexpr int lanes = sizeof(Vector) / sizeof(float);
  Vector sums[chains], factor, term;
  std::memcpy(sums, memory.values, sizeof sums);
  std::memcpy(&factor, memory.values + chains * lanes, sizeof factor);
  std::memcpy(&term, memory.values + (chains + 1) * lanes, sizeof term);
  for (std::int64_t n = 0; n < rounds; ++n) {
#pragma clang loop unroll(full)
    for (Vector &sum : sums) {
      sum = __builtin_elementwise_fma(sum, factor, term);
    }
  }
  std::memcpy(memory.values, sums, sizeof sums);
  return 2 * rounds * chains * lanes;
}

// Tuned for some CPUs, the compiler would cut the vectors in two.
[[gnu::target("avx512f"), clang::min_vector_width(512)]] std::int64_t
spinAvx512(Chains &memory) {
  return spin<Wide>(memory);
}

[[gnu::target("avx2,fma")]] std::int64_t spinAvx2(Chains &memory) {
  return spin<Half>(memory);
}

/// What one thread has done, on a cache line of its own.
struct alignas(64) Counter {
  std::atomic<std::int64_t> operations{0};
};

/// Gives the calling thread a core of its own, so that two never share one
/// while another program has the other.
void keepApart(std::size_t thread) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
    return;
  }
  std::size_t turn = thread % CPU_COUNT(&allowed);
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed) && turn-- == 0) {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(core, &one);
      sched_setaffinity(0, sizeof one, &one);
      return;
    }
  }
}

class Race {
public:
  explicit Race(int threads) : counters(threads) {}

  /// Operations per second in the best window.
  double run() {
    std::vector<std::thread> threads;
    windowStart = Clock::now();
    end = windowStart + whole;
    threads.emplace_back([this] { work(0, [this] { look(); }); });
    for (std::size_t i = 1; i < counters.size(); ++i) {
      threads.emplace_back([this, i] { work(i, [] {}); });
    }
    for (std::thread &thread : threads) {
      thread.join();
    }
    return best;
  }

private:
  template <typename Look>
  void work(std::size_t thread, Look look) {
    keepApart(thread);
    auto slice = __builtin_cpu_supports("avx512f") ? spinAvx512 : spinAvx2;
    auto memory = std::make_unique<Chains>();
    std::fill(std::begin(memory->values), std::end(memory->values), 0.5f);
    while (!done.load(std::memory_order_relaxed)) {
      counters[thread].operations.fetch_add(slice(*memory),
                                            std::memory_order_relaxed);
      look();
    }
  }

  /// After each slice of the first thread: closes a window that is full.
  void look() {
    Clock::time_point now = Clock::now();
    std::chrono::duration<double> time = now - windowStart;
    if (time >= window) {
      std::int64_t sum = std::accumulate(
          counters.begin(), counters.end(), std::int64_t(0),
          [](std::int64_t before, const Counter &counter) {
            return before + counter.operations.load(std::memory_order_relaxed);
          });
      best = std::max(best, static_cast<double>(sum - before) / time.count());
      before = sum;
      windowStart = now;
      done = now >= end;
    }
  }

  std::vector<Counter> counters;
  std::atomic<bool> done{false};
  Clock::time_point windowStart, end;
  std::int64_t before = 0;
  double best = 0;
};

} // namespace

double recurra_fma_peak(int threads) { return Race(threads).run(); }
