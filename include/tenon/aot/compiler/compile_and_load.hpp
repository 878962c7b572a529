// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/aot/compiler/link/needs_implementation.hpp"
#include "tenon/aot/edge_program.hpp"
#include "tenon/aot/program_data.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/backend_registry.hpp"
#include "tenon/host/layers/arrays/array.hpp"
#include "tenon/host/loader/method/method.hpp"
#include "tenon/host/loader/plugin/host_info.hpp"

namespace tenon { inline namespace TENON_RELEASE {

/// Options of `compile_and_load`. What they refer to must outlive the function.
struct CompileAndLoadOptions {
  /// Finds the backend. Null: a registry of the function's own, which searches as `discovery` does.
  const host::BackendRegistry* registry = nullptr;
  /// Of that registry: for its plugins, and which of them it loads (`HostInfo::gates`).
  host::HostInfo host{};
  std::vector<aot::CompileSpecData> compile_specs{};
  /// Gives the backend all nodes without asking it which it takes.
  bool whole_program = false;
  /// How the method is loaded: kernels for nodes that the backend did not take, limits, options of
  /// backends. `registry` above replaces the one in here, and files that the compilation makes come
  /// after those in here.
  host::MethodOptions method{};
};

class CompiledFunction;

/// A graph and example inputs to a function that can be called: compiles `exported` with one
/// backend, and loads what it made with the same plugin, in memory (TorchDynamo: CompilerFn, which
/// takes a graph module and example inputs). Nodes that the backend does not take need kernels.
///
/// `example_inputs` must be inputs that the graph takes: each is checked as a call checks it, so
/// that inputs of another number, dtype or shape fail here and not in the first call. They are not
/// run. Neither they nor `exported` are used afterwards.
///
///     TENON_TRY(auto f, tenon::compile_and_load(graph, "AcmeNpu", examples));
///     TENON_TRY(const auto outputs, f(inputs));
///
/// errors: as `PluginPreprocess::find`, `compile_methods`, `make_program` and `Method::load`; for
///         `example_inputs` as a call.
[[nodiscard]] Result<CompiledFunction> compile_and_load(
    const aot::EdgeProgram& exported, std::string_view backend_id,
    std::span<const host::ArrayView> example_inputs, CompileAndLoadOptions options = {});

/// A graph that a backend compiled, ready to be called (TorchDynamo: CompiledFn,
/// torch/_dynamo/backends/registry.py). Movable; one call at a time.
class CompiledFunction {
 public:
  /// Runs it: one array for each input of the graph, in C order; one for each output. The arrays of
  /// inputs must not change meanwhile. Buffers that the graph changes keep their content until the
  /// next call.
  ///
  /// errors: InvalidArgument for another number of inputs; otherwise as `Method::set_input` and
  ///         `Method::execute`, with the number of the input; NotSupported for an output that is no
  ///         array.
  [[nodiscard]] Result<std::vector<host::Array>> operator()(
      std::span<const host::ArrayView> inputs);

  /// The method behind it, for what a call does not offer: options, sessions, streams.
  [[nodiscard]] host::Method& method() noexcept { return *method_; }

 private:
  friend Result<CompiledFunction> compile_and_load(const aot::EdgeProgram&, std::string_view,
                                                   std::span<const host::ArrayView>,
                                                   CompileAndLoadOptions);
  CompiledFunction(std::shared_ptr<const host::BackendRegistry> registry,
                   std::unique_ptr<host::Method> method) noexcept
      : registry_(std::move(registry)), method_(std::move(method)) {}

  [[nodiscard]] Status set_inputs(std::span<const host::ArrayView> inputs);

  std::shared_ptr<const host::BackendRegistry> registry_;  ///< Null: the caller's is used.
  std::unique_ptr<host::Method> method_;
  std::vector<host::ArrayBytes> rearranged_;  ///< Inputs that are not in C order in the program.
};

}}  // namespace tenon::TENON_RELEASE
