// SPDX-License-Identifier: MIT
//
// The part of a run that reads: plugins' records, the program, its data, inputs and expectations.
#include "session.hpp"
#include "tenon/core/args.hpp"
#include "tenon/host/peek.hpp"
#include "values.hpp"

namespace tenon::run {
namespace {

bool is_exported_scalar(std::uint32_t kind) {
  return kind == TENON_VALUE_INT || kind == TENON_VALUE_DOUBLE || kind == TENON_VALUE_BOOL ||
         kind == TENON_VALUE_STRING;
}

// "Float [2, 3]", or "Float up to [2, 3]" when the shape is dynamic.
std::string type_text(const host::TensorMeta& tensor) {
  const std::vector<std::int64_t> sizes(tensor.layout.sizes.begin(), tensor.layout.sizes.end());
  return concat(name_of(tensor.layout.scalar_type),
                tensor.shape_dynamism == TENON_SHAPE_STATIC ? " " : " up to ", shape_text(sizes));
}

// The element type of an output that can be compared with an array.
Result<ScalarType> output_type(const host::MethodMeta& meta, std::size_t index) {
  TENON_TRY(const std::uint32_t kind, meta.output_tag(index));
  switch (kind) {
    case TENON_VALUE_TENSOR: {
      TENON_TRY(const auto tensor, meta.output_tensor_meta(index));
      return tensor.layout.scalar_type;
    }
    case TENON_VALUE_INT:
    case TENON_VALUE_INT_LIST:
      return ScalarType::Long;
    case TENON_VALUE_DOUBLE:
    case TENON_VALUE_DOUBLE_LIST:
      return ScalarType::Double;
    case TENON_VALUE_BOOL:
    case TENON_VALUE_BOOL_LIST:
      return ScalarType::Bool;
    default:
      return error(Error::InvalidType, "output ", index, " is of kind ", value_kind_name(kind),
                   ", which cannot be compared with an array");
  }
}

}  // namespace

Status Session::add_plugins() {
  for (const std::string& path : arguments_.plugins) {
    TENON_TRY(const auto record, host::peek(path));
    if (Status added = registry_.register_backend(path); !added.ok()) {
      const bool twice = added.error() == Error::RegistrationAlreadyRegistered;
      return fail(twice ? ExitCode::wrong_usage : ExitCode::invalid_file, std::move(added));
    }
    PluginReport plugin{path, record.name, record.version, {}};
    for (const auto& backend : record.backends) plugin.backends.push_back(backend.id);
    report_.plugins.push_back(std::move(plugin));
  }
  return ok();
}

Result<std::string> Session::choose_method() const {
  if (!arguments_.method.empty()) {
    TENON_CHECK(program_->plan(arguments_.method));
    return arguments_.method;
  }
  if (program_->num_methods() == 1) return std::string(program_->method_name(0));
  auto forward = program_->plan("forward");
  if (forward.ok()) return std::string("forward");
  return std::move(forward).status().with_context("--method is needed");
}

Status Session::open_program() {
  TENON_CHECK(timed("open", report_.timings.open_ns, [&]() -> Status {
    TENON_TRY(program_, host::Program::open(arguments_.model));
    for (const std::string& path : arguments_.data) {
      TENON_TRY(data_files_.emplace_back(), host::DataFile::open(path));
    }
    return ok();
  }));
  auto method = choose_method();
  if (!method.ok()) return fail(ExitCode::wrong_usage, std::move(method).status());
  report_.method = *std::move(method);
  return ok();
}

Status Session::read_labels() {
  if (arguments_.labels.empty()) return ok();
  TENON_TRY(labels_, tenon::run::read_labels(arguments_.labels));
  return ok();
}

Status Session::read_inputs() {
  TENON_TRY(const host::MethodMeta method, meta());
  std::size_t used = 0;
  for (std::size_t i = 0; i < method.num_inputs(); ++i) {
    TENON_TRY(const std::uint32_t kind, method.input_tag(i));
    if (kind == TENON_VALUE_NONE || is_exported_scalar(kind)) continue;
    if (kind != TENON_VALUE_TENSOR) {
      return error(Error::NotSupported, "method ", report_.method, ": input ", i, " is of kind ",
                   value_kind_name(kind), "; expected a tensor or a number");
    }
    if (used == arguments_.inputs.size()) {
      TENON_TRY(const auto tensor, method.input_tensor_meta(i));
      return error(Error::InvalidArgument, "method ", report_.method, ": input ", i, " (",
                   type_text(tensor), ") has no file; give one more --input");
    }
    TENON_CHECK(read_input(method, i, arguments_.inputs[used++]));
  }
  if (used == arguments_.inputs.size()) return ok();
  return error(Error::InvalidArgument, "method ", report_.method, ": it takes ", used,
               " tensors, but --input was given ", arguments_.inputs.size(), " times");
}

Status Session::read_input(const host::MethodMeta& method, std::size_t index,
                           const std::string& path) {
  TENON_TRY(const auto tensor, method.input_tensor_meta(index));
  TENON_TRY(host::NpyArray file, host::read_npy(path));
  auto array = host::to_scalar_type(std::move(file), tensor.layout.scalar_type);
  if (!array.ok()) {
    return std::move(array).status().with_context(concat("input ", index, ": ", path));
  }
  const ScalarType type = array->type;
  std::vector<std::int64_t> shape = array->shape;
  report_.inputs.push_back({path, concat(name_of(type), " ", shape_text(shape)), type, shape});
  host::ArrayBytes data = host::to_layout(*std::move(array), tensor.layout.dim_order);
  inputs_.push_back({index, type, std::move(shape), std::move(data)});
  return ok();
}

Status Session::read_expected() {
  TENON_TRY(const host::MethodMeta method, meta());
  if (arguments_.expected.size() > method.num_outputs()) {
    return error(Error::InvalidArgument, "method ", report_.method, ": it has ",
                 method.num_outputs(), " outputs, but --expect was given ",
                 arguments_.expected.size(), " times");
  }
  for (std::size_t i = 0; i < arguments_.expected.size(); ++i) {
    TENON_TRY(const ScalarType type, output_type(method, i));
    TENON_TRY(host::NpyArray file, host::read_npy(arguments_.expected[i]));
    auto array = host::to_scalar_type(std::move(file), type);
    if (!array.ok()) {
      return std::move(array).status().with_context(
          concat("output ", i, ": ", arguments_.expected[i]));
    }
    expected_.push_back(*std::move(array));
  }
  return ok();
}

}  // namespace tenon::run
