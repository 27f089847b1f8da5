// Copies, renames and loops of a block.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/BlockPrinter.h"

#include "compiler/target/cuda/TileMemory.h"

using namespace mlir;

namespace recurra::cuda {

using cpu::Node;
using Kind = Node::Kind;

BlockPrinter::BlockPrinter(KernelFrame &frame, Block &block)
    : f(frame), graph(block, frame.order) {
  for (Operation &op : block) {
    for (Value result : op.getResults()) {
      std::string name = nameOf(result);
      if (!name.empty() && isa<chunk::TileType>(result.getType())) {
        hints.try_emplace(graph.find(result), name);
      }
    }
  }
}

std::string BlockPrinter::hintOf(const Node &node, StringRef otherwise) {
  auto found = hints.find(&node);
  return found == hints.end() ? otherwise.str() : found->second;
}

void BlockPrinter::print() {
  for (cpu::Nest &nest : graph.getNests()) {
    if (nest.isAlone) {
      printAlone(*nest.nodes.front());
    } else {
      GroupPrinter(f, nest, homes, hints).print();
    }
  }
}

void BlockPrinter::printYields(ArrayRef<Home> carries) {
  for (auto [carry, node] : llvm::zip(carries, graph.getYields())) {
    const Home &home = homeOf(f, homes, node);
    if (home.name != carry.name) {
      f.copy(home, carry, node->axes);
    }
  }
}

void BlockPrinter::printAlone(Node &node) {
  switch (node.kind) {
  case Kind::CopyIn:
    return printLoad(node);
  case Kind::CopyOut:
    return printStore(node);
  case Kind::Alias:
    return printAlias(node);
  case Kind::Scan:
    return printScan(node);
  default:
    bindHomes(node);
    if (auto forall = dyn_cast<chunk::ForallOp>(node.op)) {
      return printForall(forall, 0);
    }
    return printFor(node);
  }
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void BlockPrinter::printLoad(Node &node) {
  if (!node.stored) {
    return;
  }
  auto load = cast<chunk::LoadOp>(node.op);
  bool isToken = llvm::any_of(load.getIndices(), [](Value index) {
    auto span = cast<chunk::SpanType>(index.getType());
    return span.getAxis() == "T" && span.getCapacity() == 1;
  });
  std::string hint = f.buffers.lookup(load.getBuffer());
  hint =
      hint.empty() ? nameOf(load.getResult()) : hint + (isToken ? "_t" : "_s");
  Home home = f.makeHome(hint, node.axes);
  f.declare(home, node.element);
  homes[&node] = home;
  if (f.memory && f.memory->load(load, home, node.axes)) {
    return;
  }
  MemoryView view =
      f.viewOf(load.getBuffer(), load.getIndices(), node.axes, false);
  f.load(view, home, node.axes, node.element);
}

void BlockPrinter::printStore(Node &node) {
  auto store = cast<chunk::StoreOp>(node.op);
  if (f.memory &&
      f.memory->store(store, homeOf(f, homes, node.operands[0]), node.axes)) {
    return;
  }
  f.text.open(store.getFirst()
                  ? "if (" + f.spans[store.getFirst()].origin + " == 0)"
                  : std::string());
  MemoryView view =
      f.viewOf(store.getBuffer(), store.getIndices(), node.axes, true);
  f.store(view, homeOf(f, homes, node.operands[0]), node.axes,
          cpu::isScratch(store.getBuffer()), node.element);
  f.text.close();
}

//===----------------------------------------------------------------------===//
// Other views of a tile
//===----------------------------------------------------------------------===//

void BlockPrinter::printAlias(Node &node) {
  Home home = homeOf(f, homes, node.operands[0]);
  if (auto rename = dyn_cast<chunk::RenameOp>(node.op)) {
    if (f.layout.isLane(rename.getFromAttr()) ||
        f.layout.isLane(rename.getToAttr())) {
      return printRenameOfLanes(node, rename);
    }
    for (Home::Step &step : home.steps) {
      if (step.axis.name == rename.getFrom()) {
        step.axis.name = rename.getToAttr();
      }
    }
  } else {
    auto index = cast<chunk::IndexOp>(node.op);
    if (f.layout.isLane(index.getAxisAttr())) {
      return printIndexOfLanes(node, index);
    }
    for (Home::Step &step : home.steps) {
      if (step.fixed < 0 && step.axis.name == index.getAxis()) {
        step.fixed = index.getPosition();
      }
    }
  }
  homes[&node] = home;
}

/// The position of an element in a dense tile.
static std::string flatIndex(KernelFrame &f, const Axes &axes,
                             const Point &point) {
  std::string flat;
  std::int64_t size = 1;
  for (const Axis &axis : llvm::reverse(axes)) {
    flat += (flat.empty() ? "(" : " + (") + f.entry(axis, point) + ")" +
            (size == 1 ? "" : " * " + std::to_string(size));
    size *= axis.size;
  }
  return flat;
}

/// What one lane holds along an axis moves to all lanes, or the other way:
/// through the warp's staging memory.
void BlockPrinter::printRenameOfLanes(Node &node, chunk::RenameOp op) {
  const Home from = homeOf(f, homes, node.operands[0]);
  Axes before = node.operands[0]->axes, after;
  for (Axis axis : before) {
    if (axis.name == op.getFrom()) {
      axis.name = op.getToAttr();
    }
    after.push_back(axis);
  }
  f.text.comment(op.getFrom() + " becomes " + op.getTo());
  Home home = f.makeHome(hintOf(node, from.name), node.axes);
  f.declare(home, node.element);
  f.text.line("__syncwarp();");
  Point point;
  f.openLoops(before, point);
  std::string mine = f.layout.hasLane(before)
                         ? ""
                         : "(" + flatIndex(f, before, point) + ") % 32 == lane";
  for (const Axis &axis : before) {
    mine += f.isInside(axis, point);
  }
  f.text.line((mine.empty() ? "" : "if (" + mine + ") ") + "staging[" +
              flatIndex(f, before, point) + "] = " + f.at(from, point) + ";");
  f.closeLoops(before);
  f.text.line("__syncwarp();");
  point.clear();
  f.openLoops(after, point);
  std::string exists;
  for (const Axis &axis : after) {
    exists += f.isInside(axis, point);
  }
  f.text.line(f.at(home, point) + " = " +
              (exists.empty() ? "" : exists + " ? ") + "staging[" +
              flatIndex(f, after, point) + "]" +
              (exists.empty() ? "" : " : 0") + ";");
  f.closeLoops(after);
  homes[&node] = home;
}

void BlockPrinter::printIndexOfLanes(Node &node, chunk::IndexOp op) {
  const Home from = homeOf(f, homes, node.operands[0]);
  Home home = f.makeHome(hintOf(node, from.name), node.axes);
  f.declare(home, node.element);
  Point point;
  f.openLoops(node.axes, point);
  Point there = point;
  there.push_back(
      {op.getAxisAttr(), std::to_string(op.getPosition() / warpSize)});
  f.text.line(f.at(home, point) + " = __shfl_sync(0xffffffffu, " +
              f.at(from, there) + ", " +
              std::to_string(op.getPosition() % warpSize) + ");");
  f.closeLoops(node.axes);
  homes[&node] = home;
}

void BlockPrinter::printScan(Node &node) {
  auto scan = cast<chunk::ScanOp>(node.op);
  const Home from = homeOf(f, homes, node.operands[0]);
  Home home = f.makeHome(hintOf(node, "running"), node.axes);
  f.declare(home, node.element);
  Axes others, along;
  for (const Axis &axis : node.axes) {
    (axis.name == scan.getAlong() ? along : others).push_back(axis);
  }
  Point point;
  f.openLoops(others, point);
  std::string total = f.text.name("total");
  f.text.line(f.typeName(node.element) + " " + total + " = " +
              (node.isMax ? "-__int_as_float(0x7f800000);" : "0;"));
  f.openLoops(along, point);
  f.text.line(total + " = combine<" + (node.isMax ? "true" : "false") + ">(" +
              total + ", " + f.at(from, point) + ");");
  f.text.line(f.at(home, point) + " = " + total + ";");
  f.closeLoops(along);
  f.closeLoops(others);
  homes[&node] = home;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void BlockPrinter::bindHomes(const Node &loop) {
  for (auto [value, node] : graph.getBindings()) {
    bool isValue = node->kind == Kind::Known || node->kind == Kind::LoopResult;
    if (!isValue && node->nest < loop.nest && homes.contains(node)) {
      f.homes[value] = homes.lookup(node);
    }
  }
}

/// The name of a carry, or of what it becomes in an inner loop.
static std::string carryName(Value carry) {
  std::string name = nameOf(carry);
  for (OpOperand &use : carry.getUses()) {
    auto inner = dyn_cast<chunk::ForOp>(use.getOwner());
    if (name.empty() && inner) {
      unsigned first = inner->getNumOperands() - inner.getInits().size();
      if (use.getOperandNumber() >= first) {
        name = carryName(inner.getCarries()[use.getOperandNumber() - first]);
      }
    }
  }
  return name;
}

void BlockPrinter::printFor(Node &node) {
  auto op = cast<chunk::ForOp>(node.op);
  SmallVector<Home> carries;
  for (unsigned i = 0; i < op.getInits().size(); ++i) {
    Node *init = node.operands[i];
    Value carry = op.getCarries()[i];
    std::string hint = carryName(carry);
    Home home = f.makeHome(hint.empty() ? "carried" : hint, init->axes);
    f.declare(home, init->element);
    f.copy(homeOf(f, homes, init), home, init->axes);
    f.homes[carry] = home;
    f.homes[op.getResult(i)] = home;
    carries.push_back(home);
  }
  if (f.memory && f.memory->loop(op, carries)) {
    return;
  }
  f.openSpanLoop(op.getSpan(), op.getReverse());
  BlockPrinter body(f, op.getBlock());
  body.print();
  body.printYields(carries);
  f.text.close();
}

void BlockPrinter::printForall(chunk::ForallOp op, unsigned iterator) {
  if (iterator == op.getNumIterators()) {
    BlockPrinter(f, op.getBlock()).print();
    return;
  }
  f.openSpanLoop(op.getSpan(iterator), /*isReverse=*/false);
  printForall(op, iterator + 1);
  f.text.close();
}

} // namespace recurra::cuda
