// The walk of the oracle: one sequence and head, token after token.
// Evaluate.cpp runs it forward, Differentiate.cpp back again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/CallCheck.h"
#include "dsl/LogGates.h"
#include "dsl/Program.h"

namespace recurra {

template <typename Scalar>
using Flat = std::vector<Scalar>;

/// The entries of an array that belong to one node of one token and head:
/// `base(row, token, head)` plus `entries`, in the node's order.
struct Slice {
  bool perToken = false;
  std::int64_t tokens = 0; ///< per row
  std::int64_t heads = 1;  ///< copies that the array holds
  std::int64_t divisor = 1;
  IndexMap entries;

  std::int64_t base(std::int64_t row, std::int64_t token,
                    std::int64_t head) const {
    std::int64_t outer = perToken ? row * tokens + token : row;
    return (outer * heads + head / divisor) *
           static_cast<std::int64_t>(entries.size());
  }
};

/// An input as one program reads it.
struct Feed {
  const Input *input;
  int slot;
  Slice slice;
  bool given; ///< else `value` stands for it
  double value;
  bool gate; ///< a log gate, clamped
};

/// Copies the entries of one slice out of or into an array.
template <typename Scalar>
void scatter(const Flat<Scalar> &from, const Slice &slice, std::int64_t base,
             Flat<Scalar> &into) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    into[base + slice.entries[i]] = from[i];
  }
}

/// One call of one recurrence with sizes put in.
template <typename Scalar>
class Walk {
public:
  using Named = std::map<std::string, Flat<Scalar>>;
  using States = std::vector<Flat<Scalar>>; ///< of each state, sorted axes

  Walk(const Recurrence &recurrence, const Call &call);

  /// The states before the first token, from the call or from State::initial.
  States startStates(std::int64_t sequence, std::int64_t head);
  /// Computes the step of one token from the states before it into `values`.
  void compute(const States &states, std::int64_t row, std::int64_t token,
               std::int64_t head);
  States nextStates() const;
  /// All of it: outputs and final states into arrays of their full size.
  void run(Named &outputs, Named &finals);

  const Recurrence &recurrence;
  const Call &call;
  std::vector<Sequence> sequences;
  Named inputs, initialStates; ///< of the call; may be changed before a run
  Program step, start;         ///< of a token, and before the first one
  std::vector<Feed> stepFeeds, startFeeds;
  std::vector<Flat<Scalar>> values, startValues; ///< of the two programs
  std::vector<Slice> stateSlices, outputSlices;
  std::vector<IndexMap> broadcast; ///< of each state: to its initial value
  std::vector<int> stateLeaves;    ///< slots in `step`

private:
  /// Fills the input leaves of a program for one token and head.
  void feed(const std::vector<Feed> &feeds, std::int64_t row,
            std::int64_t token, std::int64_t head,
            std::vector<Flat<Scalar>> &into) const;
};

} // namespace recurra
