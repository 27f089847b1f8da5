// Which loops run together, the blocks of the states, and the trace between.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cpu/RowSweep.h"

#include "compiler/target/cpu/SweepAnalysis.h"
#include "compiler/target/cpu/SweepLoop.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace recurra::cpu {

namespace {

class RowSweep {
public:
  RowSweep(Frame &frame, BlockEmitter &outer) : f(frame), outer(outer) {}

  /// Loops that follow each other, of one span and over equal states.
  size_t gather(size_t first) {
    ArrayRef<Nest> nests = outer.getGraph().getNests();
    for (const Nest &nest : nests.drop_front(first)) {
      Node *node = nest.nodes.front();
      auto op = nest.isAlone ? dyn_cast_if_present<chunk::ForOp>(node->op)
                             : chunk::ForOp();
      if (!op || node->kind != Node::Kind::Loop) {
        break;
      }
      auto loop = std::make_unique<SweepLoop>(f, *node, op);
      if (!loop->getStateNest() || isSmall(*loop) || !fitsFirst(*loop)) {
        break;
      }
      loops.push_back(std::move(loop));
    }
    return loops.empty() || !findTraces() ? 0 : loops.size();
  }

  void emit() {
    chooseBlock();
    if (loops.size() == 2) {
      loops[1]->shareBefore(*loops[0]);
    }
    bool isOneBlock = lane.size <= shape.vectors * f.lanes;
    for (auto &loop : loops) {
      // The loop that recomputes states walks twice over the window.
      bool isWhole = loop != loops.back() && recomputes();
      loop->enter(outer, shape, isWhole ? window() : part, isOneBlock);
    }
    allocateTraces();
    TokenRange all{f.integer(0), loops.front()->countTokens(), window()};
    if (recomputes()) {
      loops[1]->takeNextStates(*loops[0]);
      loops[0]->emitBefore(all);
      startParts();
      forEachPart(/*isReverse=*/true, loops[1].get());
      loops[0]->emitAfter(all);
    } else if (loops.size() == 1) {
      loops[0]->keepStates();
      forEachPart(loops[0]->getOp().getReverse(), loops[0].get());
    } else {
      llvm::for_each(loops, [&](auto &loop) { loop->emitBefore(all); });
      emitTokens(all);
      llvm::for_each(loops, [&](auto &loop) { loop->emitAfter(all); });
    }
  }

private:
  /// Such states are cheaper to load and store at each token than what goes
  /// through memory between the parts of a loop.
  bool isSmall(SweepLoop &loop) {
    constexpr int64_t fewBytes = 4096;
    const Axes &domain = loop.getStateNest()->domain;
    return paddedElements(domain, f.lanes) * f.elementBytes() <= fewBytes;
  }

  bool fitsFirst(SweepLoop &loop) {
    if (loops.empty()) {
      return true;
    }
    SweepLoop &first = *loops.front();
    return llvm::all_of(loops,
                        [&](auto &earlier) {
                          return isIndependent(loop.getOp(), earlier->getOp());
                        }) &&
           loop.getOp().getParent() == first.getOp().getParent() &&
           loop.getStateNest()->domain == first.getStateNest()->domain;
  }

  /// Scratch buffers are read and written by these loops alone, whole states at
  /// a time.
  bool findTraces() {
    const Axes &domain = loops.front()->getStateNest()->domain;
    for (auto &loop : loops) {
      for (const Node *node : loop->getStateNest()->nodes) {
        if (node->kind != Node::Kind::ScratchLoad &&
            node->kind != Node::Kind::ScratchStore) {
          continue;
        }
        auto load = dyn_cast<chunk::LoadOp>(node->op);
        Value buffer = load ? load.getBuffer()
                            : cast<chunk::StoreOp>(node->op).getBuffer();
        auto type = cast<chunk::BufferType>(buffer.getType());
        bool isOurs = llvm::all_of(buffer.getUsers(), [&](Operation *user) {
          return llvm::any_of(loops, [&](auto &loop) {
            return user->getBlock() == &loop->getOp().getBlock();
          });
        });
        if (!isOurs || node->axes != domain ||
            type.getRank() != domain.size() + 1) {
          return false;
        }
        traces.insert({buffer, View()});
      }
    }
    return true;
  }

  /// Eight vectors of the states together, which AVX2's sixteen registers just
  /// bear, or two where long computations need registers of their own.
  int64_t countPoints() {
    size_t states = 1;
    bool isLong = false;
    for (auto &loop : loops) {
      states = std::max(states, loop->getOp().getInits().size());
      for (const Node *node : loop->getStateNest()->nodes) {
        isLong |= node->name && node->name->getDialectNamespace() == "math" &&
                  node->name->getStringRef() != "math.fma";
      }
    }
    constexpr int64_t together = 8;
    return std::max<int64_t>(1, isLong ? 2 : together / states);
  }

  /// All lanes first, then rows.
  void chooseBlock() {
    const Axes &domain = loops.front()->getStateNest()->domain;
    lane = domain.back();
    rows = domain[0].size;
    int64_t points = countPoints();
    int64_t vectors = ceilDiv(lane.size, f.lanes);
    shape.vectors = ceilDiv(vectors, ceilDiv(vectors, points));
    shape.rows = 1;
    for (int64_t i = 2; i * shape.vectors <= points; ++i) {
      shape.rows = rows % i == 0 ? i : shape.rows;
    }
    bool hasParts = loops.size() == 1 || recomputes();
    part = hasParts ? std::min(tokensOfPart, window()) : window();
  }

  /// Tokens of the window, as whole vectors.
  int64_t window() {
    return ceilDiv(loops.front()->getWindow(), f.lanes) * f.lanes;
  }

  void allocateTraces() {
    const Axes &domain = loops.front()->getStateNest()->domain;
    for (auto &[buffer, view] : traces) {
      Axes axes = domain;
      axes.back().size = shape.vectors * f.lanes;
      axes[0].size = shape.rows;
      auto type = cast<chunk::BufferType>(buffer.getType());
      for (StringAttr name : type.getNames()) {
        if (!hasAxis(domain, name)) {
          axes.insert(axes.begin(), {name, part + 1});
        }
      }
      view = f.allocate(axes);
    }
  }

  using RowBody = llvm::function_ref<void(Value row)>;
  using BlockBody = llvm::function_ref<void(const StateBlock &)>;

  void forEachBlock(RowBody start, BlockBody body, RowBody finish) {
    auto forOp = scf::ForOp::create(f.b, f.loc, f.integer(0), f.integer(rows),
                                    f.integer(shape.rows));
    OpBuilder::InsertionGuard guard(f.b);
    f.b.setInsertionPointToStart(forOp.getBody());
    Value row = forOp.getInductionVar();
    start(row);
    forEachBlockOf(row, body);
    finish(row);
  }

  void forEachBlockOf(Value row, BlockBody body) {
    int64_t step = shape.vectors * f.lanes;
    int64_t whole = lane.size / step;
    if (whole > 1) {
      auto forOp = scf::ForOp::create(f.b, f.loc, f.integer(0),
                                      f.integer(whole * step), f.integer(step));
      OpBuilder::InsertionGuard guard(f.b);
      f.b.setInsertionPointToStart(forOp.getBody());
      body({row, forOp.getInductionVar(), shape.rows, shape.vectors});
    } else if (whole == 1) {
      body({row, f.integer(0), shape.rows, shape.vectors});
    }
    if (int64_t rest = ceilDiv(lane.size - whole * step, f.lanes)) {
      body({row, f.integer(whole * step), shape.rows, rest});
    }
  }

  /// All blocks, each over all of these tokens.
  void emitTokens(const TokenRange &range) {
    forEachBlock(
        [&](Value row) {
          for (auto &loop : loops) {
            loop->prefetch(range, row);
            loop->startRows();
          }
        },
        [&](const StateBlock &block) {
          placeTraces(block, range.first);
          for (auto &loop : loops) {
            loop->emitBlock(block, range);
          }
        },
        [&](Value row) {
          for (auto &loop : loops) {
            loop->finishRows(row);
          }
        });
  }

  /// So that indices of rows, lanes and tokens lead into a small buffer.
  void placeTraces(const StateBlock &block, Value token) {
    const Axes &domain = loops.front()->getStateNest()->domain;
    for (auto &[buffer, view] : traces) {
      View &placed = f.scratchBuffers[buffer] = view;
      int64_t perToken = view.steps.front().stride;
      Value first = f.add(block.lane, f.mul(token, f.integer(perToken)));
      int64_t perRow = view.stride(domain.front().name);
      first = f.add(first, f.mul(block.row, f.integer(perRow)));
      placed.base =
          f.pointer(f.basePointer(view), f.element, f.sub(f.integer(0), first));
    }
  }

  //===--------------------------------------------------------------------===//
  // Parts of the window
  //===--------------------------------------------------------------------===//

  /// The first loop recomputes the states for the second, which goes back.
  bool recomputes() {
    if (loops.size() != 2) {
      return false;
    }
    chunk::ForOp states = loops[0]->getOp();
    return !states.getReverse() && loops[1]->getOp().getReverse() &&
           states->use_empty() && !loops[0]->hasSums();
  }

  /// Walks to the states before each part, which the parts then begin with.
  void startParts() {
    const Axes &domain = loops.front()->getStateNest()->domain;
    int64_t most = ceilDiv(loops[0]->getWindow(), part);
    SmallVector<View> before;
    for (Value carry : loops[0]->getOp().getCarries()) {
      before.push_back(f.storage[carry].view);
      View &view = starts.emplace_back(makeDenseView(domain, f.lanes));
      view.offset = f.allocateElements(most * paddedElements(domain, f.lanes));
    }
    Value parts = f.divideUp(loops[0]->countTokens(), part);
    auto place = [&](Value number) { placeStarts(number); };
    forEachBlock([](Value) {},
                 [&](const StateBlock &block) {
                   for (auto [carry, view] :
                        llvm::zip(loops[0]->getOp().getCarries(), before)) {
                     f.storage[carry].view = view;
                   }
                   loops[0]->emitParts(block, part, parts, place);
                 },
                 [](Value) {});
  }

  void placeStarts(Value number) {
    const Axes &domain = loops.front()->getStateNest()->domain;
    Value offset = f.mul(number, f.integer(paddedElements(domain, f.lanes)));
    for (auto [carry, view] :
         llvm::zip(loops[0]->getOp().getCarries(), starts)) {
      View &placed = f.storage[carry].view = view;
      placed.base = f.pointer(f.basePointer(view), f.element, offset);
    }
  }

  /// Part by part, so that what a part's tokens need stays in the first cache,
  /// also before and after the steps of one loop.
  void forEachPart(bool isReverse, SweepLoop *whole) {
    Value count = loops[0]->countTokens();
    Value parts = f.divideUp(count, part);
    auto forOp =
        scf::ForOp::create(f.b, f.loc, f.integer(0), parts, f.integer(1));
    OpBuilder::InsertionGuard guard(f.b);
    f.b.setInsertionPointToStart(forOp.getBody());
    Value number = forOp.getInductionVar();
    if (isReverse) {
      number = f.sub(f.sub(parts, f.integer(1)), number);
    }
    if (!starts.empty()) {
      placeStarts(number);
    }
    Value first = f.mul(number, f.integer(part));
    Value last = f.smaller(f.add(first, f.integer(part)), count);
    TokenRange range{first, last, part};
    whole->emitBefore(range);
    emitTokens(range);
    whole->emitAfter(range);
  }

  Frame &f;
  BlockEmitter &outer;
  std::vector<std::unique_ptr<SweepLoop>> loops;
  llvm::MapVector<Value, View> traces;
  SmallVector<View> starts; ///< of each part, by state
  Axis lane;
  int64_t rows = 1, part = 0;
  StateBlock shape;
};

} // namespace

size_t emitRowSweep(Frame &frame, BlockEmitter &outer, size_t first) {
  RowSweep sweep(frame, outer);
  size_t count = sweep.gather(first);
  if (count > 0) {
    sweep.emit();
  }
  return count;
}

} // namespace recurra::cpu
