// What the runtime and this machine say of themselves.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/Session.h"

namespace recurra::cli {

/// The JSON of recurra_about.
Json aboutRuntime();

/// The text of --version.
std::string versionText();

} // namespace recurra::cli
