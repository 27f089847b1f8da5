// The data sets: drawn recall sequences, crops of a text file, random tokens.
// SPDX-License-Identifier: Apache-2.0
#include "models/Data.h"

#include "dsl/Error.h"
#include "models/Folder.h"
#include "models/Recall.h"

#include <torch/torch.h>

namespace recurra {
namespace {

at::Tensor toTensor(const std::vector<int64_t> &values) {
  return at::tensor(at::ArrayRef<int64_t>(values));
}

class RecallData : public DataSet {
public:
  RecallData(const DataConfig &config, uint64_t seed)
      : DataSet(config), batch(config.batch), seed(seed),
        full{config.length, config.pairs, config.vocabulary, config.powerA},
        mixture(config.pairsMixture) {}

  int64_t vocabulary() const override { return full.vocabulary; }
  Batch trainBatch(int64_t step) const override {
    Random random(seed, Random::Purpose::Train, uint64_t(step));
    const auto choices = int64_t(mixture.size());
    const int64_t pairs =
        choices == 0 ? full.pairs : mixture[random.below(choices)];
    return draw(pairs, random);
  }
  Batch validationBatch(int64_t index) const override {
    return draw(full.pairs,
                Random(seed, Random::Purpose::Validate, uint64_t(index)));
  }

private:
  /// Sequences shorter by the factor by which the pairs are fewer, and more of
  /// them: every batch has as many tokens and targets.
  Batch draw(int64_t pairs, Random random) const {
    const int64_t factor = full.pairs / pairs, rows = batch * factor;
    const RecallShape shape{full.length / factor, pairs, full.vocabulary,
                            full.powerA};
    std::vector<int64_t> tokens, targets, positions;
    for (int64_t row = 0; row < rows; ++row) {
      const RecallSequence sequence = drawRecall(shape, random);
      for (int64_t query : sequence.queries) {
        targets.push_back(sequence.tokens[query + 1]);
        positions.push_back(row * shape.length + query);
      }
      tokens.insert(tokens.end(), sequence.tokens.begin(),
                    sequence.tokens.end());
    }
    return {toTensor(tokens).view({rows, shape.length}), toTensor(targets),
            toTensor(positions)};
  }

  int64_t batch;
  uint64_t seed;
  RecallShape full;
  std::vector<int64_t> mixture;
};

/// One token per distinct byte; the last tenth of the file validates.
class TextData : public DataSet {
public:
  TextData(const DataConfig &config, uint64_t seed)
      : DataSet(config), batch(config.batch), length(config.length),
        seed(seed) {
    read(config.path);
    trainSize = int64_t(tokens.size()) * 9 / 10;
    if (int64_t(tokens.size()) - trainSize <= length) {
      throw UserError(
          "'data.path': a tenth of " + config.path +
          " is shorter than 'data.length' + 1 = " + std::to_string(length + 1) +
          " bytes, so nothing is left to validate on");
    }
  }

  int64_t vocabulary() const override { return distinct; }

  Batch trainBatch(int64_t step) const override {
    Random random(seed, Random::Purpose::Train, uint64_t(step));
    std::vector<int64_t> starts(batch);
    for (int64_t &start : starts) {
      start = random.below(trainSize - length);
    }
    return crops(starts);
  }

  Batch validationBatch(int64_t index) const override {
    // Evenly spaced crops, the same at every validation and for every seed.
    const int64_t room = int64_t(tokens.size()) - trainSize - length;
    const int64_t count = batch * validationBatches();
    std::vector<int64_t> starts(batch);
    for (int64_t row = 0; row < batch; ++row) {
      starts[row] = trainSize + room * (index * batch + row) / count;
    }
    return crops(starts);
  }

private:
  void read(const std::string &path) {
    const std::string text = readFile(path);
    bool seen[256] = {};
    for (unsigned char c : text) {
      seen[c] = true;
    }
    uint8_t code[256] = {};
    for (int c = 0; c < 256; ++c) {
      code[c] = uint8_t(distinct);
      distinct += seen[c];
    }
    tokens.reserve(text.size());
    for (unsigned char c : text) {
      tokens.push_back(code[c]);
    }
  }

  Batch crops(const std::vector<int64_t> &starts) const {
    std::vector<int64_t> inputs, targets;
    for (int64_t start : starts) {
      const auto first = tokens.begin() + start;
      inputs.insert(inputs.end(), first, first + length);
      targets.insert(targets.end(), first + 1, first + length + 1);
    }
    return {toTensor(inputs).view({batch, length}), toTensor(targets), {}};
  }

  int64_t batch, length, trainSize = 0, distinct = 0;
  uint64_t seed;
  std::vector<uint8_t> tokens;
};

/// Tokens and targets drawn at random.
class RandomData : public DataSet {
public:
  RandomData(const DataConfig &config, uint64_t seed)
      : DataSet(config), batch(config.batch), length(config.length),
        size(config.vocabulary), seed(seed) {}

  int64_t vocabulary() const override { return size; }
  Batch trainBatch(int64_t step) const override {
    return draw(Random(seed, Random::Purpose::Train, uint64_t(step)));
  }
  Batch validationBatch(int64_t index) const override {
    return draw(Random(seed, Random::Purpose::Validate, uint64_t(index)));
  }

private:
  Batch draw(Random random) const {
    std::vector<int64_t> tokens(batch * length), targets(batch * length);
    for (std::vector<int64_t> *list : {&tokens, &targets}) {
      for (int64_t &token : *list) {
        token = random.below(size);
      }
    }
    return {toTensor(tokens).view({batch, length}), toTensor(targets), {}};
  }

  int64_t batch, length, size;
  uint64_t seed;
};

} // namespace

std::unique_ptr<DataSet> makeDataSet(const DataConfig &config, uint64_t seed) {
  if (config.kind == "text") {
    return std::make_unique<TextData>(config, seed);
  }
  if (config.kind == "random") {
    return std::make_unique<RandomData>(config, seed);
  }
  return std::make_unique<RecallData>(config, seed);
}

} // namespace recurra
