// RECURRA_CHECK=1: facts tested on the real inputs of every call, and the first
// NaN of a call named by tensor, batch, head and token.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/Prepare.h"

namespace recurra {

/// Whether RECURRA_CHECK is set to something else than 0; read at every call.
bool checksEnabled();

/// Facts and NaNs of what the caller gave. Throws c10::Error.
void checkGiven(const Recurrence &recurrence, const Prepared &prepared);

/// NaNs of what the kernel wrote. Throws c10::Error.
void checkComputed(const Recurrence &recurrence, const Prepared &prepared);

} // namespace recurra
