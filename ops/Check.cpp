// Each check builds a mask of the elements that break a rule and names the
// first of them.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Check.h"

#include <ATen/ATen.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace recurra {
namespace {

std::string titleOf(const Argument &argument) {
  switch (argument.kind) {
  case Argument::InitialState:
    return "initial_state '" + argument.name + "'";
  case Argument::Checkpoint:
    return "checkpoint of state '" + argument.name + "'";
  case Argument::OutputCotangent:
    return "gradient of output '" + argument.name + "'";
  case Argument::FinalStateCotangent:
    return "gradient of final_state '" + argument.name + "'";
  case Argument::Output:
    return "output '" + argument.name + "'";
  case Argument::FinalState:
    return "final_state '" + argument.name + "'";
  case Argument::InputGradient:
    return "gradient of '" + argument.name + "'";
  case Argument::InitialStateGradient:
    return "gradient of initial_state '" + argument.name + "'";
  default:
    return "'" + argument.name + "'";
  }
}

/// "batch 0, token 3, head 1, entry [7]"
std::string placeOf(const Argument &argument, const at::Tensor &index) {
  std::string place, entry;
  for (std::size_t i = 0; i < argument.shape.size(); ++i) {
    const std::string &symbol = argument.shape[i];
    std::string number = std::to_string(
        index[static_cast<std::int64_t>(i)].item<std::int64_t>());
    if (std::isdigit(static_cast<unsigned char>(symbol[0]))) {
      entry += (entry.empty() ? "" : ", ") + number;
      continue;
    }
    std::string word = symbol == "B"   ? "batch "
                       : symbol == "T" ? "token "
                       : symbol == "N" ? "sequence "
                       : symbol == "S" ? "slot "
                                       : "head ";
    place += (place.empty() ? "" : ", ") + word + number;
  }
  if (!entry.empty()) {
    place += (place.empty() ? "entry [" : ", entry [") + entry + "]";
  }
  return place.empty() ? "its only entry" : place;
}

/// Throws if `broken` holds anywhere. `rule` is what was broken and the remedy.
void report(const Recurrence &recurrence, const Argument &argument,
            const at::Tensor &value, const at::Tensor &broken,
            const std::string &rule) {
  if (!broken.any().item<bool>()) {
    return;
  }
  at::Tensor index = broken.nonzero()[0];
  at::Tensor entry = value;
  for (std::int64_t i = 0; i < index.size(0); ++i) {
    // A mask may have reduced an axis to size 1; its first entry is shown.
    entry = entry.select(0, index[i].item<std::int64_t>());
  }
  double number = entry.item<double>();
  TORCH_CHECK_VALUE(false, "RECURRA_CHECK: ", recurrence.name, ": ",
                    titleOf(argument), " is ",
                    std::isnan(number) ? std::abs(number) : number, " at ",
                    placeOf(argument, index), "; ", rule);
}

void checkNan(const Recurrence &recurrence, const Argument &argument,
              const at::Tensor &value) {
  report(recurrence, argument, value, value.isnan(),
         "no tensor may hold a NaN; look at what made it");
}

/// Rounding of the inputs' own dtype is no breach of "norm 1".
double normTolerance(at::ScalarType type) {
  return type == at::kBFloat16 ? 2e-2 : type == at::kHalf ? 3e-3 : 1e-4;
}

void checkUnit(const Recurrence &recurrence, const Argument &argument,
               const at::Tensor &value, const std::vector<std::string> &axes,
               const std::string &axis) {
  auto place = std::find(axes.begin(), axes.end(), axis) - axes.begin();
  std::int64_t dim =
      value.dim() - static_cast<std::int64_t>(axes.size()) + place;
  at::Tensor norm = value.to(at::kDouble).square().sum({dim}, true).sqrt();
  // A row of zeros is what a norm leaves of padding.
  at::Tensor broken = ((norm - 1).abs() > normTolerance(value.scalar_type()))
                          .logical_and(norm != 0);
  report(recurrence, argument, norm, broken,
         "its definition states an l2 norm of 1 over " + axis +
             " (the number is the norm); normalise it first");
}

void checkFact(const Recurrence &recurrence, const Argument &argument,
               const at::Tensor &value, const std::vector<std::string> &axes,
               const Fact &fact) {
  std::ostringstream range;
  range << "it must lie in [" << fact.low << ", " << fact.high << "]; clamp it";
  switch (fact.kind) {
  case Fact::Positive:
    return report(recurrence, argument, value, value <= 0,
                  "it must be > 0; pass exp or softplus of it");
  case Fact::NonNegative:
    return report(recurrence, argument, value, value < 0,
                  "it must be >= 0; pass softplus or sigmoid of it");
  case Fact::NonPositive:
    return report(recurrence, argument, value, value > 0,
                  "it must be <= 0, as the log of a decay; pass logsigmoid or "
                  "-softplus of it");
  case Fact::Range:
    return report(recurrence, argument, value,
                  (value < fact.low).logical_or(value > fact.high),
                  range.str());
  case Fact::Unit:
    return checkUnit(recurrence, argument, value, axes, fact.axis);
  }
}

bool isWritten(const Argument &argument, Direction direction) {
  switch (argument.kind) {
  case Argument::Output:
  case Argument::FinalState:
  case Argument::InputGradient:
  case Argument::InitialStateGradient:
    return true;
  case Argument::Checkpoint:
    return direction == Direction::Forward;
  default:
    return false;
  }
}

void checkFacts(const Recurrence &recurrence, const Argument &argument,
                const at::Tensor &value) {
  if (argument.kind == Argument::Input) {
    const Input *input = recurrence.findInput(argument.name);
    for (const Fact &fact : input->facts) {
      checkFact(recurrence, argument, value, input->axes, fact);
    }
  } else if (argument.kind == Argument::InitialState) {
    const State *state = recurrence.findState(argument.name);
    for (const Fact &fact : state->facts) {
      checkFact(recurrence, argument, value, state->axes, fact);
    }
  }
}

} // namespace

bool checksEnabled() {
  const char *value = std::getenv("RECURRA_CHECK");
  return value && *value && std::strcmp(value, "0") != 0;
}

void checkGiven(const Recurrence &recurrence, const Prepared &prepared) {
  const std::vector<Argument> &arguments = prepared.kernel->arguments();
  Direction direction = prepared.kernel->direction();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    // Slots behind a short sequence's last chunk are never written.
    if (!isWritten(arguments[i], direction) &&
        arguments[i].kind != Argument::Checkpoint) {
      checkNan(recurrence, arguments[i], prepared.arguments[i]);
      checkFacts(recurrence, arguments[i], prepared.arguments[i]);
    }
  }
}

void checkComputed(const Recurrence &recurrence, const Prepared &prepared) {
  const std::vector<Argument> &arguments = prepared.kernel->arguments();
  Direction direction = prepared.kernel->direction();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (isWritten(arguments[i], direction) &&
        arguments[i].kind != Argument::Checkpoint) {
      checkNan(recurrence, arguments[i], prepared.arguments[i]);
    }
  }
}

} // namespace recurra
