// Declarations and statements: each fills one entry of the recurrence.
// SPDX-License-Identifier: Apache-2.0
#include "dsl/Builder.h"

#include "dsl/Draft.h"

#include <algorithm>
#include <iostream>

namespace recurra::dsl {
namespace {

std::vector<std::string> namesOf(const std::vector<Axis> &axes) {
  std::vector<std::string> names;
  names.reserve(axes.size());
  for (const Axis &axis : axes) {
    names.push_back(axis.name);
  }
  return names;
}

void checkAxes(const Recurrence &recurrence, const Name &name,
               const std::vector<Axis> &axes) {
  for (const Axis &axis : axes) {
    bool declared =
        std::any_of(recurrence.axes.begin(), recurrence.axes.end(),
                    [&](const Axis &known) { return known.name == axis.name; });
    if (!declared) {
      throw UserError(name.location,
                      "'" + name.text + "' has the unknown axis '" + axis.name +
                          "'; axes are declared in the recurrence that uses "
                          "them; add r.axis(\"" +
                          axis.name + "\")");
    }
  }
}

/// Axes of `value` in the order in which the recurrence declares them.
std::vector<std::string> declaredOrder(const Recurrence &recurrence,
                                       const NodeRef &value) {
  std::vector<std::string> order;
  for (const Axis &axis : recurrence.axes) {
    if (std::count(value->axes.begin(), value->axes.end(), axis.name) != 0) {
      order.push_back(axis.name);
    }
  }
  return order;
}

void addOutput(Draft &draft, const Name &name, const Operand &value,
               const std::vector<std::string> &axes, bool optional) {
  checkName(draft.recurrence, name.text, name.location);
  Output output;
  output.name = name.text;
  output.axes = axes;
  output.value = value.value.node;
  output.optional = optional;
  output.location = name.location;
  draft.recurrence.outputs.push_back(std::move(output));
}

void checkValue(const Draft &draft, const Name &name, const Operand &value) {
  if (!value.value.node) {
    throw UserError(name.location,
                    "'" + name.text +
                        "' is given an empty Expr; a value must be defined "
                        "before it is used; assign to it first");
  }
  if (value.value.draft && value.value.draft.get() != &draft) {
    throw UserError(name.location,
                    "'" + name.text + "' is given a value of recurrence '" +
                        value.value.draft->recurrence.name +
                        "'; a recurrence reads its own values only; declare "
                        "the value in this one");
  }
}

void checkRepeat(int n, const SourceLocation &location) {
  if (n < 1 || n > 16) {
    throw UserError(location, "repeat(" + std::to_string(n) +
                                  "); statements are repeated 1 to 16 times; "
                                  "choose such a number");
  }
}

/// What a declaration's options said.
struct Options {
  std::vector<Fact> facts;
  Sharing sharing = Sharing::Head;
  NodeRef fallback, initial;
  std::optional<DType> dtype;

  explicit Options(const std::vector<Option> &options) {
    for (const Option &option : options) {
      std::visit([this](const auto &value) { take(value); }, option);
    }
  }
  void take(const Fact &fact) { facts.push_back(fact); }
  void take(Sharing value) { sharing = value; }
  void take(const OrElse &value) { fallback = value.value.node; }
  void take(const Initial &value) { initial = value.value.node; }
  void take(DType value) { dtype = value; }
};

} // namespace

Builder::Builder(const Name &name) : draft(std::make_shared<Draft>()) {
  checkName(draft->recurrence, name.text, name.location);
  draft->recurrence.name = name.text;
}

Axis Builder::axis(const Name &name) {
  checkName(draft->recurrence, name.text, name.location);
  draft->recurrence.axes.push_back({name.text, name.location});
  return draft->recurrence.axes.back();
}

Axis Builder::axis(const Name &name, std::int64_t size) {
  axis(name);
  Axis &fixed = draft->recurrence.axes.back();
  fixed.size = size;
  checkAxisSize(fixed);
  return fixed;
}

Expr Builder::input(Role role, const Name &name, const std::vector<Axis> &axes,
                    const std::vector<Option> &options) {
  checkName(draft->recurrence, name.text, name.location);
  checkAxes(draft->recurrence, name, axes);
  Options said(options);
  if (said.initial) {
    throw UserError(name.location,
                    "input '" + name.text +
                        "' has an initial value; only states have one; use "
                        "orElse for a default");
  }
  if (said.dtype) {
    throw UserError(name.location,
                    "input '" + name.text +
                        "' has a dtype; that of an input is its tensor's, "
                        "which may differ from call to call; leave it out");
  }
  Input input{name.text,  role,          said.sharing, namesOf(axes),
              said.facts, said.fallback, name.location};
  NodeRef read = readInput(input, input.location);
  draft->recurrence.inputs.push_back(std::move(input));
  return {read, draft};
}

State Builder::carry(const Name &name, const std::vector<Axis> &axes,
                     const std::vector<Option> &options) {
  checkName(draft->recurrence, name.text, name.location);
  checkAxes(draft->recurrence, name, axes);
  Options said(options);
  if (said.fallback || said.sharing != Sharing::Head) {
    throw UserError(name.location,
                    "state '" + name.text +
                        "' has a default or a sharing; states have facts and "
                        "an initial value; use initial(..)");
  }
  NodeRef start =
      said.initial
          ? said.initial
          : Expr(0, name.location.file.c_str(), name.location.line).node;
  draft->recurrence.states.push_back({name.text, namesOf(axes), said.facts,
                                      start, nullptr, name.location,
                                      said.dtype.value_or(DType::F32)});
  draft->latest.push_back(nullptr);
  return {draft, draft->latest.size() - 1};
}

void Builder::output(const Name &name, Arg value) {
  checkValue(*draft, name, value);
  addOutput(*draft, name, value,
            declaredOrder(draft->recurrence, value.value.node), false);
}

void Builder::output(const Name &name, Arg value, Optional) {
  output(name, value);
  draft->recurrence.outputs.back().optional = true;
}

void Builder::output(const Name &name, const std::vector<Axis> &axes,
                     Arg value) {
  checkValue(*draft, name, value);
  checkAxes(draft->recurrence, name, axes);
  addOutput(*draft, name, value, namesOf(axes), false);
}

void Builder::output(const Name &name, const std::vector<Axis> &axes, Arg value,
                     Optional) {
  output(name, axes, value);
  draft->recurrence.outputs.back().optional = true;
}

void Builder::repeat(int n, const std::function<void(int)> &body,
                     const char *file, int line) {
  checkRepeat(n, {file, line});
  for (int i = 0; i < n; ++i) {
    body(i);
  }
}

void Builder::repeat(int n, const std::function<void()> &body, const char *file,
                     int line) {
  repeat(n, [&body](int) { body(); }, file, line);
}

Recurrence Builder::finish() {
  Recurrence result = draft->recurrence;
  for (std::size_t i = 0; i < result.states.size(); ++i) {
    result.states[i].next = draft->latest[i];
  }
  shareNodes(result);
  validate(result);
  return result;
}

Recurrence define(const Name &name,
                  const std::function<void(Builder &)> &body) {
  Builder builder(name);
  body(builder);
  Recurrence result = builder.finish();
  for (const std::string &warning : result.warnings) {
    std::cerr << "warning: " << warning << "\n";
  }
  return result;
}

} // namespace recurra::dsl
