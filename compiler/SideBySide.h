// Work side by side in threads.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

namespace recurra {

/// work(0) .. work(count - 1), each in a thread of its own but the first, which
/// is the caller's. Where the system gives no more threads, what is left comes
/// one after the other behind it. `work` must not throw.
void sideBySide(std::size_t count,
                const std::function<void(std::size_t)> &work);

} // namespace recurra
