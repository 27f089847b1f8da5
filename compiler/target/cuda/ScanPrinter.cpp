// What a kernel needs of operands, where they lie, and its roles.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScanPrinter.h"

#include "compiler/target/cuda/KernelPrinter.h"
#include "compiler/target/cuda/ScalarPrinter.h"
#include "compiler/target/cuda/ScanSpans.h"

using namespace mlir;

namespace recurra::cuda {

using Kind = Node::Kind;

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

void ScanPrinter::placeSums() {
  std::int64_t overColumns = llvm::count_if(values.sums, [](ScanSum &sum) {
    return sum.kind == ScanSum::OverColumns;
  });
  usesMatrix = form.isReverse && overColumns > 0;
  if (usesMatrix && overColumns > tiles.columnsPerToken()) {
    tiles.group = 1;
  }
  slots = parts = 0;
  auto place = [&](ScanSum &sum, std::int64_t size) {
    sum.slot = parts;
    parts += size;
  };
  // Those of vectors first: pairs and fours lie side by side.
  for (ScanSum &sum : values.sums) {
    if (sum.kind == ScanSum::OverColumns && usesMatrix) {
      sum.slot = slots++;
    } else if (sum.kind != ScanSum::OverBoth) {
      place(sum, 2 * (sum.kind == ScanSum::OverColumns ? tiles.rowTiles
                                                       : tiles.columnTiles));
    }
  }
  for (ScanSum &sum : values.sums) {
    if (sum.kind == ScanSum::OverBoth) {
      place(sum, 1);
    }
  }
  warpSums = matrixFloats() + tiles.group * partFloats();
  // Those who read parts of rows meet on fewest banks if warps lie four banks
  // apart; parts of columns, if two warps beside each other lie half of all.
  std::int64_t even = tiles.warpRows & -tiles.warpRows;
  warpSums = ceilDiv(warpSums, 32) * 32 +
             (usesMatrix ? 16 / std::min<std::int64_t>(4, even) : 4);
}

/// Vectors first, whole groups of four floats each, then numbers.
void ScanPrinter::placeOperands() {
  std::int64_t at = 0;
  auto place = [&](ScanOperand::Kind kind, std::int64_t size) {
    for (std::unique_ptr<ScanOperand> &operand : values.operands) {
      if (operand->kind == kind) {
        operand->offset = at;
        at += size;
      }
    }
  };
  place(ScanOperand::Row, tiles.rows());
  place(ScanOperand::Column, tiles.columns());
  values.products.offset = at;
  at += productFloats();
  at += specialFloats();
  place(ScanOperand::Scalar, 1);
  tokenFloats = ceilDiv(at, 4) * 4;
  stageFloats = 16 + scanUnit * tokenFloats;
  for (std::unique_ptr<ScanOperand> &operand : values.operands) {
    std::string hint;
    if (!operand->node) {
      hint = operand->degree == 0   ? "one"
             : operand->degree == 1 ? "G_inverse"
                                    : "G_power";
    } else if (operand->node->kind == Kind::CopyIn) {
      Value buffer = cast<chunk::LoadOp>(operand->node->op).getBuffer();
      hint = f.buffers.lookup(buffer) + "_t";
    } else {
      hint = hints.lookup(operand->node);
    }
    bool isScaled = operand->node && operand->degree != 0;
    operand->name =
        f.text.name((hint.empty() ? "x" : hint) + (isScaled ? "_scaled" : ""));
  }
  for (ScanProduct &product : values.products.list) {
    std::string what = product.isAddition ? "addition" : "product";
    product.name = f.text.name(what);
    product.right = f.text.name(what + "_right");
    product.pick = f.text.name(what + "_pick");
  }
}

void ScanPrinter::placeRaw() {
  std::function<void(const Node *, bool)> add = [&](const Node *node,
                                                    bool isTraced) {
    node = peel(node);
    bool isVector = node->kind == Kind::CopyIn && node->axes.size() == 1;
    bool isKnown = false;
    for (ScanVector &raw : raws) {
      if (isSame(raw.load, node)) {
        isKnown = true;
        raw.isTraced |= isTraced;
      }
    }
    if (isVector && !isKnown) {
      auto load = cast<chunk::LoadOp>(node->op);
      auto type = load.getBuffer().getType();
      std::int64_t bytes = type.getElement().getIntOrFloatBitWidth() / 8;
      std::int64_t width = form.isRow(node) ? tiles.rows() : tiles.columns();
      ScanVector raw{
          node, f.text.name(f.buffers.lookup(load.getBuffer()) + "_tokens"),
          ceilDiv(width * bytes, 16) * 16 / bytes, rawBytes, isTraced};
      rawBytes += ceilDiv(2 * raw.pitch * bytes * scanUnit, 128) * 128;
      raws.push_back(raw);
      isExact |= type.getElement().isF32();
    }
    for (const Node *operand : node->operands) {
      add(operand, isTraced);
    }
  };
  for (std::unique_ptr<ScanOperand> &operand : values.operands) {
    if (operand->node &&
        (operand->kind != ScanOperand::Scalar || hasSum(operand->node))) {
      add(operand->node, operand->isTraced || hasSum(operand->node));
    }
  }
  for (const ScanProduct &product : values.products.list) {
    add(product.row, product.isAddition);
    add(product.column, product.isAddition);
  }
  if (form.hasVectorDecay()) {
    add(form.decay, true);
  }
}

/// Vectors that are made of vectors alone, entry by entry.
static bool isOfVectors(const Node *node) {
  node = peel(node);
  if (node->kind == Node::Kind::Known || node->kind == Node::Kind::Constant) {
    return true;
  }
  return !node->axes.empty() && llvm::all_of(node->operands, isOfVectors);
}

/// Gives stages room for the fragments of as many tokens as fit, if all that
/// states take in is products of prepared vectors.
void ScanPrinter::placeFragments() {
  fragments = ScanFragments();
  bool isSimple =
      isInPlace && form.decay && !form.hasVectorDecay() &&
      llvm::none_of(values.operands,
                    [&](const std::unique_ptr<ScanOperand> &operand) {
                      return operand->node && hasSum(operand->node);
                    }) &&
      llvm::all_of(values.products.list, [&](const ScanProduct &product) {
        return !product.isAddition ||
               (isOfVectors(product.row) && isOfVectors(product.column));
      });
  std::int64_t needed = stageFloats;
  for (std::int64_t blocks = form.interval / scanUnit; isSimple && blocks > 0;
       --blocks) {
    ScanFragments wanted(values.products, tiles, blocks);
    stageFloats = std::max(needed, 16 + wanted.floats());
    if (sharedBytes() <= mostShared) {
      fragments = wanted;
      return;
    }
  }
  stageFloats = needed;
}

std::int64_t ScanPrinter::sharedBytes() const {
  std::int64_t floats = stageCount * stageFloats +
                        2 * tiles.computeWarps() * warpSums + zeroFloats() +
                        2 * tiles.columnTiles + logFloats() + 8;
  constexpr std::int64_t segments = 2 * 16, barriers = 4 * 8;
  return ceilDiv(4 * floats, 128) * 128 + rawBytes + segments + barriers +
         (isOrdered() ? 2 * mostItems : 0);
}

/// The degree at which a sum's weight is prepared already, else the one that
/// undoes the matrix's. Vectors of 16 bits are no less exact in a matrix
/// instruction, unless they are scaled.
int ScanPrinter::weightDegree(const ScanSum &sum, int natural) const {
  if (!sum.weight) {
    return 0;
  }
  if (form.hasVectorDecay()) {
    return values.isOverDecay(sum) ? -natural : 0;
  }
  bool has[2] = {false, false};
  for (const std::unique_ptr<ScanOperand> &operand : values.operands) {
    bool isIt = operand->node && isSame(operand->node, sum.weight);
    has[0] |= isIt && operand->degree == -natural;
    has[1] |= isIt && operand->degree == 0;
  }
  bool isExact = form.isReverse && sum.kind == ScanSum::OverColumns &&
                 ScanProducts::isExact(sum.weight);
  return isExact || (!has[0] && has[1]) ? 0 : -natural;
}

/// Backward: runs the step for the products that it asks for. What it asks for
/// besides is asked for again when they are known.
void ScanPrinter::collectProducts() {
  KernelText kept = f.text;
  ScanElement element(values, f.text, hints);
  values.products.collect();
  printProducts(element);
  printStep(element);
  values.products.choose();
  isInPlace = canStepInPlace();
  values.operands.clear();
  f.text = kept;
}

/// Runs the printers for what they ask of operands; their text is dropped.
void ScanPrinter::collect() {
  KernelText kept = f.text;
  ScanElement element(values, f.text, hints);
  printProducts(element);
  printStep(element);
  for (ScanSum &sum : values.sums) {
    sum.weightDegree = weightDegree(sum, sum.matrixDegree);
    sum.degree = sum.matrixDegree + sum.weightDegree;
  }
  placeSums();
  findTotalBalance();
  printToken();
  markTraced();
  if (form.hasVectorDecay()) {
    prepared(form.decay, "i");
  } else if (form.decay) {
    values.power(1);
    values.power(-1);
  }
  printSumsOfToken();
  printTotalsOfGroup();
  for (const ScanProduct &product : values.products.list) {
    for (auto [node, degree] :
         {std::pair(product.row, product.rowDegree),
          std::pair(product.column, product.columnDegree)}) {
      factorText(node, degree, false);
    }
  }
  // All are known now but those that these ask for.
  for (std::size_t i = 0; i < values.operands.size(); ++i) {
    ScanOperand operand = *values.operands[i];
    if (operand.node && operand.kind != ScanOperand::Scalar) {
      prepared(operand.node, "i");
      if (operand.degree != 0 && !form.hasVectorDecay()) {
        values.power(-operand.degree);
      }
    } else if (operand.node && hasSum(operand.node)) {
      collectSums(operand.node);
    }
  }
  f.text = kept;
}

/// Two stages if they fit, so that one unit is prepared while another is
/// walked. False if a block's shared memory cannot hold one either.
bool ScanPrinter::layOut() {
  for (std::int64_t count : {2, 1}) {
    stageCount = count;
    if (layOutStages()) {
      return true;
    }
  }
  return false;
}

/// Finds what the kernel needs and where it lies; products by instructions only
/// if their words fit.
bool ScanPrinter::layOutStages() {
  stateNames.assign(form.states.size(), "x");
  adjointNames.assign(form.adjoints.size(), "x");
  totalNames.assign(form.totals.size(), "x");
  parameterNames.assign(form.parameters.size(), "x");
  for (bool hasProducts : {true, false}) {
    values.operands.clear();
    values.products = {};
    isInPlace = false;
    raws.clear();
    rawBytes = 0;
    if (hasProducts && mayMultiply && !form.hasMatrixDecay) {
      collectProducts();
    }
    collect();
    placeOperands();
    placeRaw();
    if (sharedBytes() <= mostShared) {
      placeFragments();
      return true;
    }
  }
  return false;
}

/// The sums of vectors within a number are operands of their own, and so are
/// the numbers within those vectors.
void ScanPrinter::collectSums(const Node *node) {
  node = peel(node);
  if (node->kind == Kind::Reduce) {
    values.operand(node, 0);
    prepared(node->operands[0], "i");
    return;
  }
  for (const Node *operand : node->operands) {
    collectSums(operand);
  }
}

/// Sums along an axis are added up by the threads of that axis.
bool ScanPrinter::areAdded() const {
  std::function<bool(const Node *, const Axes &)> fits = [&](const Node *node,
                                                             const Axes &axes) {
    node = peel(node);
    if (form.isPrepared(node)) {
      return true;
    }
    bool isSum = node->kind == Kind::Reduce;
    if (isSum && !form.isMatrix(node->operands[0])) {
      return fits(node->operands[0], node->operands[0]->axes);
    }
    return isSum ? node->axes == axes
                 : llvm::all_of(node->operands, [&](const Node *operand) {
                     return fits(operand, axes);
                   });
  };
  return llvm::all_of(form.stores,
                      [&](Node *store) {
                        return fits(store->operands[0], store->axes);
                      }) &&
         llvm::all_of(form.totals, [&](const ScanCarry &total) {
           SmallVector<const Node *> wholes;
           findWholes(total.value, wholes);
           return fits(total.value, total.value->axes) &&
                  (total.value->axes.empty() || wholes.empty());
         });
}

bool ScanPrinter::isPrintable(std::string &why) {
  auto refuse = [&](const std::string &reason) {
    why = reason;
    return false;
  };
  if (tiles.computeWarps() > mostWalkers || !holdsMatrix()) {
    return refuse("the registers of a block do not hold a state");
  }
  if (!layOut()) {
    return refuse("the vectors of " + number(scanUnit) + " tokens need " +
                  number(sharedBytes()) + " bytes of shared memory");
  }
  if (!values.isSound()) {
    return refuse("a result needs the inverse of a decay");
  }
  std::int64_t overColumns = llvm::count_if(values.sums, [](ScanSum &sum) {
    return sum.kind == ScanSum::OverColumns;
  });
  return (overColumns <= ScanTiles::resultColumns && areAdded()) ||
         refuse("its sums do not fit the roles of a block");
}

bool ScanPrinter::hasStepsOf(const ScanPrinter &walk) const {
  auto isTheirs = [&](const ScanProduct &product) {
    return llvm::any_of(walk.values.products.list, [&](auto &other) {
      return isSameProduct(product, other) &&
             product.rowParts == other.rowParts &&
             product.columnParts == other.columnParts;
    });
  };
  // On the way forward through a run states may get sixteen tokens at a time.
  bool readsStates = llvm::any_of(form.adjoints, [&](const ScanCarry &adjoint) {
    return dependsOn(adjoint.value, [&](const Node *node) {
      return form.oldState(node) >= 0 || form.newState(node) >= 0;
    });
  });
  return isExact == walk.isExact &&
         (!readsStates || fragments.areUsed() == walk.fragments.areUsed()) &&
         values.products.list.size() == walk.values.products.list.size() &&
         llvm::all_of(values.products.list, isTheirs);
}

bool ScanPrinter::canGoAheadOf(const ScanPrinter &walk, std::string &why) {
  walkTiles = walk.tiles;
  mayMultiply = !walk.values.products.list.empty();
  return isPrintable(why) && hasStepsOf(walk);
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

std::string ScanPrinter::print(func::FuncOp function) {
  nest.entry += form.isAhead ? "_ahead" : "";
  printHead();
  printBuffers(function, f);
  f.hasParts = form.hasParts;
  if (f.hasSlots() || form.isAhead) {
    printSpanBuffers(function, f, form);
    nest.tasks.front() = form.hasParts ? "Q" : "P";
  }
  if (form.isAhead) {
    nest.tasks.insert(nest.tasks.begin(), "A");
    nest.tasks.push_back(number(f.pieces));
  }
  layOut();
  printShared();
  printOrder();
  printRoles();
  f.text.close();
  nest.warps = tiles.warps();
  nest.workersPerBlock = 1;
  nest.sharedBytes = sharedBytes();
  return f.text.str();
}

/// Each scheduler has one of every four warps. Where the last group of those
/// that walk is not full, the rest of it adds up sums, in place of warps on
/// schedulers that have one more to walk.
void ScanPrinter::printRoles() {
  std::int64_t spare = tiles.spareAdders();
  std::int64_t firstAdder = tiles.roleWarps() + tiles.producerWarps;
  if (spare > 0) {
    f.text.open("auto addUp = [&](const int thread) "
                "__attribute__((always_inline))");
    printAdders();
    f.text.close("};");
  }
  f.text.open("if (warp < " + number(tiles.roleWarps()) + ")");
  if (tiles.computeRegisters > 0) {
    f.text.line("takeRegisters<" + number(tiles.computeRegisters) + ">();");
  }
  f.text.open("if (warp < " + number(tiles.computeWarps()) + ")");
  printWalkers();
  f.text.close();
  if (spare > 0) {
    f.text.line("else if (warp < " + number(tiles.computeWarps() + spare) +
                ") addUp(threadIdx.x - " + number(32 * tiles.computeWarps()) +
                ");");
  }
  f.text.close();
  f.text.open("else");
  if (tiles.computeRegisters > 0) {
    f.text.line("giveRegisters<" + number(tiles.helperRegisters) + ">();");
  }
  f.text.open("if (warp < " + number(firstAdder) + ")");
  printProducers();
  f.text.close();
  if (tiles.adderWarps > 0) {
    f.text.open(spare > 0
                    ? "else if (warp >= " + number(firstAdder + spare) + ")"
                    : "else");
    std::string thread = "threadIdx.x - " + number(32 * firstAdder);
    if (spare > 0) {
      f.text.line("addUp(" + thread + ");");
    } else {
      f.text.line("const int thread = " + thread + ";");
      printAdders();
    }
    f.text.close();
  }
  f.text.close();
}

void ScanPrinter::printHead() {
  std::string rows = form.rows.str(), columns = form.columns.str();
  f.text.line("");
  f.text.comment(
      "One block for each sequence and head" +
      (form.slice
           ? std::string(" and slice of ") +
                 cast<chunk::SpanType>(form.slice.getType()).getAxis().str()
           : std::string()) +
      ". Rows of a matrix: " + rows + ", columns: " + columns + ".");
  f.text.comment(
      number(tiles.computeWarps()) + " warps walk, each with " +
      number(16 * tiles.rowTiles) + " x " + number(8 * tiles.columnTiles) +
      " of it; " + number(tiles.producerWarps) + " prepare vectors" +
      (form.isAhead ? "; ahead of those that walk parts."
                    : ", " + number(tiles.adderWarps) + " add up sums."));
  f.text.line("extern \"C\" __global__ void __launch_bounds__(" +
              number(32 * tiles.warps()) +
              (form.isAhead && tiles.warps() <= 8 ? ", 2)" : ", 1)"));
  f.text.open(nest.entry +
              "(const __grid_constant__ Buffers buffers,\n        const "
              "__grid_constant__ Shape shape, Index tasks, char *scratch)");
  f.text.line("const int lane = threadIdx.x % 32;");
  f.text.line("const int warp = uniform(threadIdx.x / 32);");
}

void ScanPrinter::printShared() {
  std::int64_t sums = tiles.computeWarps() * warpSums;
  f.text.comment(std::string("Shared memory: ") +
                 (stageCount == 1 ? "a stage" : "two stages") +
                 " of prepared tokens, two of partial sums.");
  f.text.line("char *const shared = sharedMemory();");
  f.text.line("float *const stages = reinterpret_cast<float *>(shared);");
  f.text.line("float *const sums = stages + " +
              number(stageCount * stageFloats) + ";");
  f.text.line("float *const zeros = sums + " + number(2 * sums) + ";");
  f.text.line("float *const ones = zeros + " + number(zeroFloats()) + ";");
  f.text.line("float *const logs = ones + " + number(2 * tiles.columnTiles) +
              ";");
  std::int64_t floats = stageCount * stageFloats + 2 * sums + zeroFloats() +
                        2 * tiles.columnTiles + logFloats();
  std::int64_t bytes = ceilDiv(4 * floats, 128) * 128;
  for (const ScanVector &raw : raws) {
    auto type = cast<chunk::LoadOp>(raw.load->op).getBuffer().getType();
    std::string element = storedName(type.getElement());
    f.text.line(element + " *const " + raw.name + " = reinterpret_cast<" +
                element + " *>(shared + " + number(bytes + raw.offset) + ");");
  }
  bytes += rawBytes;
  f.text.line("Segments *const segments = reinterpret_cast<Segments *>(shared "
              "+ " +
              number(bytes) + ");");
  f.text.line("Barrier *const staged = reinterpret_cast<Barrier *>(segments + "
              "2);");
  f.text.line("Barrier *const added = staged + 2;");
  if (isOrdered()) {
    f.text.line("unsigned short *const order = reinterpret_cast<unsigned short "
                "*>(added + 2);");
  }
  f.text.open("if (threadIdx.x < 2)");
  auto initialise = [&](StringRef event, std::int64_t warps) {
    f.text.line("initialise(" + event + " + threadIdx.x, " +
                number(32 * warps) + ");");
  };
  initialise("staged", tiles.producerWarps);
  if (tiles.adderWarps > 0) {
    initialise("added", tiles.adderWarps);
  }
  f.text.close();
  std::int64_t constants = zeroFloats() + 2 * tiles.columnTiles;
  f.text.open("for (int i = threadIdx.x; i < " + number(constants) +
              "; i += " + number(32 * tiles.warps()) + ")");
  f.text.line("zeros[i] = zeros + i < ones ? 0 : 1;");
  f.text.close();
  f.text.line("syncBlock();");
}

} // namespace recurra::cuda
