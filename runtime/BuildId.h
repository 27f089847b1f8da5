// Which build of the library this is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace recurra {

/// The linker's hash of the loaded file that holds this function, in hex: any
/// change of the compiler changes it. Empty if it was linked without one.
const std::string &buildId();

} // namespace recurra
