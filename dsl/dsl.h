// The language's one user header. (The essay on gated recurrences goes here.)
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sketch of the public builder; dsl's owner writes the real one.
