// Every pass, with the IR before and after. One file per pass.
// SPDX-License-Identifier: Apache-2.0
#ifndef RECURRA_PASSES
#define RECURRA_PASSES

include "mlir/Pass/PassBase.td"

#endif
