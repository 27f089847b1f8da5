// A walk ahead of parts of spans: whether there can be one, and its tiles.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cuda/ScanPrinter.h"

namespace recurra::cuda {

/// Whether parts can give the bits of one walk: they are whole runs, spans, if
/// there are any, can be halved, and nothing is added up over a task. And
/// whether a call can have so few heads.
bool canWalkAhead(const ScanForm &form);

/// Spans, or sequences, x heads up to which a walk ahead pays: backward it is
/// no less than a quarter of the walk; forward, where decays are vectors, it
/// has as much to prepare as the walk. And tasks have slices.
std::int64_t fewHeads(const ScanForm &form);

/// Of small pieces of a state: few elements for each lane, and where sixteen
/// heads are walked, room for all blocks at once. Each finds the segments that
/// all of the state has.
ScanTiles aheadTiles(const ScanForm &form, const ScanTiles &walk);

} // namespace recurra::cuda
