// Binds every dimension of every tensor of a call to a symbol (B, T, H, ..) and
// reports the first two tensors that disagree.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Signature.h"

#include "dsl/CallCheck.h"
#include "ops/Door.h"

#include <c10/util/Exception.h>

namespace recurra {
namespace {

/// Structural symbols are spelt as in messages; a user's axis K is "axis K", so
/// that an axis may be called T or H.
using Symbols = std::vector<std::string>;

std::string shown(const std::string &symbol) {
  if (symbol == "Hg") {
    return "heads of q and k";
  }
  return symbol.starts_with("axis ") ? symbol.substr(5) : symbol;
}

std::string shown(const Symbols &symbols) {
  std::string text = "[";
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    text += (i ? ", " : "") +
            (symbols[i] == "Hg" ? std::string("H / group") : shown(symbols[i]));
  }
  return text + "]";
}

void addAxes(Symbols &symbols, const std::vector<std::string> &axes) {
  for (const std::string &axis : axes) {
    symbols.push_back("axis " + axis);
  }
}

Symbols symbolsOf(const Input &input) {
  Symbols symbols = leadingSymbols(input);
  addAxes(symbols, input.axes);
  return symbols;
}

Symbols symbolsOf(const State &state) {
  Symbols symbols = {"N", "H"};
  addAxes(symbols, state.axes);
  return symbols;
}

/// Collects what each symbol was first found to be, and where.
class Binder {
public:
  explicit Binder(std::string op) : op(std::move(op)) {}

  struct Binding {
    c10::SymInt size;
    std::string owner;
  };

  void bind(const std::string &symbol, const c10::SymInt &size,
            const std::string &owner) {
    bindings.try_emplace(symbol, Binding{size, owner});
  }

  void bind(const std::string &tensor, const Symbols &symbols,
            const at::Tensor &value) {
    TORCH_CHECK_VALUE(value.dim() == static_cast<std::int64_t>(symbols.size()),
                      op, ": '", tensor, "' has shape ", value.sym_sizes(),
                      "; it must have ", symbols.size(), " dimensions, ",
                      shown(symbols), "; reshape it");
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      c10::SymInt size = value.sym_size(static_cast<std::int64_t>(i));
      auto [place, isNew] =
          bindings.try_emplace(symbols[i], Binding{size, tensor});
      const Binding &first = place->second;
      TORCH_CHECK_VALUE(isNew || first.size == size, op, ": '", tensor,
                        "' has shape ", value.sym_sizes(), ", so ",
                        shown(symbols[i]), " = ", size, "; '", first.owner,
                        "' says ", shown(symbols[i]), " = ", first.size,
                        "; give '", tensor, "' the shape ", shown(symbols),
                        " with the same ", shown(symbols[i]));
    }
  }

  const Binding *find(const std::string &symbol) const {
    auto place = bindings.find(symbol);
    return place == bindings.end() ? nullptr : &place->second;
  }

  const std::map<std::string, Binding> &all() const { return bindings; }

private:
  std::string op;
  std::map<std::string, Binding> bindings;
};

void checkKind(const Recurrence &recurrence, const std::string &name,
               const at::Tensor &value, const at::Device &device) {
  at::ScalarType type = value.scalar_type();
  TORCH_CHECK_VALUE(
      type == at::kFloat || type == at::kDouble || type == at::kHalf ||
          type == at::kBFloat16,
      recurrence.name, ": '", name, "' has dtype ", type,
      "; it must be float32, float64, float16 or bfloat16; convert it "
      "with .to(torch.float32)");
  TORCH_CHECK_VALUE(value.device() == device, recurrence.name, ": '", name,
                    "' is on ", value.device(),
                    "; all tensors of a call must be on one device (", device,
                    "); move it with .to(\"", device, "\")");
  TORCH_CHECK_VALUE(
      value.device().is_cpu() || value.device().is_cuda() ||
          value.device().is_meta(),
      recurrence.name, ": '", name, "' is on ", value.device(),
      "; the ops run on CPUs and NVIDIA GPUs; move it with .cpu() "
      "or .cuda()");
}

at::Device deviceOf(const CallTensors &tensors) {
  for (const std::optional<at::Tensor> &value : tensors.inputs) {
    if (value) {
      return value->device();
    }
  }
  return at::kCPU;
}

void bindInputs(const Recurrence &recurrence, const CallTensors &tensors,
                Binder &binder) {
  const std::size_t count = recurrence.inputs.size();
  TORCH_CHECK_VALUE(tensors.inputs.size() == count, recurrence.name, ": ",
                    tensors.inputs.size(), " inputs were given; it takes ",
                    count, "; give one tensor or None for each");
  at::Device device = deviceOf(tensors);
  for (std::size_t i = 0; i < count; ++i) {
    const Input &input = recurrence.inputs[i];
    if (!tensors.inputs[i]) {
      TORCH_CHECK_VALUE(input.fallback, recurrence.name, ": '", input.name,
                        "' is missing; it has no default; pass a tensor ",
                        shown(symbolsOf(input)));
      continue;
    }
    checkKind(recurrence, input.name, *tensors.inputs[i], device);
    binder.bind(input.name, symbolsOf(input), *tensors.inputs[i]);
  }
}

void bindStates(const Recurrence &recurrence, const CallTensors &tensors,
                Binder &binder) {
  const std::size_t count = recurrence.states.size();
  TORCH_CHECK_VALUE(tensors.initialStates.empty() ||
                        tensors.initialStates.size() == count,
                    recurrence.name, ": initial_state has ",
                    tensors.initialStates.size(), " tensors; the op has ",
                    count, " states; give one tensor or None for each");
  for (std::size_t i = 0; i < tensors.initialStates.size(); ++i) {
    if (const std::optional<at::Tensor> &value = tensors.initialStates[i]) {
      at::ScalarType type = stateType(recurrence.states[i], tensors);
      std::string name = "initial_state " + recurrence.states[i].name;
      checkKind(recurrence, name, *value, deviceOf(tensors));
      TORCH_CHECK_VALUE(value->scalar_type() == type, recurrence.name, ": '",
                        name, "' has dtype ", value->scalar_type(),
                        "; in this call the state is ", type,
                        "; convert it with .to()");
      binder.bind(name, symbolsOf(recurrence.states[i]), *value);
    }
  }
}

/// The sizes that the definition fixes; before the tensors, which must agree.
void bindAxes(const Recurrence &recurrence, Binder &binder) {
  for (const Axis &axis : recurrence.axes) {
    if (axis.size != 0) {
      binder.bind("axis " + axis.name, axis.size,
                  "the definition of " + recurrence.name);
    }
  }
}

/// With cu_seqlens the sequences are its rows, else the batch's.
void bindSequences(const Recurrence &recurrence, const CallTensors &tensors,
                   Binder &binder) {
  const Binder::Binding *batch = binder.find("B");
  TORCH_CHECK_VALUE(
      batch, recurrence.name,
      ": no token input was given, so T is unknown; pass at least one");
  if (!tensors.cuSeqlens) {
    binder.bind("N", batch->size, batch->owner);
    return;
  }
  const at::Tensor &offsets = *tensors.cuSeqlens;
  TORCH_CHECK_VALUE(
      offsets.dim() == 1 && (offsets.scalar_type() == at::kInt ||
                             offsets.scalar_type() == at::kLong),
      recurrence.name, ": 'cu_seqlens' is ", offsets.scalar_type(), " ",
      offsets.sym_sizes(),
      "; it must be int32 or int64 [N + 1]; give the offsets of N sequences");
  TORCH_CHECK_VALUE(
      offsets.sym_size(0) >= 1, recurrence.name,
      ": 'cu_seqlens' is empty; it holds N + 1 offsets; start with 0");
  TORCH_CHECK_VALUE(
      batch->size == 1, recurrence.name, ": '", batch->owner,
      "' has a batch of ", batch->size,
      "; with cu_seqlens all sequences lie in one row, B = 1; flatten "
      "the batch into the tokens");
  binder.bind("N", offsets.sym_size(0) - 1, "cu_seqlens");
}

void bindHeads(const Recurrence &recurrence, const Binder &binder,
               OpSizes &sizes) {
  const Binder::Binding *heads = binder.find("H"), *shared = binder.find("Hg");
  if (heads || shared) {
    sizes.heads = (heads ? heads : shared)->size;
  }
  if (!heads || !shared) {
    return;
  }
  TORCH_CHECK_VALUE(shared->size != 0 && heads->size % shared->size == 0,
                    recurrence.name, ": '", shared->owner, "' has ",
                    shared->size, " heads and '", heads->owner, "' has ",
                    heads->size,
                    "; the value heads must be a multiple; change one of them");
  if (heads->size != 0) {
    sizes.group = (heads->size / shared->size).guard_int(__FILE__, __LINE__);
  }
}

} // namespace

std::vector<std::string> leadingSymbols(const Input &input) {
  std::vector<std::string> symbols;
  if (input.role == Role::Token) {
    symbols = {"B", "T"};
  }
  if (input.role != Role::Scalar && input.sharing != Sharing::All) {
    symbols.emplace_back(input.sharing == Sharing::Group ? "Hg" : "H");
  }
  return symbols;
}

c10::SymInt OpSizes::evaluate(const std::string &symbol,
                              std::int64_t interval) const {
  if (symbol == "B") {
    return batch;
  }
  if (symbol == "T") {
    return tokens;
  }
  if (symbol == "H") {
    return heads;
  }
  if (symbol == "Hg") {
    return heads / group;
  }
  if (symbol == "N") {
    return sequences;
  }
  if (symbol == "S") {
    return batch * tokens / interval + sequences;
  }
  return std::stoll(symbol);
}

OpSizes deduceSizes(const Recurrence &recurrence, const CallTensors &tensors) {
  Binder binder(recurrence.name);
  bindAxes(recurrence, binder);
  bindInputs(recurrence, tensors, binder);
  bindSequences(recurrence, tensors, binder);
  bindStates(recurrence, tensors, binder);
  OpSizes sizes;
  bindHeads(recurrence, binder, sizes);
  sizes.batch = binder.find("B")->size;
  sizes.tokens = binder.find("T")->size;
  sizes.sequences = binder.find("N")->size;
  sizes.packed = tensors.cuSeqlens.has_value();
  for (const Axis &axis : recurrence.axes) {
    const Binder::Binding *binding = binder.find("axis " + axis.name);
    TORCH_CHECK_VALUE(
        binding, recurrence.name, ": the size of axis ", axis.name,
        " is unknown; no tensor given has it; pass one that does");
    TORCH_CHECK_VALUE(binding->size >= 1, recurrence.name, ": '",
                      binding->owner, "' has ", axis.name, " = ", binding->size,
                      "; axes have a size of at least 1; give it one");
    sizes.extents[axis.name] = binding->size.guard_int(__FILE__, __LINE__);
  }
  std::string mistake = findSizeMistake(recurrence, sizes.extents);
  TORCH_CHECK_VALUE(mistake.empty(), recurrence.name, ": ", mistake);
  return sizes;
}

/// Fails unless the offsets rise from 0 to the number of tokens.
static void checkOffsets(const Recurrence &recurrence,
                         const CallTensors &tensors,
                         const at::Tensor &cuSeqlens) {
  // Torch's typed accessor is a template that clang and gcc mangle unlike.
  auto data = static_cast<const std::int64_t *>(cuSeqlens.const_data_ptr());
  std::vector<std::int64_t> offsets(data, data + cuSeqlens.numel());
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    TORCH_CHECK_VALUE(offsets[i - 1] <= offsets[i], recurrence.name,
                      ": 'cu_seqlens' falls from ", offsets[i - 1], " to ",
                      offsets[i], " at place ", i,
                      "; offsets never fall; sort the sequences");
  }
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < tensors.inputs.size(); ++i) {
    if (tensors.inputs[i] && recurrence.inputs[i].role == Role::Token) {
      tokens = tensors.inputs[i]->size(1);
    }
  }
  TORCH_CHECK_VALUE(offsets.front() == 0 && offsets.back() == tokens,
                    recurrence.name, ": 'cu_seqlens' runs from ",
                    offsets.front(), " to ", offsets.back(),
                    "; it must run from 0 to T = ", tokens,
                    "; cut or extend the tensors or the offsets");
}

at::Tensor offsetsOf(const Recurrence &recurrence, const CallTensors &tensors) {
  if (!tensors.cuSeqlens) {
    return {};
  }
  // On a GPU nobody waits for the values: the kernels read them there.
  at::Tensor wide =
      tensors.cuSeqlens->to(deviceOf(tensors), at::kLong).contiguous();
  if (wide.is_cpu()) {
    checkOffsets(recurrence, tensors, wide);
  }
  return wide;
}

at::ScalarType computeType(const CallTensors &tensors) {
  bool any = false;
  for (const std::optional<at::Tensor> &value : tensors.inputs) {
    if (value) {
      any = true;
      if (value->scalar_type() != at::kDouble) {
        return at::kFloat;
      }
    }
  }
  return any ? at::kDouble : at::kFloat;
}

at::ScalarType stateType(const State &state, const CallTensors &tensors) {
  return toTorch(state.tensorType(fromTorch(computeType(tensors))));
}

} // namespace recurra
