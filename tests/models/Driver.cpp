// What the tests of models/ run: the trainer and the data generator as one
// command, without the rest of the command line.
// SPDX-License-Identifier: Apache-2.0
#include "models/Recall.h"
#include "models/Train.h"

#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>

using namespace recurra;

namespace {

/// train|describe CONFIG [--set KEY=VALUE].. [--output DIR] [--resume]
/// [--overwrite] [--quiet]
TrainOptions parseTrain(int count, char **words) {
  TrainOptions options;
  options.config = count > 2 ? words[2] : "";
  for (int i = 3; i < count; ++i) {
    const std::string word = words[i];
    const bool hasValue = i + 1 < count;
    if (word == "--set" && hasValue) {
      options.overrides.push_back(words[++i]);
    } else if (word == "--output" && hasValue) {
      options.output = words[++i];
    } else {
      options.resume |= word == "--resume";
      options.overwrite |= word == "--overwrite";
      options.quiet |= word == "--quiet";
    }
  }
  return options;
}

/// recall COUNT SEED LENGTH PAIRS VOCABULARY POWER_A: sequences as JSON lines.
int printRecall(char **words) {
  const RecallShape shape{std::stoll(words[4]), std::stoll(words[5]),
                          std::stoll(words[6]), std::stod(words[7])};
  Random random(std::stoull(words[3]), Random::Purpose::Train, 1);
  for (int64_t i = 0; i < std::stoll(words[2]); ++i) {
    const RecallSequence sequence = drawRecall(shape, random);
    std::cout << nlohmann::json{{"tokens", sequence.tokens},
                                {"queries", sequence.queries}}
              << "\n";
  }
  return 0;
}

} // namespace

int main(int count, char **words) {
  const std::string command = count > 1 ? words[1] : "";
  if (command == "train") {
    return int(train(parseTrain(count, words), std::cout));
  }
  if (command == "describe") {
    return int(describeModel(parseTrain(count, words), std::cout));
  }
  if (command == "recall" && count == 8) {
    return printRecall(words);
  }
  std::cerr << "usage: models-driver train|describe|recall ..\n";
  return 2;
}
