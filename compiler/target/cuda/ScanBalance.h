// How the sum over all elements of adjoints times states changes from token to
// token: by what the readout adds, which may be a number times the change of
// one adjoint's sum, less the adjoints times what the states took in, which is
// known from other sums. Then nobody multiplies the matrices.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cuda/ScanValues.h"

namespace recurra::cuda {

struct ScanBalance {
  /// A sum over the rows whose entries, times those of a column vector, are an
  /// adjoint times what its state took in.
  struct Spent {
    const ScanSum *sum = nullptr;
    const Node *column = nullptr;
    bool isNegative = false;
  };
  const ScanSum *total = nullptr;    ///< null: there is no such balance
  const ScanSum *ofMatrix = nullptr; ///< over columns, of the one adjoint
  unsigned adjoint = 0;              ///< its index
  const Node *factor = nullptr;      ///< what its change is taken times
  llvm::SmallVector<Spent> spent;
};

/// The balance of a total, proved by evaluating it at random numbers.
ScanBalance findBalance(const ScanForm &form, const ScanValues &values,
                        const ScanSum &total);

} // namespace recurra::cuda
