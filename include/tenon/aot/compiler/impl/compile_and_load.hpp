// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/aot/compiler/compile_and_load.hpp"

#include <cstring>
#include <string>

#include "tenon/aot/compiler/compile_methods.hpp"
#include "tenon/aot/compiler/partition/plugin_preprocess.hpp"
#include "tenon/aot/compiler/program_in_memory.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/tensor.hpp"
#include "tenon/host/layers/arrays/value_array.hpp"
#include "tenon/host/layers/data/data_files.hpp"
#include "tenon/host/layers/discovery/discovery.hpp"

namespace tenon { inline namespace TENON_RELEASE {

namespace detail {

/// A copy of an output, from any device.
inline Result<host::Array> copy_output(const host::Method& method, std::size_t index) {
  const tenon_value& value = method.output(index);
  host::Array out;
  if (value.kind == TENON_VALUE_TENSOR) {
    const TensorView tensor(*value.as.tensor);
    if (tensor.device().device_type != TENON_DL_CPU) {
      if (!tensor.is_contiguous()) {
        return error(Error::NotSupported,
                     "expected elements in C order, found other strides on DLPack device type ",
                     tensor.device().device_type);
      }
      out.type = tensor.scalar_type();
      out.shape.assign(tensor.sizes().begin(), tensor.sizes().end());
      out.data = host::ArrayBytes::uninitialized(tensor.nbytes());
      TENON_RETURN_IF_ERROR(method.read_output(index, {out.data.data(), out.data.size()}));
      return out;
    }
  }
  TENON_TRY(host::ValueArray array, host::to_array(value));
  out.type = array.type;
  out.shape = std::move(array.shape);
  out.data = host::ArrayBytes::uninitialized(array.data.size());
  if (!array.data.empty()) std::memcpy(out.data.data(), array.data.data(), array.data.size());
  return out;
}

}  // namespace detail

Status CompiledFunction::set_inputs(std::span<const host::ArrayView> inputs) {
  if (inputs.size() != method_->num_inputs()) {
    return error(Error::InvalidArgument, "method ", method_->name(), ": expected ",
                 method_->num_inputs(), " inputs, found ", inputs.size());
  }
  rearranged_.clear();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const host::ArrayView& input = inputs[i];
    std::span<const std::byte> bytes = input.data;
    const TensorView tensor(*method_->input(i).as.tensor);  // No graph has other inputs.
    if (!tensor.is_contiguous() && tensor.rank() == input.shape.size()) {
      host::Array copy{input.type,
                       {input.shape.begin(), input.shape.end()},
                       host::ArrayBytes::uninitialized(bytes.size())};
      if (!bytes.empty()) std::memcpy(copy.data.data(), bytes.data(), bytes.size());
      bytes = rearranged_.emplace_back(host::to_layout(std::move(copy), tensor.dim_order())).span();
    }
    TENON_RETURN_IF_ERROR(method_->set_input(i, {input.type, input.shape, bytes}));
  }
  return ok();
}

Result<std::vector<host::Array>> CompiledFunction::operator()(
    std::span<const host::ArrayView> inputs) {
  TENON_RETURN_IF_ERROR(set_inputs(inputs));
  TENON_RETURN_IF_ERROR(method_->execute());
  std::vector<host::Array> out;
  for (std::size_t i = 0; i < method_->num_outputs(); ++i) {
    auto array = detail::copy_output(*method_, i);
    if (!array.ok()) {
      return std::move(array).status().with_context(
          concat("method ", method_->name(), ": output ", i));
    }
    out.push_back(*std::move(array));
  }
  return out;
}

Result<CompiledFunction> compile_and_load(const aot::EdgeProgram& exported,
                                          std::string_view backend_id,
                                          std::span<const host::ArrayView> example_inputs,
                                          CompileAndLoadOptions options) {
  std::shared_ptr<host::BackendRegistry> own;
  const host::BackendRegistry* registry = options.registry;
  if (registry == nullptr) {
    own = std::make_shared<host::BackendRegistry>(std::move(options.host));
    own->add_search(host::discovery());
    registry = own.get();
  }
  TENON_TRY(auto backend, aot::PluginPreprocess::find(*registry, backend_id));
  const aot::BackendToUse use{std::move(backend), std::move(options.compile_specs),
                              options.whole_program};
  TENON_TRY(const auto compiled, aot::compile_methods(std::span(&exported, 1), std::span(&use, 1)));
  TENON_TRY(const auto made,
            aot::make_program(compiled, concat("the program that ", backend_id, " compiled")));
  options.method.registry = registry;
  options.method.layers.add(host::DataFiles(made.data_files));
  TENON_TRY(auto method,
            host::Method::load(made.program, exported.method_name(), std::move(options.method)));
  CompiledFunction function(std::move(own), std::move(method));
  TENON_RETURN_IF_ERROR(function.set_inputs(example_inputs).with_context("example inputs"));
  return function;
}

}}  // namespace tenon::TENON_RELEASE
