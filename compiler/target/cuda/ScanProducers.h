// The warps of a scan-form kernel that prepare tokens. Roles are layers of one
// class: all share what is known of the kernel.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cuda/ScanKernel.h"

namespace recurra::cuda {

/// Which tokens' vectors are copied.
struct ScanCopies {
  std::string half;         ///< which of two rooms takes them
  std::string token, count; ///< the first, and how many
  std::string threads;      ///< that copy
  std::string untracedIf;   ///< when those are needed that are not traced
  std::vector<std::string> firsts; ///< where the sequence's lie, if kept
};

class ScanProducers : protected ScanKernel {
protected:
  using ScanKernel::ScanKernel;

  void printProducers();
  /// Blocks take tasks in an order of their own: decays are numbers, and a
  /// segment's end has to be walked to.
  bool isOrdered() const {
    return form.isReverse && !form.isAhead && form.decay &&
           form.decay->axes.empty();
  }
  void printOrder();
  static constexpr std::int64_t mostItems = 512; ///< that are put in order
  std::string prepared(const Node *node, llvm::StringRef index);
  void printPreparedSum(const ScanOperand &sum);
  void printCopiesOf(const ScanCopies &copies);
  std::string factorText(const Node *node, int degree, bool padded);
  std::string logOf(llvm::StringRef index);

  std::string sequenceName; ///< the token whose numbers are prepared

private:
  void printCosts();
  void printUnit();
  void printReleased(), printStaged();
  std::string tokensOfStage();
  std::string beforeFirstChunk();
  void printRuns();
  const char *limitOf() const;
  void printPrefetch();
  bool keepsPointers() const;
  std::string printFirstOfTask(const ScanVector &raw);
  void printCopies();
  std::string copyText(std::size_t i, const ScanCopies &copies);
  void openCopies(llvm::ArrayRef<const ScanVector *> vectors,
                  const std::string &untracedIf);
  void printScalars();
  void printPreparedSums();
  std::string scalarText(const ScanOperand &operand);
  void printSavedPlaces();
  void printHeader();
  void printTracedVectors();
  void printVectors(bool isTraced);
  void printVectorsByEntry(bool isTraced);
  void printEntry(bool isRow, bool isTraced, const std::string &from,
                  const std::string &to);
  void printEntryStores(bool isRow, bool isTraced, bool padded);
  std::string read(const std::string &expression);

  // Segments, and the decay within.
  bool isDecayAxis(bool isRow) const {
    return form.hasVectorDecay() && form.isRow(form.decay) == isRow;
  }
  void printSegments(const std::string &step);
  void printVectorSegments(), printWholeRun(), printCutRun(), printLogOfRun();
  std::int64_t decayUnits() const { return form.interval / scanUnit; }
  std::string decayEnd() {
    return form.isRow(form.decay) ? rowsHere() : columnsHere();
  }
  void printWindow(std::int64_t x), printLogsOfWindow(std::int64_t entries);
  void printDecayPrefetch();
  void printDecayStart();
  void printDecayStep(bool padded);
  static std::string decayPower(int degree);

  // Words of outer products.
  void printParts(const std::string &name, const std::string &value,
                  std::int64_t count);
  void printRowWords(bool isTraced, bool padded);
  void printColumnWords(bool isTraced, bool padded);

  // Those of sixteen tokens at a time.
  void printFragmentValues(const std::string &name, const Node *node,
                           int degree, std::int64_t halves, bool padded);
  void printFragment(const std::string &name, std::int64_t halves,
                     const std::string &at);
  void printFragmentScales();
  void printFragments(bool isRow);

  std::map<std::string, std::string> readNames;    ///< of what was read first
  llvm::DenseMap<int, std::string> fragmentScales; ///< by their degree
};

} // namespace recurra::cuda
