// How a command of models/ ends: errors become messages and a status.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Train.h"

#include <functional>

namespace recurra {

/// Runs `body`; prints what it throws as "error: ..".
TrainStatus guarded(const std::function<TrainStatus()> &body);

} // namespace recurra
