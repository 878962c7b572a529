// SPDX-License-Identifier: MIT
#include "aot/ir_builder.hpp"

#include <algorithm>
#include <tenon/core/sha256.hpp>

namespace openvino_backend {

namespace {

constexpr std::size_t max_rank = 8;

constexpr ScalarType supported_dtypes[] = {
    ScalarType::Byte, ScalarType::Char, ScalarType::Int,   ScalarType::Long,
    ScalarType::Half, ScalarType::Bool, ScalarType::Float, ScalarType::BFloat16,
};

std::vector<IrSize> as_sizes(std::span<const std::int64_t> sizes) {
  std::vector<IrSize> out;
  for (const std::int64_t size : sizes) out.push_back({size, size});
  return out;
}

}  // namespace

Result<IrType> IrBuilder::describe(ValueId id) const {
  const EdgeValue value = program_.value(id);
  const auto refuse = [&](const auto&... why) {
    return error(Error::NotSupported, "value '", value.name(), "': ", why...);
  };
  if (!value.is_tensor()) return refuse("expected a tensor, found a number");
  if (std::ranges::find(supported_dtypes, value.scalar_type()) == std::end(supported_dtypes)) {
    return refuse("expected dtype Byte, Char, Int, Long, Half, Bool, Float or BFloat16, found ",
                  name_of(value.scalar_type()));
  }
  if (value.device().device_type != TENON_DL_CPU) {
    return refuse("expected CPU memory, found DLPack device type ", value.device().device_type);
  }
  if (value.rank() > max_rank) {
    return refuse("expected at most ", max_rank, " dimensions, found ", value.rank());
  }
  IrType out;
  out.dtype = value.scalar_type();
  out.sizes.emplace();
  for (std::size_t i = 0; i < value.rank(); ++i) {
    const EdgeSize size = value.size(i);
    out.sizes->push_back(
        {size.min, size.max == EdgeSize::unbounded ? IrSize::unbounded : size.max});
  }
  return out;
}

bool is_in_order(const EdgeValue& value) noexcept {
  const auto order = value.dim_order();
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] != i) return false;
  }
  return true;
}

Status IrBuilder::check_order(ValueId id) const {
  if (is_in_order(program_.value(id))) return tenon::ok();
  return error(Error::NotSupported, "value '", program_.value(id).name(),
               "': expected dimensions in their own order in memory");
}

std::string IrBuilder::unique_name(std::string name) {
  std::string out = name;
  for (std::size_t number = 1; !names_.insert(out).second; ++number) {
    out = tenon::concat(name, "_", number);
  }
  return out;
}

Output IrBuilder::add_layer(Layer layer) {
  layer.name = unique_name(std::move(layer.name));
  ir_.layers.push_back(std::move(layer));
  handles_.push_back(debug_handle_);
  return {static_cast<std::uint32_t>(ir_.layers.size() - 1), 0};
}

Output IrBuilder::add_parameter(std::string_view name, IrType type) {
  return add_layer({std::string(name),
                    "Parameter",
                    "opset1",
                    {{"shape", shape_text(*type.sizes)},
                     {"element_type", std::string(element_type(type.dtype))}},
                    {},
                    {type}});
}

Status IrBuilder::add_inputs() {
  for (const ValueId id : program_.inputs()) {
    const EdgeValue value = program_.value(id);
    if (value.kind() == EdgeValueKind::SymInt) {
      values_[id] = add_parameter(value.name(), {ScalarType::Long, as_sizes({{1}})});
      continue;
    }
    TENON_TRY(IrType type, describe(id));
    TENON_RETURN_IF_ERROR(check_order(id));
    values_[id] = add_parameter(value.name(), std::move(type));
  }
  return tenon::ok();
}

Status IrBuilder::add_outputs() {
  debug_handle_ = 0;
  for (std::size_t i = 0; i < program_.num_outputs(); ++i) {
    const auto output = program_.output(i);
    const EdgeValue value = program_.value(output.value);
    if (output.kind != tenon::aot::EdgeOutputKind::UserOutput) {
      return error(Error::NotSupported, "output ", i, " ('", value.name(),
                   "') changes a buffer or an input");
    }
    TENON_TRY(const Output from, tensor(output.value));
    TENON_RETURN_IF_ERROR(check_order(output.value));
    (void)add_layer({tenon::concat(value.name(), "/result"), "Result", "opset1", {}, {from}, {}});
  }
  return tenon::ok();
}

Result<Output> IrBuilder::tensor(ValueId id) {
  if (const auto found = values_.find(id); found != values_.end()) {
    if (program_.value(id).is_tensor()) return found->second;
  }
  const EdgeValue value = program_.value(id);
  TENON_TRY(IrType type, describe(id));
  if (value.has_fqn()) {
    TENON_RETURN_IF_ERROR(check_order(id));
    std::vector<std::int64_t> sizes;
    std::uint64_t nbytes = tenon::size_of(type.dtype);
    for (const IrSize& size : *type.sizes) {
      sizes.push_back(size.max);
      nbytes *= static_cast<std::uint64_t>(size.max);
    }
    if (purpose_ == Purpose::Compile && value.data().size() != nbytes) {
      return error(Error::InvalidProgram, "value '", value.name(), "': expected ", nbytes,
                   " bytes of data, found ", value.data().size());
    }
    return values_[id] = constant(value.fqn(), type.dtype, sizes, value.data());
  }
  if (purpose_ == Purpose::Compile) {
    return error(Error::InvalidProgram, "value '", value.name(), "' is read before it is made");
  }
  return values_[id] = add_parameter(value.name(), std::move(type));
}

Result<Output> IrBuilder::symbol(ValueId id) {
  const EdgeValue value = program_.value(id);
  if (value.kind() != EdgeValueKind::SymInt) {
    return error(Error::NotSupported, "value '", value.name(), "': expected an integer");
  }
  if (const auto found = values_.find(id); found != values_.end()) return found->second;
  if (purpose_ == Purpose::Compile) {
    return error(Error::InvalidProgram, "value '", value.name(), "' is read before it is made");
  }
  return values_[id] = add_parameter(value.name(), {ScalarType::Long, as_sizes({{1}})});
}

Result<tenon::Bytes> IrBuilder::data(ValueId id) const {
  const EdgeValue value = program_.value(id);
  if (!value.has_fqn()) {
    return error(Error::NotSupported, "value '", value.name(),
                 "': expected a parameter, buffer or constant");
  }
  return purpose_ == Purpose::Judge ? tenon::Bytes() : value.data();
}

Output IrBuilder::constant(std::string_view name, ScalarType dtype,
                           std::span<const std::int64_t> sizes, tenon::Bytes bytes) {
  const std::vector<IrSize> shape = as_sizes(sizes);
  Attributes attributes = {{"element_type", std::string(element_type(dtype))},
                           {"shape", shape_text(shape)}};
  const std::string type = tenon::concat(attributes[0].second, "[", attributes[1].second, "]");
  // A node that is judged is not compiled: weights are neither hashed nor copied for it.
  if (purpose_ == Purpose::Judge) bytes = {};
  const std::string digest = purpose_ == Purpose::Judge ? std::string() : tenon::sha256_hex(bytes);
  const std::string key = tenon::concat(type, digest);
  if (!digest.empty()) {
    if (const auto found = constants_.find(key); found != constants_.end()) return found->second;
  }
  // Equal bytes are stored once, also in another shape.
  const auto [place, is_new] = offsets_.try_emplace(digest, ir_.weights.size());
  if (is_new || digest.empty()) {
    place->second = ir_.weights.size();
    ir_.weights.insert(ir_.weights.end(), bytes.begin(), bytes.end());
    const std::size_t padded =
        (ir_.weights.size() + weights_alignment - 1) / weights_alignment * weights_alignment;
    ir_.weights.resize(padded);
  }
  attributes.emplace_back("offset", tenon::concat(place->second));
  attributes.emplace_back("size", tenon::concat(bytes.size()));
  const Output out = add_layer(
      {std::string(name), "Const", "opset1", std::move(attributes), {}, {{dtype, shape}}});
  if (!digest.empty()) constants_.emplace(key, out);
  return out;
}

Output IrBuilder::integers(std::span<const std::int64_t> elements) {
  const std::int64_t count = static_cast<std::int64_t>(elements.size());
  return constant("integers", ScalarType::Long, {&count, 1}, std::as_bytes(elements));
}

Output IrBuilder::integer(std::int64_t element) {
  return constant("integer", ScalarType::Long, {}, std::as_bytes(std::span(&element, 1)));
}

Output IrBuilder::scalar(double value, ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Long:
      return integer(static_cast<std::int64_t>(value));
    case ScalarType::Bool: {
      const std::byte element{static_cast<unsigned char>(value != 0 ? 1 : 0)};
      return constant("scalar", dtype, {}, {&element, 1});
    }
    case ScalarType::Float: {
      const float element = static_cast<float>(value);
      return constant("scalar", dtype, {}, std::as_bytes(std::span(&element, 1)));
    }
    case ScalarType::Int: {
      const auto element = static_cast<std::int32_t>(value);
      return constant("scalar", dtype, {}, std::as_bytes(std::span(&element, 1)));
    }
    default: {
      // OpenVINO rounds a constant to a smaller type when it compiles the model.
      return convert(scalar(value, ScalarType::Float), dtype);
    }
  }
}

Output IrBuilder::add(NewLayer layer) {
  Layer out;
  out.name = tenon::concat(node_name_, "/", layer.type);
  out.type = layer.type;
  out.opset = layer.opset;
  out.attributes = std::move(layer.attributes);
  out.inputs = std::move(layer.inputs);
  out.outputs.assign(layer.num_outputs, {layer.dtype, std::nullopt});
  return add_layer(std::move(out));
}

Output IrBuilder::convert(Output from, ScalarType to) {
  if (dtype(from) == to) return from;
  return add({.type = "Convert",
              .inputs = {from},
              .attributes = {{"destination_type", std::string(element_type(to))}},
              .dtype = to});
}

void IrBuilder::announce(const tenon::aot::EdgeNode& node) {
  node_name_ = node.name();
  debug_handle_ = node.debug_handle();
  first_layer_ = ir_.layers.size();
}

Status IrBuilder::bind(ValueId id, Output output) {
  TENON_TRY(IrType declared, describe(id));
  Layer& layer = ir_.layers[output.layer];
  if (declared.dtype != layer.outputs[output.port].dtype) {
    return error(Error::NotSupported, "value '", program_.value(id).name(), "' is ",
                 name_of(declared.dtype), " in the program, but the operator makes ",
                 name_of(layer.outputs[output.port].dtype));
  }
  // An operator without code of its own passes a layer on that belongs to another node.
  const bool is_own = output.layer >= first_layer_;
  if (is_own && layer.type != "Const") {
    layer.outputs[output.port].sizes = std::move(declared.sizes);
    if (names_.insert(node_name_).second) layer.name = node_name_;
  }
  values_[id] = output;
  return tenon::ok();
}

tenon::aot::DebugHandleMap IrBuilder::handles() const {
  tenon::aot::DebugHandleMap out;
  for (std::size_t i = 0; i < ir_.layers.size(); ++i) {
    const Layer& layer = ir_.layers[i];
    if (handles_[i] == 0 || layer.type == "Const") continue;
    out.add(layer.name, {&handles_[i], 1});
  }
  return out;
}

}  // namespace openvino_backend
