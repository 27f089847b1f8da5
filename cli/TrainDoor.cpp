// The library librecurraTrain.so, which links the models and torch.
// SPDX-License-Identifier: Apache-2.0
#include "cli/TrainDoor.h"

#include <iostream>

extern "C" __attribute__((visibility("default"))) int
recurra_cli_train(const recurra::TrainOptions &options, bool describe) {
  recurra::TrainStatus status = describe
                                    ? recurra::describeModel(options, std::cout)
                                    : recurra::train(options, std::cout);
  return static_cast<int>(status);
}
