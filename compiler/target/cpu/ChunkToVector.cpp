// Each top-level forall of a chunk function becomes a function that runs a
// range of its tasks: addresses and sizes are loaded once, a loop over tasks
// derives the spans, BlockEmitter does the rest.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/KernelAbi.h"
#include "compiler/target/cpu/BlockEmitter.h"
#include "compiler/target/cpu/CpuPasses.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace recurra;
using namespace recurra::cpu;

namespace {

/// How many strides a buffer has at run time: T has two, of the row and of the
/// token; a slot of many tokens has one.
int64_t countStrides(chunk::BufferType type) {
  int64_t count = type.getRank();
  for (auto [name, per] : llvm::zip(type.getNames(), type.getPers())) {
    count += name == "T" && per == 1 ? 1 : 0;
  }
  return count;
}

/// The factors of a forall's task count.
SmallVector<std::string> tasksOf(chunk::ForallOp op) {
  SmallVector<std::string> tasks;
  for (unsigned i = 0; i < op.getNumIterators(); ++i) {
    StringRef axis = op.getAxis(i);
    int64_t step = op.getSteps()[i];
    if (axis == "N") {
      tasks.push_back("N");
    } else if (axis == "H") {
      tasks.push_back(step == 1 ? "H" : "Hg");
    } else {
      tasks.push_back(
          std::to_string(ceilDiv(chunk::getExtent(op, axis), step)));
    }
  }
  return tasks;
}

/// f64 if some tile is; tiles of both kinds do not occur together.
Type tileElement(func::FuncOp function) {
  Type element = Float32Type::get(function.getContext());
  function.walk([&](Operation *op) {
    for (Type type : op->getResultTypes()) {
      auto tile = dyn_cast<chunk::TileType>(type);
      if (tile && tile.getElement().isF64()) {
        element = tile.getElement();
      }
    }
  });
  return element;
}

/// Subnormal numbers cost a hundred cycles each, and an f32 state that decays
/// while its inputs are zero is made of them: while the kernel runs they are
/// zero. f64 kernels keep them, as the oracle does.
class FlushSubnormals {
public:
  FlushSubnormals(OpBuilder &b, Location loc, bool wanted) : b(b), loc(loc) {
    if (!wanted) {
      return;
    }
    Type i32 = b.getI32Type();
    Value one = LLVM::ConstantOp::create(b, loc, i32, 1);
    slot = LLVM::AllocaOp::create(
        b, loc, LLVM::LLVMPointerType::get(b.getContext()), i32, one);
    call("llvm.x86.sse.stmxcsr");
    before = LLVM::LoadOp::create(b, loc, i32, slot);
    // Results flushed (bit 15), operands taken as zero (bit 6).
    Value bits = LLVM::ConstantOp::create(b, loc, i32, 0x8040);
    set(LLVM::OrOp::create(b, loc, before, bits));
  }
  /// Gives the caller its own control word back.
  void restore() {
    if (before) {
      set(before);
    }
  }

private:
  void set(Value control) {
    LLVM::StoreOp::create(b, loc, control, slot);
    call("llvm.x86.sse.ldmxcsr");
  }
  void call(StringRef intrinsic) {
    LLVM::CallIntrinsicOp::create(b, loc, b.getStringAttr(intrinsic),
                                  ValueRange{slot});
  }

  OpBuilder &b;
  Location loc;
  Value slot, before;
};

class FunctionEmitter {
public:
  FunctionEmitter(func::FuncOp function, int64_t vectorBytes)
      : function(function), element(tileElement(function)),
        lanes(vectorBytes / (element.isF64() ? 8 : 4)) {}

  LogicalResult emit() {
    OpBuilder builder(function);
    int64_t number = 0;
    for (Operation &op : function.getBody().front()) {
      if (auto forall = dyn_cast<chunk::ForallOp>(op)) {
        emitNestFunction(builder, forall, number++);
      } else if (!isa<chunk::AllocOp, func::ReturnOp>(op)) {
        return op.emitOpError("has no lowering at the top level of a kernel");
      }
    }
    return success();
  }

private:
  func::FuncOp makeFunction(OpBuilder &b, Location loc, int64_t number) {
    auto pointer = LLVM::LLVMPointerType::get(b.getContext());
    Type i64 = b.getI64Type();
    auto type = b.getFunctionType({pointer, pointer, i64, i64, pointer}, {});
    std::string name =
        (function.getName() + "_nest" + std::to_string(number)).str();
    auto made = func::FuncOp::create(b, loc, name, type);
    made.setArgAttr(4, "llvm.noalias", b.getUnitAttr());
    return made;
  }

  void emitNestFunction(OpBuilder &b, chunk::ForallOp forall, int64_t number) {
    OpBuilder::InsertionGuard guard(b);
    Location loc = forall.getLoc();
    func::FuncOp made = makeFunction(b, loc, number);
    Block *entry = made.addEntryBlock();
    b.setInsertionPointToStart(entry);
    AxisOrder order(forall, lanes);
    Frame frame(b, loc, order, lanes, element);
    frame.source = forall;
    frame.scratch = entry->getArgument(4);
    loadShape(frame, entry->getArgument(1));
    loadBuffers(frame, entry->getArgument(0), forall);
    FlushSubnormals flush(b, loc, element.isF32());
    emitTasks(frame, forall, entry->getArgument(2), entry->getArgument(3));
    flush.restore();
    func::ReturnOp::create(b, loc);
    SmallVector<std::string> tasks = tasksOf(forall);
    SmallVector<StringRef> names(tasks.begin(), tasks.end());
    made->setAttr("recurra.tasks", b.getStrArrayAttr(names));
    made->setAttr("recurra.scratch",
                  b.getI64IntegerAttr(frame.getScratchBytes()));
  }

  Value loadField(Frame &f, Value base, Type type, int64_t offset) {
    return LLVM::LoadOp::create(f.b, f.loc, type,
                                f.pointer(base, f.b.getI8Type(), offset));
  }

  void loadShape(Frame &f, Value shape) {
    Type i64 = f.b.getI64Type();
    f.rows = loadField(f, shape, i64, offsetof(KernelShape, rows));
    f.tokens = loadField(f, shape, i64, offsetof(KernelShape, tokens));
    f.heads = loadField(f, shape, i64, offsetof(KernelShape, heads));
    f.sequences = loadField(f, shape, i64, offsetof(KernelShape, sequences));
    f.offsets =
        loadField(f, shape, LLVM::LLVMPointerType::get(f.b.getContext()),
                  offsetof(KernelShape, offsets));
  }

  void loadBuffers(Frame &f, Value buffers, chunk::ForallOp forall) {
    SmallVector<Value> all(function.getArguments());
    for (auto alloc : function.getOps<chunk::AllocOp>()) {
      all.push_back(alloc.getBuffer());
    }
    auto pointer = LLVM::LLVMPointerType::get(f.b.getContext());
    for (auto [index, value] : llvm::enumerate(all)) {
      bool isUsed = llvm::any_of(value.getUsers(), [&](Operation *user) {
        return forall->isProperAncestor(user);
      });
      if (!isUsed) {
        continue;
      }
      int64_t offset = index * sizeof(KernelBuffer);
      Frame::Buffer &buffer = f.buffers[value];
      buffer.data = loadField(f, buffers, pointer, offset);
      auto type = cast<chunk::BufferType>(value.getType());
      offset += offsetof(KernelBuffer, strides);
      for (int64_t i = 0, e = countStrides(type); i < e; ++i) {
        buffer.strides.push_back(loadField(f, buffers, f.b.getI64Type(),
                                           offset + i * sizeof(int64_t)));
      }
    }
  }

  void emitTasks(Frame &f, chunk::ForallOp forall, Value begin, Value end) {
    auto forOp = scf::ForOp::create(f.b, f.loc, begin, end, f.integer(1));
    OpBuilder::InsertionGuard guard(f.b);
    f.b.setInsertionPointToStart(forOp.getBody());
    Value rest = forOp.getInductionVar();
    unsigned count = forall.getNumIterators();
    SmallVector<Value> indices(count);
    SmallVector<SpanRange> ranges;
    for (unsigned i = 0; i < count; ++i) {
      ranges.push_back(rangeOf(f, forall.getSpan(i)));
    }
    for (unsigned i = count; i-- > 1;) {
      indices[i] = arith::RemUIOp::create(f.b, f.loc, rest, ranges[i].count);
      rest = arith::DivUIOp::create(f.b, f.loc, rest, ranges[i].count);
    }
    if (count > 0) {
      indices[0] = rest;
    }
    for (unsigned i = 0; i < count; ++i) {
      enterSpan(f, forall.getSpan(i), ranges[i], indices[i],
                /*isReverse=*/false);
    }
    BlockEmitter(f, forall.getBlock()).emit();
  }

  func::FuncOp function;
  Type element;
  int64_t lanes;
};

struct ChunkToVectorPass
    : PassWrapper<ChunkToVectorPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ChunkToVectorPass)
  ChunkToVectorPass() = default;
  ChunkToVectorPass(const ChunkToVectorPass &other) : PassWrapper(other) {}
  StringRef getArgument() const override { return "chunk-to-vector"; }
  StringRef getDescription() const override {
    return "Turns every top-level forall into a function over tasks";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry
        .insert<arith::ArithDialect, func::FuncDialect, LLVM::LLVMDialect,
                math::MathDialect, scf::SCFDialect, vector::VectorDialect>();
  }
  void runOnOperation() override {
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      bool isKernel = llvm::any_of(function.getArgumentTypes(), [](Type type) {
        return isa<chunk::BufferType>(type);
      });
      if (!isKernel) {
        continue;
      }
      FunctionEmitter emitter(function, vectorBytes);
      if (failed(emitter.emit())) {
        return signalPassFailure();
      }
      function.erase();
    }
  }

  Option<int64_t> vectorBytes{*this, "vector-bytes",
                              llvm::cl::desc("Bytes of a vector register"),
                              llvm::cl::init(64)};
};

} // namespace

std::unique_ptr<Pass> recurra::createChunkToVectorPass(int64_t vectorBytes) {
  auto pass = std::make_unique<ChunkToVectorPass>();
  pass->vectorBytes = vectorBytes;
  return pass;
}
