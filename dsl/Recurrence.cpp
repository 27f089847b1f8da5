// Look-ups in a recurrence, and the sharing of equal subexpressions.
// SPDX-License-Identifier: Apache-2.0
#include "dsl/Recurrence.h"

#include <bit>
#include <map>
#include <tuple>
#include <unordered_map>

namespace recurra {
namespace {

template <typename Item>
const Item *findByName(const std::vector<Item> &items,
                       const std::string &name) {
  for (const Item &item : items) {
    if (item.name == name) {
      return &item;
    }
  }
  return nullptr;
}

/// Rewrites graphs so that structurally equal nodes are the same node. The
/// first one met keeps its location.
class Sharer {
public:
  NodeRef share(const NodeRef &root) {
    for (const NodeRef &node : operandsFirst({root})) {
      if (shared.count(node.get()) == 0) {
        shared[node.get()] = unique(node);
      }
    }
    return root ? shared.at(root.get()) : nullptr;
  }

private:
  using Key =
      std::tuple<Op, std::vector<const Node *>, std::uint64_t, std::string,
                 std::string, std::string, int, std::vector<std::string>>;

  NodeRef unique(const NodeRef &node) {
    Node copy = *node;
    std::vector<const Node *> operands;
    for (NodeRef &operand : copy.operands) {
      operand = shared.at(operand.get());
      operands.push_back(operand.get());
    }
    Key key{copy.op,    operands,  std::bit_cast<std::uint64_t>(copy.value),
            copy.name,  copy.axis, copy.target,
            copy.index, copy.axes};
    NodeRef &slot = nodes[key];
    if (!slot) {
      slot = std::make_shared<const Node>(std::move(copy));
    }
    return slot;
  }

  std::map<Key, NodeRef> nodes;
  std::unordered_map<const Node *, NodeRef> shared;
};

} // namespace

const Input *Recurrence::findInput(const std::string &name) const {
  return findByName(inputs, name);
}

const State *Recurrence::findState(const std::string &name) const {
  return findByName(states, name);
}

const Output *Recurrence::findOutput(const std::string &name) const {
  return findByName(outputs, name);
}

DType State::tensorType(DType arithmetic) const {
  return arithmetic == DType::F64 ? DType::F64 : dtype;
}

void shareNodes(Recurrence &recurrence) {
  // The old graphs live until the end: addresses identify nodes.
  Recurrence old = recurrence;
  Sharer sharer;
  for (Input &input : recurrence.inputs) {
    input.fallback = sharer.share(input.fallback);
  }
  for (State &state : recurrence.states) {
    state.initial = sharer.share(state.initial);
    state.next = sharer.share(state.next);
  }
  for (Output &output : recurrence.outputs) {
    output.value = sharer.share(output.value);
  }
}

} // namespace recurra
