// SPDX-License-Identifier: MIT
#include "runtime/model.hpp"

#include <algorithm>
#include <tenon/core/sha256.hpp>
#include <utility>

#include "common/blob.hpp"
#include "runtime/export.hpp"

namespace openvino_backend {
namespace {

using tenon::Error;
using tenon::ScalarType;

std::optional<ScalarType> scalar_type_of(ElementType type) noexcept {
  switch (type) {
    case ElementType::boolean:
      return ScalarType::Bool;
    case ElementType::bf16:
      return ScalarType::BFloat16;
    case ElementType::f16:
      return ScalarType::Half;
    case ElementType::f32:
      return ScalarType::Float;
    case ElementType::f64:
      return ScalarType::Double;
    case ElementType::i8:
      return ScalarType::Char;
    case ElementType::i16:
      return ScalarType::Short;
    case ElementType::i32:
      return ScalarType::Int;
    case ElementType::i64:
      return ScalarType::Long;
    case ElementType::u8:
      return ScalarType::Byte;
    case ElementType::u16:
      return ScalarType::UInt16;
    case ElementType::u32:
      return ScalarType::UInt32;
    case ElementType::u64:
      return ScalarType::UInt64;
    default:
      return std::nullopt;
  }
}

tenon::Result<Port> read_port(const Api& api, const ov_output_const_port* from,
                              std::string_view name) {
  Port port;
  TENON_RETURN_IF_ERROR(
      check(api, api.port_get_element_type(from, &port.element_type), "read the type of a port"));
  const auto scalar_type = scalar_type_of(port.element_type);
  if (!scalar_type) {
    return tenon::error(Error::NotSupported, name, ": element type ",
                        static_cast<std::int32_t>(port.element_type),
                        " of OpenVINO has no counterpart in ExecuTorch");
  }
  port.scalar_type = *scalar_type;
  ov_partial_shape shape{};
  TENON_RETURN_IF_ERROR(
      check(api, api.port_get_partial_shape(from, &shape), "read the shape of a port"));
  const bool has_rank = shape.rank.min == shape.rank.max && shape.rank.min >= 0;
  if (has_rank && shape.rank.min != 0) {
    port.dims.assign(shape.dims, shape.dims + shape.rank.min);
  }
  api.partial_shape_free(&shape);
  if (!has_rank) return tenon::error(Error::NotSupported, name, ": its rank is dynamic");
  port.is_static =
      std::ranges::all_of(port.dims, [](const ov_dimension& dim) { return dim.min == dim.max; });
  return port;
}

/// All that a compiled model depends on besides the IR.
tenon::Result<std::string> identity_of(const Settings& settings, const Core& core,
                                       tenon::Bytes weights) {
  char* name = nullptr;
  TENON_RETURN_IF_ERROR(check(core.api(),
                              core.api().core_get_property(core.object.get(), core.device.c_str(),
                                                           "FULL_DEVICE_NAME", &name),
                              tenon::concat("name device ", core.device)));
  std::string out =
      tenon::concat(core.library->version(), "\n", core.device, "\n", std::string_view(name), "\n");
  core.api().free(name);
  for (const auto& [key, value] : settings.properties()) {
    out += tenon::concat(key, "=", value, "\n");
  }
  return out + tenon::sha256_hex(weights);
}

}  // namespace

bool Port::accepts(std::span<const std::int64_t> sizes) const noexcept {
  if (sizes.size() != dims.size()) return false;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < dims[i].min || (dims[i].max >= 0 && sizes[i] > dims[i].max)) return false;
  }
  return true;
}

std::string text_of(const Port& port) {
  std::string out = "[";
  for (const ov_dimension& dim : port.dims) {
    if (out.size() > 1) out += ", ";
    out += tenon::concat(dim.min);
    if (dim.max < 0) out += "..";
    if (dim.max > dim.min) out += tenon::concat("..", dim.max);
  }
  return out + "]";
}

tenon::Result<std::shared_ptr<const Model>> Model::load(std::shared_ptr<const Core> core,
                                                        const Settings& settings,
                                                        tenon::InitContext& context,
                                                        const tenon::HostServices& host,
                                                        tenon::Blob payload) {
  // Not make_shared: the constructor is private.
  std::shared_ptr<Model> out(new Model());
  out->core_ = std::move(core);
  out->has_profiling_ = settings.profiling;
  out->compiled_ = OwnedCompiledModel(out->api());
  if (is_ir_blob(payload.bytes())) {
    TENON_RETURN_IF_ERROR(out->compile(settings, context, host, payload.bytes()));
    payload.release();
  } else {
    TENON_TRY(const ExportedBlob blob, read_exported_blob(payload.bytes()));
    TENON_RETURN_IF_ERROR(check_origin(blob, out->core_->library->version(), {}));
    // The imported model points into the payload, which therefore is not released.
    TENON_RETURN_IF_ERROR(out->import(payload.bytes()));
  }
  TENON_RETURN_IF_ERROR(out->read_ports());
  return std::shared_ptr<const Model>(std::move(out));
}

tenon::Status Model::import(tenon::Bytes payload) {
  const std::string_view text = tenon::as_text(payload);
  return check(api(),
               api().core_import_model(core_->object.get(), text.data(), text.size(),
                                       core_->device.c_str(), compiled_.out()),
               tenon::concat("import the exported model for ", core_->device, " (here is OpenVINO ",
                             core_->library->version(), ")"),
               Error::InvalidProgram);
}

tenon::Status Model::compile(const Settings& settings, tenon::InitContext& context,
                             const tenon::HostServices& host, tenon::Bytes payload) {
  TENON_TRY(const IrBlob blob, read_ir_blob(payload));
  tenon::Bytes weights;
  if (!blob.key.empty()) {
    const auto map = context.named_data_map();
    if (!map) {
      return tenon::error(Error::InvalidExternalData, "the weights are named data '", blob.key,
                          "', and the program has none");
    }
    TENON_TRY(weights_, map->get_data(blob.key));
    weights = weights_->bytes();
    if (weights.size() != blob.weights_size) {
      return tenon::error(Error::InvalidExternalData, "named data '", blob.key, "': expected ",
                          blob.weights_size, " bytes of weights, found ", weights.size());
    }
  }
  TENON_TRY(const std::string identity, identity_of(settings, *core_, weights));
  prepared_ =
      tenon::Prepared(host.extension<tenon_prepare_v1>(TENON_EXTENSION_PREPARE), context, identity);
  if (!prepared_.bytes().empty()) {
    const tenon::Status imported = import(prepared_.bytes());
    if (imported.ok()) return tenon::ok();
    host.log(tenon::LogLevel::Info, "compiled again: ", imported.text());
  }
  OwnedTensor tensor(api());
  if (!weights.empty()) {
    auto size = static_cast<std::int64_t>(weights.size());
    // OpenVINO reads them alone, but has no function that says so.
    void* data = const_cast<std::byte*>(weights.data());
    TENON_RETURN_IF_ERROR(check(
        api(),
        api().tensor_create_from_host_ptr(ElementType::u8, ov_shape{1, &size}, data, tensor.out()),
        "refer to the weights"));
  }
  OwnedModel model(api());
  TENON_RETURN_IF_ERROR(
      check(api(),
            api().core_read_model_from_memory_buffer(core_->object.get(), blob.xml.data(),
                                                     blob.xml.size(), tensor.get(), model.out()),
            "read the IR", Error::InvalidProgram));
  TENON_RETURN_IF_ERROR(check(api(),
                              api().core_compile_model(core_->object.get(), model.get(),
                                                       core_->device.c_str(), 0, compiled_.out()),
                              tenon::concat("compile the IR for ", core_->device),
                              Error::InvalidProgram));
  if (prepared_.exists()) {
    const auto exported = export_model(api(), compiled_.get());
    if (exported.ok()) {
      prepared_.store(*exported);
    } else {
      host.log(tenon::LogLevel::Info, "not kept: ", exported.text());
    }
  }
  return tenon::ok();
}

tenon::Status Model::read_ports() {
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  TENON_RETURN_IF_ERROR(
      check(api(), api().compiled_model_inputs_size(compiled_.get(), &inputs), "count the inputs"));
  TENON_RETURN_IF_ERROR(check(api(), api().compiled_model_outputs_size(compiled_.get(), &outputs),
                              "count the outputs"));
  for (std::size_t i = 0; i < inputs; ++i) {
    OwnedPort port(api());
    TENON_RETURN_IF_ERROR(check(api(),
                                api().compiled_model_input_by_index(compiled_.get(), i, port.out()),
                                "find an input"));
    TENON_TRY(Port read, read_port(api(), port.get(), tenon::concat("input ", i)));
    inputs_.push_back(std::move(read));
  }
  for (std::size_t i = 0; i < outputs; ++i) {
    OwnedPort port(api());
    TENON_RETURN_IF_ERROR(
        check(api(), api().compiled_model_output_by_index(compiled_.get(), i, port.out()),
              "find an output"));
    TENON_TRY(Port read, read_port(api(), port.get(), tenon::concat("output ", i)));
    outputs_.push_back(std::move(read));
  }
  return tenon::ok();
}

}  // namespace openvino_backend
