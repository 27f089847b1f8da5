// One definition with every operator and every way to share an input.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/Recurrence.h"

namespace recurra {

Recurrence everyOperator();

} // namespace recurra
