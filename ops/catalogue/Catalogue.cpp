// The list of the entries.
// SPDX-License-Identifier: Apache-2.0
#include "ops/catalogue/Catalogue.h"

#include "ops/catalogue/Entries.h"

namespace recurra {

const std::vector<Recurrence> &catalogue() {
  using namespace recurrences;
  static const std::vector<Recurrence> entries = {
      palimpsa(), palimpsaMu(), linearAttention(), simpleGla(),
      gla(),      hgrn(),       gatedDeltaRule(),  gatedDeltaProduct(),
      mamba1(),   longhorn(),   mlstm(),           slstm(),
  };
  return entries;
}

const Recurrence *findRecurrence(const std::string &name) {
  for (const Recurrence &entry : catalogue()) {
    if (entry.name == name) {
      return &entry;
    }
  }
  return nullptr;
}

} // namespace recurra
