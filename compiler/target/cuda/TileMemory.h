// How tiles come from memory and go there, in kernels that have their own way:
// each function says whether it printed it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cuda/KernelFrame.h"

namespace recurra::cuda {

class TileMemory {
public:
  virtual ~TileMemory() = default;

  /// Prints how the declared `home` gets what the op loads.
  virtual bool load(chunk::LoadOp op, const Home &home, const Axes &axes) = 0;
  virtual bool store(chunk::StoreOp op, const Home &home, const Axes &axes) = 0;
  /// A loop whose carries have their first values.
  virtual bool loop(chunk::ForOp op, llvm::ArrayRef<Home> carries) = 0;
};

} // namespace recurra::cuda
