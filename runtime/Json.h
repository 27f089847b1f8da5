// Just enough JSON to describe a kernel: values are written as they come.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace recurra::json {

/// A string literal with what JSON demands escaped.
std::string text(const std::string &value);

std::string number(std::int64_t value);

/// Elements and members are JSON already.
std::string array(const std::vector<std::string> &elements);
std::string
object(const std::vector<std::pair<std::string, std::string>> &members);

} // namespace recurra::json
