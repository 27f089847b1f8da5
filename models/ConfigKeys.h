// The keys of a configuration: one table serves reading, checking, the messages
// and writing back.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Config.h"

#include <cstdint>
#include <limits>
#include <string>
#include <variant>
#include <vector>

namespace recurra {

/// A key: where its value goes and what it may be.
struct Field {
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  std::string key; ///< "table.key"
  std::variant<int64_t *, double *, bool *, std::string *,
               std::vector<int64_t> *>
      value;
  double least = -kInfinity, most = kInfinity;
  std::vector<std::string> choices = {};
};

/// Every key, in the order in which a file should show them.
std::vector<Field> fieldsOf(TrainConfig &config);

/// The known key closest to `key`; the right name in a wrong table counts as
/// close.
std::string nearestKey(const std::vector<Field> &fields,
                       const std::string &key);

} // namespace recurra
