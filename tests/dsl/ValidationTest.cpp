// One test per message: the user's line, the thing, the rule, the remedy.
// SPDX-License-Identifier: Apache-2.0
#include "dsl/dsl.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

using namespace recurra::dsl;
using recurra::UserError;
using testing::HasSubstr;

namespace {

/// A definition with axes K, V, a token value x over K, a parameter w, and a
/// state h over K; `body` adds what is wrong and says on which line.
struct Scene {
  Builder &r;
  Axis K, V;
  Expr x, w;
  int line = 0;
};

std::string messageOf(const std::function<void()> &run) {
  try {
    run();
  } catch (const UserError &error) {
    return error.what();
  }
  return "no error";
}

void expectError(const std::function<void(Scene &)> &body,
                 const std::vector<std::string> &parts) {
  int line = 0;
  std::string message = messageOf([&] {
    define("scene", [&](Builder &r) {
      Axis K = r.axis("K"), V = r.axis("V");
      Scene scene{r, K, V, r.token("x", {K}), r.head("w", {V})};
      try {
        body(scene);
      } catch (...) {
        line = scene.line;
        throw;
      }
      line = scene.line;
    });
  });
  std::string place = std::string(__FILE__) + ":" + std::to_string(line) + ": ";
  EXPECT_THAT(message, testing::StartsWith(place));
  for (const std::string &part : parts) {
    EXPECT_THAT(message, HasSubstr(part));
  }
}

TEST(Validation, UnknownAxisOfADeclaration) {
  expectError(
      [](Scene &s) {
        Axis Q{"Q", {}};
        s.line = __LINE__ + 1;
        s.r.token("y", {Q});
      },
      {"'y' has the unknown axis 'Q'", "axes are declared", "r.axis(\"Q\")"});
}

TEST(Validation, UnknownAxisOfAnOperator) {
  expectError(
      [](Scene &s) {
        Axis Q{"Q", {}};
        s.line = __LINE__ + 1;
        Expr y = rename(s.x, s.K, Q);
        s.r.output("o", {s.K}, s.x * sum(y, Q));
      },
      {"'rename' has the unknown axis 'Q'", "declared", "add"});
}

TEST(Validation, AxisSummedTwice) {
  int first = __LINE__ + 4;
  expectError(
      [](Scene &s) {
        // The first sum stands on the next line but one.

        Expr y = sum(s.x, s.K);
        s.line = __LINE__ + 1;
        sum(y * s.w, s.K);
      },
      {"sum over axis 'K' of a value with axes {V}", "was reduced already at",
       ":" + std::to_string(first + 1), "remove one"});
}

TEST(Validation, AxisSummedThatIsAbsent) {
  expectError(
      [](Scene &s) {
        s.line = __LINE__ + 1;
        mean(s.w, s.K);
      },
      {"mean over axis 'K' of a value with axes {V}", "must have the axis",
       "multiply by a value over K"});
}

TEST(Validation, RenameToAnAxisThatIsThere) {
  expectError(
      [](Scene &s) {
        s.line = __LINE__ + 1;
        rename(s.x * s.w, s.K, s.V);
      },
      {"rename of axis 'K' to 'V'", "must be absent", "sum over"});
}

TEST(Validation, FixedSizeBelowOne) {
  expectError(
      [](Scene &s) {
        s.line = __LINE__ + 1;
        s.r.axis("R", 0);
      },
      {"axis 'R' has the size 0", "at least 1", "leave it out"});
}

TEST(Validation, EntryBeyondAFixedSize) {
  expectError(
      [](Scene &s) {
        Axis R = s.r.axis("R", 2);
        Expr y = s.r.token("y", {R});
        s.line = __LINE__ + 1;
        Expr third = y.at(R, 2);
        s.r.output("o", third);
      },
      {"at(R, 2) of an axis declared with 2 entries", "count from 0",
       "name a smaller one"});
}

TEST(Validation, StateNeverRead) {
  expectError(
      [](Scene &s) {
        s.line = __LINE__ + 1;
        State h = s.r.state("h", {s.K});
        h = h + s.x;
        s.r.output("o", s.x);
      },
      {"state 'h' is never read", "must reach an output", "read it"});
}

TEST(Validation, StateReadOnlyAfterItsUpdateCarriesNothing) {
  expectError(
      [](Scene &s) {
        s.line = __LINE__ + 1;
        State h = s.r.state("h", {s.K});
        h = 2 * s.x;
        s.r.output("o", h);
      },
      {"state 'h' is never read", "plain Expr"});
}

TEST(Validation, StateNeverUpdated) {
  expectError(
      [](Scene &s) {
        s.line = __LINE__ + 1;
        State h = s.r.state("h", {s.K});
        s.r.output("o", h + s.x);
      },
      {"state 'h' is never updated", "changes from token to token",
       "assign to it"});
}

TEST(Validation, UpdateWithAMissingAxis) {
  expectError(
      [](Scene &s) {
        State M = s.r.state("M", {s.K, s.V});
        s.line = __LINE__ + 1;
        M = s.x;
      },
      {"state 'M' has axes {K, V} but its update has {K}", "must agree",
       "multiply by a value over {V}, or declare M over {K}"});
}

TEST(Validation, UpdateWithAnExtraAxis) {
  expectError(
      [](Scene &s) {
        State h = s.r.state("h", {s.K});
        s.line = __LINE__ + 1;
        h += s.x * s.w;
      },
      {"state 'h' has axes {K} but its update has {K, V}", "sum over {V}"});
}

TEST(Validation, OutputWithAMissingAxis) {
  expectError(
      [](Scene &s) {
        s.line = __LINE__ + 1;
        s.r.output("o", {s.K, s.V}, s.x);
      },
      {"output 'o' is declared over {K, V} but its value has axes {K}",
       "must agree", "multiply by a value"});
}

TEST(Validation, DuplicateName) {
  expectError(
      [](Scene &s) {
        s.line = __LINE__ + 1;
        s.r.token("x", {});
      },
      {"'x' is declared already at", "distinct names", "rename one"});
  expectError(
      [](Scene &s) {
        s.line = __LINE__ + 1;
        s.r.output("K", s.x);
      },
      {"'K' is declared already at"});
}

TEST(Validation, ValueUsedBeforeItIsDefined) {
  expectError(
      [](Scene &s) {
        Expr later;
        s.line = __LINE__ + 1;
        s.x + later;
      },
      {"an empty Expr is used", "before it is used", "assign to it"});
  expectError(
      [](Scene &s) {
        Expr later;
        State h = s.r.state("h", {s.K});
        s.line = __LINE__ + 1;
        h = later;
      },
      {"state 'h' is updated with an empty Expr"});
  expectError(
      [](Scene &s) {
        Expr later;
        s.line = __LINE__ + 1;
        s.r.output("o", later);
      },
      {"'o' is given an empty Expr"});
}

TEST(Validation, ValueOfAnotherRecurrence) {
  Expr kept;
  define("other", [&](Builder &r) {
    kept = r.token("y", {});
    r.output("o", kept);
  });
  expectError(
      [&](Scene &s) {
        s.line = __LINE__ + 1;
        s.x *kept;
      },
      {"a value of recurrence 'other' is used in 'scene'", "its own values",
       "declare"});
  expectError(
      [&](Scene &s) {
        s.line = __LINE__ + 1;
        s.r.output("o", kept);
      },
      {"'o' is given a value of recurrence 'other'"});
  expectError(
      [&](Scene &s) {
        State h = s.r.state("h", {});
        s.line = __LINE__ + 1;
        h = kept;
      },
      {"state 'h' is updated with a value of recurrence 'other'"});
}

TEST(Validation, PreviousOfWhatIsNoTokenValue) {
  expectError(
      [](Scene &s) {
        s.line = __LINE__ + 1;
        previous(s.w);
      },
      {"same at every token", "takes a token's value", "use the value itself"});
}

TEST(Validation, PreviousWithoutAName) {
  expectError(
      [](Scene &s) {
        s.line = __LINE__ + 1;
        previous(s.x * s.w);
      },
      {"without a name", "needs one", "previous(x, \"x\")"});
}

TEST(Validation, OutputThatIsNoTokenValue) {
  expectError(
      [](Scene &s) {
        s.line = __LINE__ + 1;
        s.r.output("o", s.w * 2);
      },
      {"output 'o' is the same at every token", "read a token input"});
}

TEST(Validation, InitialValueThatVariesByToken) {
  expectError(
      [](Scene &s) {
        s.line = __LINE__ + 1;
        State h = s.r.state("h", {s.K}, initial(s.x));
        h = h + s.x;
        s.r.output("o", h);
      },
      {"initial value of state 'h' reads 'x'", "before any token",
       "head or scalar"});
}

TEST(Validation, InitialValueWithAnExtraAxis) {
  expectError(
      [](Scene &s) {
        s.line = __LINE__ + 1;
        State h = s.r.state("h", {s.K}, initial(s.w));
        h = h + s.x;
        s.r.output("o", h);
      },
      {"initial value of state 'h' has axes {V} but the state {K}"});
}

TEST(Validation, DefaultThatIsNoNumber) {
  expectError(
      [](Scene &s) {
        s.line = __LINE__ + 1;
        s.r.scalar("p", orElse(sum(s.w, s.V)));
        s.r.output("o", s.x);
      },
      {"input 'p' reads 'w'", "a default is a number", "constants"});
}

TEST(Validation, BadNames) {
  for (const char *name : {"", "2x", "a-b", "a b", "\xc3\xa9"}) {
    expectError(
        [name](Scene &s) {
          s.line = __LINE__ + 1;
          s.r.token(name, {});
        },
        {"'" + std::string(name) + "' is no name", "letters", "rename it"});
  }
  for (const char *name : {"exp", "max", "token", "next"}) {
    expectError(
        [name](Scene &s) {
          s.line = __LINE__ + 1;
          s.r.axis(name);
        },
        {"is a word of the language"});
  }
}

TEST(Validation, EntryOutOfRange) {
  for (int index : {-1, 16}) {
    expectError(
        [index](Scene &s) {
          s.line = __LINE__ + 1;
          s.x.at(s.K, index);
        },
        {"at(K, " + std::to_string(index) + ")", "0 to 15"});
  }
}

TEST(Validation, RepeatOutOfRange) {
  for (int n : {0, 17}) {
    expectError(
        [n](Scene &s) {
          s.line = __LINE__ + 1;
          s.r.repeat(n, [](int) {});
        },
        {"repeat(" + std::to_string(n) + ")", "1 to 16 times"});
  }
}

TEST(Validation, InfiniteConstants) {
  double infinity = std::numeric_limits<double>::infinity();
  for (double value : {infinity, -infinity, std::nan("")}) {
    expectError(
        [value](Scene &s) {
          s.line = __LINE__ + 1;
          s.r.scalar("p", orElse(value));
        },
        {"infinite or NaN", "constants are finite", "-1e30"});
  }
}

TEST(Validation, ComparisonAsANumber) {
  expectError(
      [](Scene &s) {
        s.line = __LINE__ + 1;
        (s.x < 0) * 2;
      },
      {"a comparison is used as a number by '*'", "only select reads one",
       "select(condition, 1, 0)"});
  expectError(
      [](Scene &s) {
        s.line = __LINE__ + 1;
        s.r.output("o", s.x < 0);
      },
      {"a comparison is used as a value"});
}

TEST(Validation, ConditionThatIsANumber) {
  expectError(
      [](Scene &s) {
        s.line = __LINE__ + 1;
        select(s.x, 1, 0);
      },
      {"the condition of select is a number", "must be a comparison"});
}

TEST(Validation, NoOutput) {
  std::string message =
      messageOf([] { define("none", [](Builder &r) { r.token("x", {}); }); });
  EXPECT_EQ(message, "recurrence 'none' has no output; a call returns at least "
                     "one; add r.output");
}

TEST(Validation, FactsThatDoNotFit) {
  expectError(
      [](Scene &s) {
        s.line = __LINE__ + 1;
        s.r.token("y", {s.K}, unit(s.V));
        s.r.output("o", s.x);
      },
      {"input 'y' is declared unit over axis 'V'", "{K}"});
  expectError(
      [](Scene &s) {
        s.line = __LINE__ + 1;
        s.r.token("y", {s.K}, range(1, 1));
        s.r.output("o", s.x);
      },
      {"input 'y' has an empty range", "below its high end"});
}

TEST(Validation, OptionsThatDoNotFit) {
  expectError(
      [](Scene &s) {
        s.line = __LINE__ + 1;
        s.r.token("y", {}, initial(1));
      },
      {"input 'y' has an initial value", "only states", "orElse"});
  expectError(
      [](Scene &s) {
        s.line = __LINE__ + 1;
        s.r.state("h", {}, perGroup);
      },
      {"state 'h' has a default or a sharing"});
  expectError(
      [](Scene &s) {
        s.line = __LINE__ + 1;
        s.r.scalar("p", perGroup);
        s.r.output("o", s.x);
      },
      {"input 'p' is a scalar with axes or a sharing", "one number", "r.head"});
}

TEST(Validation, DtypeThatAStateCannotHave) {
  expectError(
      [](Scene &s) {
        s.line = __LINE__ + 1;
        State h = s.r.state("h", {s.K}, DType::F64);
        h = h + s.x;
        s.r.output("o", h);
      },
      {"state 'h' has the dtype 'f64'", "are f32, f16 or bf16",
       "name one of the three"});
}

TEST(Validation, DtypeOfAnInput) {
  expectError(
      [](Scene &s) {
        s.line = __LINE__ + 1;
        s.r.token("y", {s.K}, DType::BF16);
      },
      {"input 'y' has a dtype", "is its tensor's", "leave it out"});
}

TEST(Validation, AxisListedTwice) {
  expectError(
      [](Scene &s) {
        s.line = __LINE__ + 1;
        s.r.token("y", {s.K, s.K});
        s.r.output("o", s.x);
      },
      {"input 'y' lists axis 'K' twice", "distinct"});
}

// Lines.

TEST(Lines, EveryOperatorKnowsItsOwn) {
  int first = __LINE__ + 3;
  Recurrence sum3 = define("lines", [](Builder &r) {
    Expr x = r.token("x", {});
    Expr a = x + 1;
    Expr b = exp(a);
    Expr c = a //
             * b;
    Expr d = select(a < b, c, 2.0);
    r.output("o", d);
  });
  const recurra::NodeRef &d = sum3.outputs[0].value;
  EXPECT_EQ(d->location.file, __FILE__);
  EXPECT_EQ(d->location.line, first + 4);
  const recurra::NodeRef &c = d->operands[1];
  EXPECT_EQ(c->location.line, first + 2);
  EXPECT_EQ(c->operands[0]->location.line, first);
  EXPECT_EQ(c->operands[1]->location.line, first + 1);
  EXPECT_EQ(sum3.outputs[0].location.line, first + 5);
  EXPECT_EQ(sum3.inputs[0].location.line, first - 1);
}

/// The copy assignment of a class knows no line; an update must.
TEST(Lines, AssignmentFromAStateIsAnUpdateThatKnowsItsOwn) {
  expectError(
      [](Scene &s) {
        State M = s.r.state("M", {s.K, s.V}), h = s.r.state("h", {s.K});
        s.line = __LINE__ + 1;
        M = h;
      },
      {"state 'M' has axes {K, V} but its update has {K}"});
}

TEST(Lines, AssignmentFromAStateUpdates) {
  Recurrence swap = define("swap", [](Builder &r) {
    Expr x = r.token("x", {});
    State a = r.state("a", {}), b = r.state("b", {});
    Expr old = a;
    a = b;
    b = old + x;
    r.output("o", a + b);
  });
  EXPECT_EQ(swap.states[0].next->op, recurra::Op::State);
  EXPECT_EQ(swap.states[0].next->name, "b");
  EXPECT_EQ(swap.states[1].next->op, recurra::Op::Add);
}

TEST(Lines, CompoundAssignments) {
  int line = __LINE__ + 4;
  Recurrence all = define("all", [](Builder &r) {
    Expr x = r.token("x", {});
    State h = r.state("h", {}, initial(1));
    h *= x;
    h += 2;
    h -= x;
    h /= 4;
    r.output("o", h);
  });
  const recurra::Node *node = all.states[0].next.get();
  for (auto [op, place] : {std::pair(recurra::Op::Div, line + 3),
                           {recurra::Op::Sub, line + 2},
                           {recurra::Op::Add, line + 1},
                           {recurra::Op::Mul, line}}) {
    EXPECT_EQ(node->op, op);
    EXPECT_EQ(node->location.line, place);
    node = node->operands[0].get();
  }
}

/// A state cannot be copied by accident: `auto old = S;` would follow it.
TEST(Lines, StatesAreNotCopied) {
  EXPECT_FALSE(std::is_copy_constructible_v<State>);
  EXPECT_TRUE((std::is_assignable_v<State &, State &>));
  EXPECT_TRUE((std::is_assignable_v<State &, const State &>));
  EXPECT_TRUE((std::is_assignable_v<State &, Expr>));
  EXPECT_TRUE((std::is_assignable_v<State &, double>));
}

} // namespace
