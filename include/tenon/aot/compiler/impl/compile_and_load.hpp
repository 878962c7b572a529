// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/aot/compiler/compile_and_load.hpp"

#include <string>

#include "tenon/aot/compiler/compile_methods.hpp"
#include "tenon/aot/compiler/partition/plugin_preprocess.hpp"
#include "tenon/aot/compiler/program_in_memory.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/layers/arrays/value_array.hpp"
#include "tenon/host/layers/data/data_files.hpp"
#include "tenon/host/layers/discovery/discovery.hpp"

namespace tenon { inline namespace TENON_RELEASE {

Status CompiledFunction::set_inputs(std::span<const host::ArrayView> inputs) {
  if (inputs.size() != method_->num_inputs()) {
    return error(Error::InvalidArgument, "method ", method_->name(), ": expected ",
                 method_->num_inputs(), " inputs, found ", inputs.size());
  }
  rearranged_.clear();
  rearranged_.resize(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    TENON_RETURN_IF_ERROR(host::set_array(*method_, i, inputs[i], rearranged_[i]));
  }
  return ok();
}

Result<std::vector<host::Array>> CompiledFunction::operator()(
    std::span<const host::ArrayView> inputs) {
  TENON_RETURN_IF_ERROR(set_inputs(inputs));
  TENON_RETURN_IF_ERROR(method_->execute());
  std::vector<host::Array> out;
  for (std::size_t i = 0; i < method_->num_outputs(); ++i) {
    auto array = host::copy_output(*method_, i);
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
