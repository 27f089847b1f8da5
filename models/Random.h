// Reproducible random numbers for data: a stream is a function of the run's
// seed, its purpose and a step, so resuming needs no generator state.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>

namespace recurra {

class Random {
public:
  /// What a stream is for; the same seed gives unrelated numbers to each.
  enum class Purpose : uint32_t { Initialise = 1, Train = 2, Validate = 3 };

  Random(uint64_t seed, Purpose purpose, uint64_t step)
      : engine(makeEngine(seed, purpose, step)) {}

  uint64_t bits() { return engine(); }

  /// In [0, 1), of 53 bits. The standard's distributions differ from library
  /// to library, so both are spelled out here.
  double uniform() { return double(engine() >> 11) * 0x1p-53; }

  /// In [0, count), count well below 2^53.
  int64_t below(int64_t count) { return int64_t(uniform() * double(count)); }

private:
  static std::mt19937_64 makeEngine(uint64_t seed, Purpose purpose,
                                    uint64_t step) {
    std::seed_seq words{uint32_t(seed), uint32_t(seed >> 32), uint32_t(purpose),
                        uint32_t(step), uint32_t(step >> 32)};
    return std::mt19937_64(words);
  }

  std::mt19937_64 engine;
};

} // namespace recurra
