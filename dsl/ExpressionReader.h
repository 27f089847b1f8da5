// Reading one expression of the canonical text.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/Recurrence.h"
#include "dsl/Tokens.h"

#include <map>

namespace recurra {

bool hasAxis(const Recurrence &recurrence, const std::string &name);

/// By recursive descent: comparison, sum, product, sign, atom. `named` holds
/// the values of lets and updates so far.
class ExpressionReader {
public:
  ExpressionReader(const Recurrence &recurrence,
                   const std::map<std::string, NodeRef> &named, TokenLine &line)
      : recurrence(recurrence), named(named), line(line) {}

  NodeRef read() { return comparison(); }

private:
  NodeRef comparison();
  NodeRef additive();
  NodeRef multiplicative();
  NodeRef unary();
  NodeRef atom();
  NodeRef call(const std::string &word);
  NodeRef value(const std::string &name);
  NodeRef number(double value);
  NodeRef binary(Op op, NodeRef left, NodeRef right);
  void axisArguments(Node &node);
  Op opOf(const std::string &word, std::size_t operands, bool axis);

  const Recurrence &recurrence;
  const std::map<std::string, NodeRef> &named;
  TokenLine &line;
};

} // namespace recurra
