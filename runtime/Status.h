// What every function of the runtime returns: a status of the C door, and the
// words for the user when it is a failure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/recurra.h"

#include <string>

namespace recurra {

struct Status {
  recurra_status code = RECURRA_SUCCESS;
  std::string message;
  bool ok() const { return code == RECURRA_SUCCESS; }
};

} // namespace recurra
