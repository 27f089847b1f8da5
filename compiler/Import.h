// Recurrence to `rec`: one func.func with the user's names and source lines.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/Spec.h"
#include "dsl/Recurrence.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace recurra {

/// The forward function of `recurrence`: arguments are all inputs and the given
/// initial states, results the wanted outputs and final states, all in declared
/// order. States without an argument start from State::initial, computed before
/// the scan. Arguments in Spec::gradients carry rec.gradient. Log gates are
/// clamped at -1e4 (with gradient zero below), so that -inf works. Null, with
/// `error` set, if the spec names what the recurrence lacks.
mlir::OwningOpRef<mlir::ModuleOp> importRecurrence(mlir::MLIRContext &context,
                                                   const Recurrence &recurrence,
                                                   const Spec &spec,
                                                   std::string &error);

/// The name of a user's axis in the IR: T, U, N and H belong to `chunk`, so
/// they get a suffix.
std::string axisInIr(const Recurrence &recurrence, const std::string &axis);

} // namespace recurra
