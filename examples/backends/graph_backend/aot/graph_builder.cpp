// SPDX-License-Identifier: MIT
#include "aot/graph_builder.hpp"

#include <algorithm>
#include <iterator>

#include "common/check_graph.hpp"

namespace graph_backend {

using namespace tenon;
using namespace tenon::aot;

namespace {

/// Whether each element of the result is one of the inputs'.
bool only_moves(const OperatorUnion& op) {
  using enum blob::Operator;
  constexpr blob::Operator moves[] = {Permute, Reshape, MaxPool, Cat, Slice, Expand, Convert};
  return std::ranges::find(moves, op.type) != std::end(moves);
}

}  // namespace

Status GraphBuilder::add_inputs() {
  for (const ValueId id : program_.inputs()) {
    const EdgeValue value = program_.value(id);
    if (!value.is_tensor()) {
      // Sizes follow from tensors, so a number that is passed with them is not read.
      draft_.graph.inputs.push_back(no_tensor);
      continue;
    }
    TENON_TRY(blob::TensorT tensor, describe(id));
    tensor.place = blob::Place::Input;
    tensor.index = static_cast<std::uint32_t>(draft_.graph.inputs.size());
    if (!value.is_static()) {
      for (std::size_t i = 0; i < value.rank(); ++i) {
        const EdgeSize size = value.size(i);
        const auto number = static_cast<std::uint32_t>(symbols_.size() + 1);
        tensor.symbols.push_back(
            size.is_static()
                ? 0
                : symbols_.try_emplace(std::string(size.expression), number).first->second);
      }
    }
    tensors_[id] = add_tensor(std::move(tensor));
    draft_.graph.inputs.push_back(tensors_[id]);
  }
  for (auto& [value, id] : tensors_) {
    if (!is_short(operand(id).scalar_type)) continue;
    TENON_TRY(id, convert(id, ScalarType::Float));
  }
  return tenon::ok();
}

Result<TensorId> GraphBuilder::convert(TensorId tensor, ScalarType to) {
  blob::ConvertT op;
  op.to = static_cast<std::int8_t>(to);
  return add(make_operator(op), {tensor});
}

Status GraphBuilder::add_outputs() {
  for (std::size_t i = 0; i < program_.num_outputs(); ++i) {
    const auto output = program_.output(i);
    const EdgeValue value = program_.value(output.value);
    if (output.kind != tenon::aot::EdgeOutputKind::UserOutput) {
      return error(Error::NotSupported, "output ", i, " ('", value.name(),
                   "') changes a buffer or an input");
    }
    TENON_TRY(TensorId id, tensor(output.value));
    if (is_short(value.scalar_type())) {
      TENON_TRY(id, convert(id, value.scalar_type()));
    }
    draft_.graph.outputs.push_back(id);
  }
  return tenon::ok();
}

Result<blob::TensorT> GraphBuilder::describe(ValueId id) const {
  const EdgeValue value = program_.value(id);
  const auto refuse = [&](const auto&... why) {
    return error(Error::NotSupported, "value '", value.name(), "': ", why...);
  };
  if (!value.is_tensor()) return refuse("expected a tensor, found a number");
  const ScalarType type = value.scalar_type();
  if (!is_taken(type)) {
    return refuse(
        "expected dtype Float, BFloat16 or Half (Long for indices, Bool for conditions), found ",
        name_of(value.scalar_type()));
  }
  if (value.device().device_type != TENON_DL_CPU) {
    return refuse("expected CPU memory, found DLPack device type ", value.device().device_type);
  }
  if (value.rank() > Shape::max_rank) {
    return refuse("expected at most ", Shape::max_rank, " dimensions, found ", value.rank());
  }
  blob::TensorT out;
  out.scalar_type = static_cast<std::int8_t>(value.scalar_type());
  for (std::size_t i = 0; i < value.rank(); ++i) {
    if (value.dim_order()[i] != i) return refuse("expected dimensions in their own order");
    const EdgeSize size = value.size(i);
    if (size.max > Shape::max_size) {
      return refuse("size ", i, " (", size.expression, ") has no bound below ", Shape::max_size);
    }
    out.sizes.push_back(static_cast<std::int32_t>(size.max));
  }
  Status checked = check_shape(largest(out).shape);
  if (!checked.ok()) return refuse(checked.text());
  return out;
}

TensorId GraphBuilder::add_tensor(blob::TensorT tensor) {
  exact_.push_back(static_cast<ScalarType>(tensor.scalar_type));
  draft_.graph.tensors.push_back(std::move(tensor));
  return static_cast<TensorId>(draft_.graph.tensors.size() - 1);
}

Result<TensorId> GraphBuilder::tensor(ValueId id) {
  if (const auto found = tensors_.find(id); found != tensors_.end()) return found->second;
  const EdgeValue value = program_.value(id);
  TENON_TRY(blob::TensorT tensor, describe(id));
  if (value.has_fqn()) {
    const std::uint64_t nbytes = largest(tensor).nbytes();
    if (purpose_ == Purpose::Compile && value.data().size() != nbytes) {
      return error(Error::InvalidProgram, "value '", value.name(), "': expected ", nbytes,
                   " bytes of data, found ", value.data().size());
    }
    tensor.place = blob::Place::Constant;
    tensor.index = static_cast<std::uint32_t>(draft_.graph.constants.size());
    // The program outlives the compilation, and results are copied out of it before it is
    // destroyed.
    draft_.graph.constants.push_back(
        {{}, nbytes, SharedBytes::borrow(value.data(), nullptr), std::string(value.fqn())});
  } else if (purpose_ == Purpose::Compile) {
    return error(Error::InvalidProgram, "value '", value.name(), "' is read before it is made");
  }
  TensorId made = add_tensor(std::move(tensor));
  if (is_short(value.scalar_type())) {
    TENON_TRY(made, convert(made, ScalarType::Float));
  }
  return tensors_[id] = made;
}

TensorId GraphBuilder::constant(std::string name, std::span<const std::int32_t> sizes,
                                std::span<const float> elements) {
  blob::TensorT tensor;
  tensor.scalar_type = static_cast<std::int8_t>(ScalarType::Float);
  tensor.place = blob::Place::Constant;
  tensor.index = static_cast<std::uint32_t>(draft_.graph.constants.size());
  tensor.sizes.assign(sizes.begin(), sizes.end());
  draft_.graph.constants.push_back(
      {{}, elements.size_bytes(), SharedBytes::copy_of(std::as_bytes(elements)), std::move(name)});
  return add_tensor(std::move(tensor));
}

Operand GraphBuilder::operand(TensorId id) const { return largest(draft_.graph.tensors[id]); }

Result<TensorId> GraphBuilder::add(OperatorUnion op, std::vector<TensorId> inputs) {
  std::vector<Operand> operands;
  for (const TensorId id : inputs) operands.push_back(operand(id));
  std::vector<const Operand*> pointers;
  for (const Operand& one : operands) pointers.push_back(&one);
  const auto shape = infer(op, pointers);
  if (!shape.ok()) return error(Error::NotSupported, name_of(op), ": ", shape.text());

  blob::TensorT out;
  out.scalar_type = static_cast<std::int8_t>(dtype_of(op, operands[0].scalar_type));
  for (const std::int64_t size : shape->sizes()) {
    out.sizes.push_back(static_cast<std::int32_t>(size));
  }
  out.place = blob::Place::Scratch;
  const TensorId id = add_tensor(std::move(out));
  const ScalarType exact = exact_[inputs[0]];
  const bool keeps_elements =
      std::ranges::all_of(inputs, [&](TensorId input) { return exact_[input] == exact; });
  if (keeps_elements && only_moves(op)) exact_[id] = exact;
  blob::NodeT& node = draft_.graph.nodes.emplace_back();
  node.op = std::move(op);
  node.inputs = std::move(inputs);
  node.output = id;
  draft_.handles.push_back(handles_);
  return id;
}

Status GraphBuilder::bind(ValueId id, TensorId tensor) {
  const EdgeValue value = program_.value(id);
  TENON_TRY(blob::TensorT declared, describe(id));
  const ScalarType type = value.scalar_type();
  if (is_short(type)) declared.scalar_type = static_cast<std::int8_t>(ScalarType::Float);
  const blob::TensorT& made = draft_.graph.tensors[tensor];
  bool fits = declared.scalar_type == made.scalar_type && value.rank() == made.sizes.size();
  for (std::size_t i = 0; fits && i < value.rank(); ++i) {
    // The bound of a size that changes may be wider than what the inputs make possible.
    fits = value.size(i).is_static() ? declared.sizes[i] == made.sizes[i]
                                     : declared.sizes[i] >= made.sizes[i];
  }
  if (!fits) {
    return error(Error::InvalidProgram, "value '", value.name(), "' is ",
                 name_of(value.scalar_type()), " ", text_of(largest(declared).shape),
                 " in the program, but the operator makes ", text_of(largest(made).shape));
  }
  if (is_short(type) && exact_[tensor] != type) {
    blob::UnaryT op;
    op.kind =
        type == ScalarType::Half ? blob::UnaryKind::RoundToHalf : blob::UnaryKind::RoundToBFloat16;
    TENON_TRY(tensor, add(make_operator(op), {tensor}));
    exact_[tensor] = type;
  }
  tensors_[id] = tensor;
  return tenon::ok();
}

}  // namespace graph_backend
