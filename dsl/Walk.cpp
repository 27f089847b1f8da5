// Running the step of every token from the states before it.
// SPDX-License-Identifier: Apache-2.0
#include "dsl/Walk.h"

#include <algorithm>

namespace recurra {
namespace {

std::vector<std::string> sortedAxes(std::vector<std::string> axes) {
  std::sort(axes.begin(), axes.end());
  return axes;
}

Slice sliceOf(const Input &input, const Call &call) {
  Slice slice;
  slice.entries = mapIndices(sortedAxes(input.axes), input.axes, call.extents);
  slice.perToken = input.role == Role::Token;
  slice.tokens = call.tokens;
  bool one = input.role == Role::Scalar || input.sharing == Sharing::All;
  slice.divisor = one                               ? call.heads
                  : input.sharing == Sharing::Group ? call.group
                                                    : 1;
  slice.heads = call.heads / slice.divisor;
  return slice;
}

/// Of outputs (per token) and states (row = sequence).
template <typename Item>
Slice sliceOf(const Item &item, const Call &call, bool perToken) {
  return {perToken, call.tokens, call.heads, 1,
          mapIndices(sortedAxes(item.axes), item.axes, call.extents)};
}

std::vector<Feed> feedsOf(const Recurrence &recurrence, const Call &call,
                          const Program &program) {
  std::set<std::string> gates = logGates(recurrence);
  std::vector<Feed> feeds;
  for (const Input &input : recurrence.inputs) {
    int slot = program.leaf(Op::Input, input.name);
    if (slot < 0) {
      continue;
    }
    bool given = call.inputs.count(input.name) != 0;
    feeds.push_back({&input, slot, sliceOf(input, call), given,
                     given ? 0 : evaluateDefault(input, call.extents),
                     gates.contains(input.name)});
  }
  return feeds;
}

std::vector<NodeRef> stepRoots(const Recurrence &recurrence) {
  std::vector<NodeRef> roots;
  roots.reserve(recurrence.states.size() + recurrence.outputs.size());
  for (const State &state : recurrence.states) {
    roots.push_back(state.next);
  }
  for (const Output &output : recurrence.outputs) {
    roots.push_back(output.value);
  }
  return roots;
}

std::vector<NodeRef> initialRoots(const Recurrence &recurrence) {
  std::vector<NodeRef> roots;
  roots.reserve(recurrence.states.size());
  for (const State &state : recurrence.states) {
    roots.push_back(state.initial);
  }
  return roots;
}

} // namespace

template <typename Scalar>
Walk<Scalar>::Walk(const Recurrence &recurrence, const Call &call)
    : recurrence(recurrence), call(call), sequences(sequencesOf(call)),
      step(stepRoots(recurrence), call.extents),
      start(initialRoots(recurrence), call.extents),
      stepFeeds(feedsOf(recurrence, call, step)),
      startFeeds(feedsOf(recurrence, call, start)),
      values(step.makeValues<Scalar>()),
      startValues(start.makeValues<Scalar>()) {
  for (const State &state : recurrence.states) {
    stateSlices.push_back(sliceOf(state, call, false));
    broadcast.push_back(
        mapIndices(sortedAxes(state.axes), state.initial->axes, call.extents));
    stateLeaves.push_back(step.leaf(Op::State, state.name));
  }
  for (const Output &output : recurrence.outputs) {
    outputSlices.push_back(sliceOf(output, call, true));
  }
  for (const auto &[name, array] : call.inputs) {
    inputs[name].assign(array.values.begin(), array.values.end());
  }
  for (const auto &[name, array] : call.initialStates) {
    initialStates[name].assign(array.values.begin(), array.values.end());
  }
}

template <typename Scalar>
void Walk<Scalar>::feed(const std::vector<Feed> &feeds, std::int64_t row,
                        std::int64_t token, std::int64_t head,
                        std::vector<Flat<Scalar>> &into) const {
  for (const Feed &feed : feeds) {
    Flat<Scalar> &leaf = into[feed.slot];
    if (!feed.given) {
      std::fill(leaf.begin(), leaf.end(), Scalar(feed.value));
      continue;
    }
    const Flat<Scalar> &array = inputs.at(feed.input->name);
    std::int64_t batch = feed.slice.perToken ? row : 0;
    std::int64_t base = feed.slice.base(batch, token, head);
    for (std::size_t i = 0; i < leaf.size(); ++i) {
      leaf[i] = array[base + feed.slice.entries[i]];
      if (feed.gate && elementwise::realPart(leaf[i]) < lowestLogGate) {
        leaf[i] = lowestLogGate;
      }
    }
  }
}

template <typename Scalar>
typename Walk<Scalar>::States Walk<Scalar>::startStates(std::int64_t sequence,
                                                        std::int64_t head) {
  feed(startFeeds, 0, 0, head, startValues);
  start.forward(startValues);
  States states;
  for (std::size_t s = 0; s < recurrence.states.size(); ++s) {
    const State &state = recurrence.states[s];
    const Slice &slice = stateSlices[s];
    auto given = initialStates.find(state.name);
    const Flat<Scalar> &initial = startValues[start.slot(state.initial)];
    std::int64_t base = slice.base(sequence, 0, head);
    Flat<Scalar> values(slice.entries.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = given == initialStates.end()
                      ? initial[broadcast[s][i]]
                      : given->second[base + slice.entries[i]];
    }
    states.push_back(std::move(values));
  }
  return states;
}

template <typename Scalar>
void Walk<Scalar>::compute(const States &states, std::int64_t row,
                           std::int64_t token, std::int64_t head) {
  feed(stepFeeds, row, token, head, values);
  for (std::size_t s = 0; s < states.size(); ++s) {
    if (stateLeaves[s] >= 0) {
      values[stateLeaves[s]] = states[s];
    }
  }
  step.forward(values);
}

template <typename Scalar>
typename Walk<Scalar>::States Walk<Scalar>::nextStates() const {
  States states;
  for (const State &state : recurrence.states) {
    states.push_back(values[step.slot(state.next)]);
  }
  return states;
}

template <typename Scalar>
void Walk<Scalar>::run(Named &outputs, Named &finals) {
  for (std::size_t n = 0; n < sequences.size(); ++n) {
    for (std::int64_t head = 0; head < call.heads; ++head) {
      const Sequence &sequence = sequences[n];
      States states = startStates(n, head);
      for (std::int64_t token = sequence.begin; token < sequence.end; ++token) {
        compute(states, sequence.row, token, head);
        for (std::size_t i = 0; i < recurrence.outputs.size(); ++i) {
          const Output &output = recurrence.outputs[i];
          scatter(values[step.slot(output.value)], outputSlices[i],
                  outputSlices[i].base(sequence.row, token, head),
                  outputs.at(output.name));
        }
        states = nextStates();
      }
      for (std::size_t s = 0; s < states.size(); ++s) {
        scatter(states[s], stateSlices[s], stateSlices[s].base(n, 0, head),
                finals.at(recurrence.states[s].name));
      }
    }
  }
}

template class Walk<double>;
template class Walk<elementwise::Complex>;

} // namespace recurra
