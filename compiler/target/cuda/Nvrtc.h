// The CUDA run-time compiler, loaded when first needed: no header and no
// library of CUDA is needed to build or to load this one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace recurra::cuda {

/// What one compilation gives. `log` holds the assembler's resource report.
struct Compiled {
  std::string code, log;
};

/// Compiles CUDA C++ for an architecture such as "sm_90a": to a cubin, or to
/// PTX if `isPtx`. False, with a message that says what to install, if no NVRTC
/// is found: it is looked for at $RECURRA_NVRTC (a file or a folder), by name,
/// under $CUDA_HOME and /usr/local/cuda, and beside torch's own libraries.
bool compileCuda(const std::string &source, const std::string &arch, bool isPtx,
                 Compiled &compiled, std::string &message);

/// "13.0", or empty if there is none.
std::string nvrtcVersion();

} // namespace recurra::cuda
