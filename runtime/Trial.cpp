// Trial: tensors in the order that the kernels describe, and back to arrays.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Trial.h"

#include "dsl/CallCheck.h"
#include "runtime/ArgumentSizes.h"
#include "runtime/Draw.h"
#include "runtime/HostTensor.h"
#include "runtime/Kernel.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>

namespace recurra {
namespace {

using nlohmann::json;
using Tensors = std::map<std::string, HostTensor>;

/// The array that an argument reads, or null if the kernel writes it.
const Array *sourceOf(const std::string &kind, const std::string &name,
                      const Call &call, const Values &cotangents) {
  if (kind == "input") {
    return &call.inputs.at(name);
  }
  if (kind == "initial_state") {
    return &call.initialStates.at(name);
  }
  if (kind == "output_cotangent") {
    return &cotangents.outputs.at(name);
  }
  if (kind == "final_state_cotangent") {
    return &cotangents.finalStates.at(name);
  }
  return nullptr;
}

/// Compiles one direction and launches it over `tensors`, keyed "kind name":
/// those that are there already are passed on (the checkpoints).
void launchDirection(const Trial &trial, Direction direction, Tensors &tensors,
                     const recurra_host *host) {
  const Recurrence &recurrence = *trial.recurrence;
  Spec spec = trial.spec(direction);
  json description = json::parse(describeKernel(recurrence, spec));
  std::vector<TensorView> views;
  for (const json &argument : description["arguments"]) {
    std::string kind = argument["kind"], name = argument["name"];
    DType dtype = *parseDType(argument["dtype"].get<std::string>());
    const Array *source = sourceOf(kind, name, trial.call, trial.cotangents);
    std::int64_t gap = kind == "checkpoint" ? 0 : trial.gap; // dense by rule
    HostTensor fresh =
        source ? HostTensor(dtype, *source, gap)
               : HostTensor(dtype,
                            sizesOf(argument["shape"], trial.call,
                                    description["checkpoint_interval"]),
                            gap);
    std::string key = kind;
    key.append(" ").append(name);
    auto entry = tensors.try_emplace(key, std::move(fresh));
    views.push_back(entry.first->second.view());
  }
  const Call &call = trial.call;
  recurra_sizes sizes{call.batch, call.tokens, call.heads, sequencesIn(call),
                      call.offsets.empty() ? nullptr : call.offsets.data()};
  Kernel::compile(recurrence, spec).launch(views, sizes, host);
  for (const auto &[key, tensor] : tensors) {
    if (!tensor.guardsIntact()) {
      throw UserError("the kernel of '" + recurrence.name +
                      "' wrote outside of " + key);
    }
  }
}

/// The arrays of one kind, by name.
Arrays collect(const Tensors &tensors, const std::string &kind) {
  Arrays arrays;
  for (const auto &[key, tensor] : tensors) {
    if (key.starts_with(kind + ' ')) {
      arrays[key.substr(kind.size() + 1)] = tensor.toArray();
    }
  }
  return arrays;
}

/// The least exact dtype decides how close results can be; that of a state's
/// tensors, only how close those are.
DType leastExact(const Trial &trial) {
  static constexpr DType byExactness[] = {DType::BF16, DType::F16, DType::F32};
  auto has = [&](DType dtype) {
    const Recurrence &recurrence = *trial.recurrence;
    auto is = [&](const auto &tensor) {
      return trial.dtypeOf(tensor.name) == dtype;
    };
    return std::any_of(recurrence.inputs.begin(), recurrence.inputs.end(),
                       is) ||
           std::any_of(recurrence.outputs.begin(), recurrence.outputs.end(),
                       is);
  };
  for (DType dtype : byExactness) {
    if (has(dtype)) {
      return dtype;
    }
  }
  return DType::F64;
}

constexpr unsigned otherSeeds[] = {1234, 1235, 1236};

/// Cotangents of the outputs and states that the trial gives some for.
Values otherCotangents(const Trial &trial, unsigned seed) {
  Values cotangents = drawCotangents(*trial.recurrence, trial.call, seed);
  std::erase_if(cotangents.outputs, [&](const auto &entry) {
    return !trial.cotangents.outputs.contains(entry.first);
  });
  std::erase_if(cotangents.finalStates, [&](const auto &entry) {
    return !trial.cotangents.finalStates.contains(entry.first);
  });
  return cotangents;
}

void addSquares(const Array &array, Array &sum) {
  sum.sizes = array.sizes;
  sum.values.resize(array.values.size());
  for (std::size_t i = 0; i < array.values.size(); ++i) {
    sum.values[i] += array.values[i] * array.values[i];
  }
}

/// How large gradients of the head and scalar inputs that want one are, over
/// other cotangents of the same outputs and states: root mean squares.
Arrays otherGradients(const Trial &trial, const Call &call) {
  const Recurrence &recurrence = *trial.recurrence;
  auto wanted = [&](const Input &input) {
    return input.role != Role::Token &&
           std::count(trial.gradients.begin(), trial.gradients.end(),
                      input.name) > 0;
  };
  if (std::none_of(recurrence.inputs.begin(), recurrence.inputs.end(),
                   wanted)) {
    return {};
  }
  Arrays result;
  for (unsigned seed : otherSeeds) {
    Values cotangents = otherCotangents(trial, seed);
    Arrays all = differentiate(recurrence, call, cotangents).inputs;
    for (const Input &input : recurrence.inputs) {
      if (wanted(input)) {
        addSquares(all.at(input.name), result[input.name]);
      }
    }
  }
  for (auto &[name, array] : result) {
    for (double &x : array.values) {
      x = std::sqrt(x / std::size(otherSeeds));
    }
  }
  return result;
}

Rows rowsOf(Role role) {
  return role == Role::Token  ? Rows::Token
         : role == Role::Head ? Rows::Head
                              : Rows::Whole;
}

/// Compares the arrays that both results have under a name.
class Comparer {
public:
  Comparer(double bound, std::vector<Comparison> &results,
           DType dtype = DType::F32)
      : bound(bound), results(results), dtype(dtype) {}
  void add(const std::string &kind, const std::string &name,
           const Arrays &kernels, const Arrays &oracle, Rows rows,
           bool hasHeads = true, const Arrays &others = {}) {
    auto actual = kernels.find(name);
    auto other = others.find(name);
    if (actual != kernels.end()) {
      results.push_back(
          {kind + ' ' + name,
           worstRow(actual->second, oracle.at(name), rows, hasHeads,
                    other == others.end() ? nullptr : &other->second, dtype),
           bound});
    }
  }

private:
  double bound;
  std::vector<Comparison> &results;
  DType dtype;
};

} // namespace

DType Trial::dtypeOf(const std::string &name) const {
  auto found = dtypes.find(name);
  return found == dtypes.end() ? dtype : found->second;
}

DType Trial::stateType(const std::string &name) const {
  DType arithmetic = spec(Direction::Forward).computeType();
  return recurrence->findState(name)->tensorType(arithmetic);
}

Call Trial::rounded() const {
  Call result = call;
  for (auto &[name, array] : result.inputs) {
    array = recurra::rounded(array, dtypeOf(name));
  }
  for (auto &[name, array] : result.initialStates) {
    array = recurra::rounded(array, stateType(name));
  }
  return result;
}

Values Trial::roundedCotangents() const {
  Values result = cotangents;
  for (auto &[name, array] : result.outputs) {
    array = recurra::rounded(array, dtypeOf(name));
  }
  for (auto &[name, array] : result.finalStates) {
    array = recurra::rounded(array, stateType(name));
  }
  return result;
}

bool Trial::backward() const {
  return !gradients.empty() &&
         !(cotangents.outputs.empty() && cotangents.finalStates.empty());
}

Spec Trial::spec(Direction direction) const {
  Spec spec;
  spec.direction = direction;
  spec.arch = arch;
  spec.extents = call.extents;
  spec.group = call.group;
  spec.packed = !call.offsets.empty();
  spec.saveCheckpoints = direction == Direction::Forward && backward();
  for (const Input &input : recurrence->inputs) {
    spec.dtypes[input.name] = dtypeOf(input.name);
  }
  bool forward = direction == Direction::Forward;
  for (const Output &output : recurrence->outputs) {
    spec.dtypes[output.name] = dtypeOf(output.name);
    if (forward || cotangents.outputs.count(output.name)) {
      spec.outputs.push_back(output.name);
    }
  }
  for (const State &state : recurrence->states) {
    if (call.initialStates.count(state.name)) {
      spec.initialStates.push_back(state.name);
    }
    if (forward || cotangents.finalStates.count(state.name)) {
      spec.finalStates.push_back(state.name);
    }
  }
  spec.gradients = forward ? std::vector<std::string>() : gradients;
  return spec;
}

TrialResult runKernels(const Trial &trial, const recurra_host *host) {
  Tensors forward, backward;
  launchDirection(trial, Direction::Forward, forward, host);
  TrialResult result;
  result.values = {collect(forward, "output"), collect(forward, "final_state")};
  if (trial.backward()) {
    for (const auto &[key, tensor] : forward) {
      if (key.starts_with("checkpoint ")) {
        backward.emplace(key, tensor);
      }
    }
    launchDirection(trial, Direction::Backward, backward, host);
    result.gradients = {collect(backward, "input_gradient"),
                        collect(backward, "initial_state_gradient")};
  }
  return result;
}

TrialResult runOracle(const Trial &trial) {
  Call call = trial.rounded();
  TrialResult result;
  result.values = evaluate(*trial.recurrence, call);
  if (trial.backward()) {
    result.gradients =
        differentiate(*trial.recurrence, call, trial.roundedCotangents());
    result.otherGradients = otherGradients(trial, call);
  }
  return result;
}

std::vector<Comparison> compare(const Trial &trial, const TrialResult &kernels,
                                const TrialResult &oracle) {
  std::vector<Comparison> results;
  DType dtype = leastExact(trial);
  Comparer values(errorBound(dtype, false), results);
  for (const Output &output : trial.recurrence->outputs) {
    values.add("output", output.name, kernels.values.outputs,
               oracle.values.outputs, Rows::Token);
  }
  auto ofState = [&](const State &state, bool gradient) {
    DType own = trial.stateType(state.name);
    return Comparer(
        std::max(errorBound(dtype, gradient), errorBound(own, gradient)),
        results, own);
  };
  for (const State &state : trial.recurrence->states) {
    ofState(state, false)
        .add("final state", state.name, kernels.values.finalStates,
             oracle.values.finalStates, Rows::State);
  }
  Comparer gradients(errorBound(dtype, true), results);
  for (const Input &input : trial.recurrence->inputs) {
    gradients.add("gradient", input.name, kernels.gradients.inputs,
                  oracle.gradients.inputs, rowsOf(input.role),
                  input.sharing != Sharing::All, oracle.otherGradients);
  }
  for (const State &state : trial.recurrence->states) {
    ofState(state, true)
        .add("gradient of initial state", state.name,
             kernels.gradients.initialStates, oracle.gradients.initialStates,
             Rows::State);
  }
  return results;
}

std::string toText(const Comparison &comparison) {
  char text[256];
  std::snprintf(text, sizeof(text),
                "%s: error %.2g %s %.2g at batch %ld, token %ld, head %ld",
                comparison.what.c_str(), comparison.worst.error,
                comparison.passed() ? "within" : "exceeds", comparison.bound,
                static_cast<long>(comparison.worst.batch),
                static_cast<long>(comparison.worst.token),
                static_cast<long>(comparison.worst.head));
  return text;
}

} // namespace recurra
