// The library librecurraTrain.so, which links the models and torch.
// SPDX-License-Identifier: Apache-2.0
#include "cli/TrainDoor.h"

extern "C" __attribute__((visibility("default"))) int
recurra_cli_train(const recurra::TrainOptions &options, bool describe,
                  std::ostream &out) {
  recurra::TrainStatus status = describe ? recurra::describeModel(options, out)
                                         : recurra::train(options, out);
  return static_cast<int>(status);
}
