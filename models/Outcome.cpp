// Turns exceptions into statuses.
// SPDX-License-Identifier: Apache-2.0
#include "models/Outcome.h"

#include "dsl/Error.h"

#include <c10/util/Exception.h>

#include <iostream>

namespace recurra {

TrainStatus guarded(const std::function<TrainStatus()> &body) {
  try {
    return body();
  } catch (const UserError &error) {
    std::cerr << "error: " << error.what() << std::endl;
    return TrainStatus::BadInput;
  } catch (const c10::Error &error) {
    std::cerr << "error: " << error.what_without_backtrace() << std::endl;
  } catch (const std::exception &error) {
    std::cerr << "error: " << error.what() << std::endl;
  }
  return TrainStatus::Failed;
}

} // namespace recurra
