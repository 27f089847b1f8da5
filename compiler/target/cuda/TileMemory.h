// How tiles come from memory and go there, in kernels that have their own way.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cuda/KernelFrame.h"

namespace recurra::cuda {

class TileMemory {
public:
  virtual ~TileMemory() = default;

  /// Prints how the declared `home` gets what the op loads.
  virtual void load(chunk::LoadOp op, const Home &home, const Axes &axes) = 0;
  virtual void store(chunk::StoreOp op, const Home &home, const Axes &axes) = 0;
};

} // namespace recurra::cuda
