// Gradients by reverse mode on the tape of a run.
// SPDX-License-Identifier: Apache-2.0
#include "dsl/Walk.h"

#include <algorithm>

namespace recurra {
namespace {

void clear(std::vector<Flat<double>> &arrays) {
  for (Flat<double> &array : arrays) {
    std::fill(array.begin(), array.end(), 0.0);
  }
}

void gather(const Flat<double> &from, const Slice &slice, std::int64_t base,
            Flat<double> &into) {
  for (std::size_t i = 0; i < into.size(); ++i) {
    into[i] += from[base + slice.entries[i]];
  }
}

class Reverse : private Walk<double> {
public:
  Reverse(const Recurrence &recurrence, const Call &call,
          const Values &cotangents, Gradients &gradients)
      : Walk(recurrence, call), cotangents(cotangents), gradients(gradients) {}

  void run() {
    for (std::size_t n = 0; n < sequences.size(); ++n) {
      for (std::int64_t head = 0; head < call.heads; ++head) {
        sequence(static_cast<std::int64_t>(n), head);
      }
    }
  }

private:
  void sequence(std::int64_t n, std::int64_t head);
  States finalCotangents(std::int64_t n, std::int64_t head) const;
  void seed(const States &carried, std::int64_t row, std::int64_t token,
            std::int64_t head, std::vector<Flat<double>> &adjoints) const;
  void collect(const std::vector<Feed> &feeds, std::int64_t row,
               std::int64_t token, std::int64_t head,
               const std::vector<Flat<double>> &adjoints);
  void intoStart(const States &carried, std::int64_t n, std::int64_t head);

  const Values &cotangents;
  Gradients &gradients;
};

Reverse::States Reverse::finalCotangents(std::int64_t n,
                                         std::int64_t head) const {
  States carried;
  for (std::size_t s = 0; s < recurrence.states.size(); ++s) {
    carried.emplace_back(stateSlices[s].entries.size(), 0.0);
    auto given = cotangents.finalStates.find(recurrence.states[s].name);
    if (given != cotangents.finalStates.end()) {
      gather(given->second.values, stateSlices[s],
             stateSlices[s].base(n, 0, head), carried[s]);
    }
  }
  return carried;
}

/// 1. Forward, keeping the states before each token: the tape. 2. Backward over
/// the tokens: recompute the step, seed it with the cotangents of its outputs
/// and new states, send them back. 3. Into the initial states.
void Reverse::sequence(std::int64_t n, std::int64_t head) {
  const Sequence &tokens = sequences[n];
  std::vector<States> tape{startStates(n, head)};
  for (std::int64_t token = tokens.begin; token < tokens.end; ++token) {
    compute(tape.back(), tokens.row, token, head);
    tape.push_back(nextStates());
  }
  States carried = finalCotangents(n, head);
  std::vector<Flat<double>> adjoints = step.makeValues<double>();
  for (std::int64_t token = tokens.end; token-- > tokens.begin;) {
    compute(tape[token - tokens.begin], tokens.row, token, head);
    clear(adjoints);
    seed(carried, tokens.row, token, head, adjoints);
    step.backward(values, adjoints);
    collect(stepFeeds, tokens.row, token, head, adjoints);
    for (std::size_t s = 0; s < carried.size(); ++s) {
      bool read = stateLeaves[s] >= 0;
      carried[s] = read ? adjoints[stateLeaves[s]]
                        : Flat<double>(carried[s].size(), 0.0);
    }
  }
  intoStart(carried, n, head);
}

void Reverse::seed(const States &carried, std::int64_t row, std::int64_t token,
                   std::int64_t head,
                   std::vector<Flat<double>> &adjoints) const {
  for (std::size_t s = 0; s < carried.size(); ++s) {
    Flat<double> &adjoint = adjoints[step.slot(recurrence.states[s].next)];
    for (std::size_t i = 0; i < adjoint.size(); ++i) {
      adjoint[i] += carried[s][i];
    }
  }
  for (std::size_t i = 0; i < recurrence.outputs.size(); ++i) {
    const Output &output = recurrence.outputs[i];
    auto given = cotangents.outputs.find(output.name);
    if (given != cotangents.outputs.end()) {
      gather(given->second.values, outputSlices[i],
             outputSlices[i].base(row, token, head),
             adjoints[step.slot(output.value)]);
    }
  }
}

void Reverse::collect(const std::vector<Feed> &feeds, std::int64_t row,
                      std::int64_t token, std::int64_t head,
                      const std::vector<Flat<double>> &adjoints) {
  for (const Feed &feed : feeds) {
    if (!feed.given) {
      continue;
    }
    const std::string &name = feed.input->name;
    Flat<double> &gradient = gradients.inputs.at(name).values;
    const Flat<double> &adjoint = adjoints[feed.slot];
    std::int64_t batch = feed.slice.perToken ? row : 0;
    std::int64_t base = feed.slice.base(batch, token, head);
    for (std::size_t i = 0; i < adjoint.size(); ++i) {
      std::int64_t at = base + feed.slice.entries[i];
      bool clamped = feed.gate && inputs.at(name)[at] < lowestLogGate;
      gradient[at] += clamped ? 0 : adjoint[i];
    }
  }
}

void Reverse::intoStart(const States &carried, std::int64_t n,
                        std::int64_t head) {
  startStates(n, head);
  std::vector<Flat<double>> adjoints = start.makeValues<double>();
  clear(adjoints);
  for (std::size_t s = 0; s < carried.size(); ++s) {
    const State &state = recurrence.states[s];
    auto given = gradients.initialStates.find(state.name);
    if (given != gradients.initialStates.end()) {
      scatter(carried[s], stateSlices[s], stateSlices[s].base(n, 0, head),
              given->second.values);
      continue;
    }
    Flat<double> &adjoint = adjoints[start.slot(state.initial)];
    for (std::size_t i = 0; i < carried[s].size(); ++i) {
      adjoint[broadcast[s][i]] += carried[s][i];
    }
  }
  start.backward(startValues, adjoints);
  collect(startFeeds, 0, 0, head, adjoints);
}

} // namespace

Gradients differentiate(const Recurrence &recurrence, const Call &call,
                        const Values &cotangents) {
  checkCall(recurrence, call);
  checkValues(recurrence, call, cotangents);
  Gradients gradients;
  for (const auto &[name, array] : call.inputs) {
    gradients.inputs[name] = makeArray(array.sizes);
  }
  for (const auto &[name, array] : call.initialStates) {
    gradients.initialStates[name] = makeArray(array.sizes);
  }
  Reverse(recurrence, call, cotangents, gradients).run();
  return gradients;
}

} // namespace recurra
