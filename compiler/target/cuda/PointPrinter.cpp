// Loops over a worker's points, and their vectors in memory.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/PointPrinter.h"

#include "compiler/target/cuda/BlockPrinter.h"
#include "compiler/target/cuda/KernelPrinter.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace recurra::cuda {

constexpr std::int64_t warpsPerBlock = 4;

static std::string text(std::int64_t number) { return std::to_string(number); }

PointPrinter::PointPrinter(func::FuncOp function, chunk::ForallOp forall,
                           const PointForm &form, Nest &nest,
                           const cpu::AxisOrder &order)
    : function(function), forall(forall), form(form), nest(nest),
      f(forall, order) {
  f.memory = this;
  f.layout.lane = form.axis;
  f.layout.lanes = form.lanes;
  f.layout.width = form.width;
  f.layout.cuts = form.cuts;
  f.layout.first = f.text.name("first");
  share = f.text.name("share");
  head = f.text.name("head");
  row = f.text.name("row");
  isMine = f.text.name("isMine");
  base = f.text.name("base");
  token = f.text.name("token");
  isHere = f.text.name("isHere");
  next = f.text.name("next");
  apart = f.text.name("apart");
}

std::string PointPrinter::print() {
  printHead();
  f.text.line("const int lane = threadIdx.x % 32;");
  printBuffers(function, f);
  findAccesses();
  printShare();
  printLoops();
  f.text.close();
  nest.tasks = {"B", "T", "H", text(form.cuts)};
  nest.warps = warpsPerBlock;
  nest.workersPerBlock = warpsPerBlock * form.perWarp();
  return f.text.str();
}

void PointPrinter::printHead() {
  f.text.line("");
  std::string vectors = form.rows == 1 ? "" : text(form.rows) + " times ";
  f.text.comment(
      "No token knows of another. For each of N, H, T" +
      (form.cuts > 1 ? " and " + text(form.cuts) + " cuts of " + form.axis.str()
                     : std::string()) +
      ": " + text(form.lanes) + " lanes" +
      (form.axis ? ", in each of them " + vectors + text(form.width) +
                       " neighbours along " + form.axis.str()
                 : std::string()) +
      "; " + text(form.ahead) + " loaded ahead.");
  f.text.line("extern \"C\" __global__ void __launch_bounds__(" +
              text(32 * warpsPerBlock) + ")");
  f.text.open(nest.entry +
              "(const __grid_constant__ Buffers buffers,\n        const "
              "__grid_constant__ Shape shape, Index tasks, char *scratch)");
}

//===----------------------------------------------------------------------===//
// Shares
//===----------------------------------------------------------------------===//

/// The worker's share, and whether all rows of tokens follow each other.
void PointPrinter::printShare() {
  std::string areOne;
  llvm::StringSet<> seen;
  auto add = [&](Operation *op) {
    const Access &access = accesses[op];
    if (!access.tokenStride.empty() && seen.insert(access.buffer).second) {
      areOne += (areOne.empty() ? "" : " && ") +
                ("rowsFollow(" + access.buffer + ", shape)");
    }
  };
  llvm::for_each(form.loads, add);
  llvm::for_each(form.stores, add);
  std::string perWarp = text(form.perWarp());
  std::string warp = f.text.name("firstWorker"), areAll = f.text.name("areOne");
  f.text.line("const unsigned " + warp + " = (blockIdx.x * " +
              text(warpsPerBlock) + " + threadIdx.x / 32) * " + perWarp + ";");
  f.text.line("const bool " + areAll + " = " + areOne + ";");
  f.text.line("const Share " + share + " = shareOut(shape, shape.heads" +
              (form.cuts > 1 ? " * " + text(form.cuts) : "") + ", " + areAll +
              ",\n      " + warp + " + lane / " + text(form.lanes) +
              ", gridDim.x * " + text(warpsPerBlock * form.perWarp()) + ");");
}

/// All workers of a warp take part in every turn: they exchange sums.
void PointPrinter::printLoops() {
  std::string heads = f.text.name("heads"), rows = f.text.name("rows");
  std::string cut = f.text.name("cut");
  std::string all =
      "shape.heads" + (form.cuts > 1 ? " * " + text(form.cuts) : "");
  f.text.open("for (Index " + heads + " = 0; " + heads + " < " + all + "; " +
              heads + " += " + share + ".heads)");
  f.text.line("const Index " + cut + " = " + heads + " + " + share + ".head;");
  std::string by = text(form.cuts);
  f.text.line("const Index " + head + " = " + cut +
              (form.cuts > 1 ? " / " + by : "") + ";");
  f.text.line("const int " + f.layout.first + " = (" +
              (form.cuts > 1 ? "(int)(" + cut + " % " + by + ") * " +
                                   text(form.lanes) + " + "
                             : "") +
              "lane % " + text(form.lanes) + ") * " + text(form.width) + ";");
  f.text.open("for (Index " + rows + " = 0; " + rows + " < " + share +
              ".allRows; " + rows + " += " + share + ".rows)");
  f.text.line("const Index " + row + " = " + rows + " + " + share + ".row;");
  std::string busy =
      form.perWarp() * form.lanes < 32
          ? "lane < " + text(form.perWarp() * form.lanes) + " && "
          : "";
  f.text.line("const bool " + isMine + " = " + busy + share + ".isMine && " +
              cut + " < " + all + " && " + row + " < " + share + ".allRows;");
  printPointers();
  printWords(/*ofToken=*/false);
  printTokens();
  f.text.close();
  f.text.close();
}

void PointPrinter::openPoints() {
  if (form.ahead > 1) {
    f.text.line("#pragma unroll");
    f.text.open("for (int " + next + " = 0; " + next + " < " +
                text(form.ahead) + "; ++" + next + ")");
  } else {
    f.text.open("");
  }
  f.text.line("const Index " + token + " = " + base + " + " + share + ".token" +
              (form.ahead > 1 ? " + " + next + " * (Index)" + apart : "") +
              ";");
  f.text.line("const bool " + isHere + " = " + isMine + " && " + token + " < " +
              share + ".end;");
}

void PointPrinter::closePoints() { f.text.close(); }

/// Its tokens are those that the worker visits already.
bool PointPrinter::loop(chunk::ForOp op, ArrayRef<Home>) {
  BlockPrinter(f, op.getBlock()).print();
  return true;
}

void PointPrinter::printTokens() {
  std::string step = (form.ahead > 1 ? text(form.ahead) + " * (Index)" : "") +
                     share + ".tokens";
  f.text.open("for (Index " + base + " = " + share + ".begin; " + base + " < " +
              share + ".end; " + base + " += " + step + ")");
  f.text.line("const unsigned " + apart + " = opaque(" + share + ".tokens);");
  printWords(/*ofToken=*/true);
  openPoints();
  BlockPrinter(f, forall.getBlock()).print();
  closePoints();
  printAdvance();
  f.text.close();
}

} // namespace recurra::cuda
