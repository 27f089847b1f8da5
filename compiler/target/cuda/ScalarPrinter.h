// One arith or math op as a CUDA expression.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cpu/BodyGraph.h"

namespace recurra::cuda {

/// A literal of f32, f64 or i1.
std::string printNumber(mlir::Attribute value);

/// The expression of an Elementwise node on printed operands, in parentheses
/// unless it is a call.
std::string printScalar(const cpu::Node &node,
                        llvm::ArrayRef<std::string> operands);

} // namespace recurra::cuda
