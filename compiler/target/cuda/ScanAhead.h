// A walk ahead of parts of spans: whether there can be one, and its tiles.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cuda/ScanPrinter.h"

namespace recurra::cuda {

/// Whether parts can give the bits of one walk: spans can be halved, decays are
/// numbers, so that a piece of a state finds the same segments as all of it,
/// and nothing is added up over a task. And whether a call can have so few
/// heads.
bool canWalkAhead(const ScanForm &form);

/// Spans x heads up to which a walk ahead pays: backward it is no less than
/// a quarter of the walk, and tasks have slices.
std::int64_t fewHeads(const ScanForm &form);

/// Of small pieces of a state: few elements for each lane, and where sixteen
/// heads are walked, room for all blocks at once.
ScanTiles aheadTiles(const ScanForm &form, const ScanTiles &walk);

} // namespace recurra::cuda
