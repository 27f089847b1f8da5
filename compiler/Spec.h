// What is frozen when a kernel is compiled. Plain data with a text form, so
// that it crosses the C door and keys the cache; no MLIR here.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/DType.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace recurra {

enum class Direction { Forward, Backward };

struct Spec {
  Direction direction = Direction::Forward;
  std::string target = "cpu";
  std::string arch = "native"; ///< cpu: "native", "avx512", "avx2"
  std::map<std::string, std::int64_t> extents; ///< axis name -> size
  std::int64_t group = 1;       ///< value heads per head of a per-group input
  bool packed = false;          ///< sequences given by cu_seqlens
  bool saveCheckpoints = false; ///< forward: store what backward needs
  std::map<std::string, DType> dtypes; ///< of every input and output by name;
                                       ///< absent: f32 (f64 if all inputs are)
  std::vector<std::string> initialStates; ///< states whose initial value is an
                                          ///< argument (the others: default)
  std::vector<std::string> outputs;       ///< forward: wanted; backward: those
                                          ///< with a cotangent
  std::vector<std::string> finalStates;   ///< forward: wanted; backward: those
                                          ///< with a cotangent
  std::vector<std::string> gradients; ///< backward: inputs and initial states
                                      ///< (by state name) that want one

  /// Arithmetic is done in f64 iff every floating input is, else in f32; states
  /// are kept in it between tokens.
  DType computeType() const;
};

/// One line per field, sorted: equal specs give equal text.
std::string toText(const Spec &spec);

/// The inverse; false (and a message) if a line is malformed.
bool parseSpec(const std::string &text, Spec &spec, std::string &message);

} // namespace recurra
