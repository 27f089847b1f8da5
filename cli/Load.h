// Definitions of the user's own, from a file given with --load.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/Recurrence.h"

namespace recurra::cli {

/// By the file's ending:
///   .py   run by Python; every recurrence among its global names
///   .so   a shared library that exports
///           extern "C" const char *recurra_definitions();
///         which returns canonical texts, one behind the other
///   else  canonical text, of one recurrence or several
/// Throws UserError.
std::vector<Recurrence> loadDefinitions(const std::string &file);

/// The Python that runs such files: $RECURRA_PYTHON, else that of the active
/// virtual environment, else the one that this build was made with.
std::string pythonProgram();

} // namespace recurra::cli
