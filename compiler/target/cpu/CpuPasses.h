// The passes of the CPU target, in the order in which they run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

namespace mlir {
class Pass;
} // namespace mlir

namespace recurra {

/// `chunk-to-vector`: each top-level forall becomes one function with the
/// NestEntry signature, in scf, vector, arith, math and llvm. Its attributes
/// `recurra.tasks` and `recurra.scratch` hold what the Artifact needs.
std::unique_ptr<mlir::Pass> createChunkToVectorPass(std::int64_t vectorBytes);

/// `expand-math`: exp, expm1, log, log1p, tanh and rsqrt on floats and vectors
/// of floats become polynomials; no libm call is left.
std::unique_ptr<mlir::Pass> createExpandMathPass();

/// `expand-division`: f32 divisions of full AVX-512 vectors become an
/// estimated reciprocal and one Newton step (at most 2 ulp).
std::unique_ptr<mlir::Pass> createExpandDivisionPass();

} // namespace recurra
