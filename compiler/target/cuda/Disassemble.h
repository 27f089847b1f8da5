// Machine code of a cubin as text, by the toolkit's disassembler.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace recurra::cuda {

/// False, with a message that says what to install, if there is neither
/// nvdisasm nor cuobjdump on PATH, under $CUDA_HOME or /usr/local/cuda.
bool disassemble(const std::string &cubin, std::string &text,
                 std::string &message);

} // namespace recurra::cuda
