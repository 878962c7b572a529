// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/extensions/preprocess.h"
#include "tenon/aot/compiler/partition/weight_copies.hpp"
#include "tenon/aot/edge_program.hpp"
#include "tenon/aot/partition_result.hpp"
#include "tenon/aot/preprocess_result.hpp"
#include "tenon/aot/program_data.hpp"
#include "tenon/core/api.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/plugin/backend.hpp"
#include "tenon/host/registry/backend_ref.hpp"

namespace tenon::host {
class BackendRegistry;
}

namespace tenon::aot {

namespace detail {
class GivenPrograms;
class SinkCalls;
}  // namespace detail

/// One partition for a backend to compile, with its compile specs. Refers to the program.
struct PartitionToCompile {
  EdgeProgram program;
  std::vector<CompileSpecData> compile_specs;
};

/// How the ahead-of-time half of a plugin is called.
struct PreprocessOptions {
  WeightAccess weights = WeightAccess::read_only;
  /// Receives the error for a plugin that changed what it may only read, with the backend and the
  /// call; the result of the call then counts nevertheless. Empty: such a call fails. Called on the
  /// thread of the call.
  std::function<void(const Status&)> on_change{};
};

/// The ahead-of-time half of a backend in a plugin, called through extension
/// "tenon.draft.preprocess/1" (abi/extensions/preprocess.h). Holds the backend, and with it the
/// plugin. What the plugin sends is checked and copied; a failure names the backend and the call.
/// Any thread.
///
/// A plugin cannot change the caller's programs, not even with a `const_cast`: it gets descriptions
/// of its own, and weights that it cannot write (TN-AOT-6). A changed description is an error,
/// Internal, that names what was changed. Writing to weights ends the process with a signal;
/// `current_plugin_call` names the plugin to a handler.
class PluginPreprocess {
 public:
  /// NotSupported for a backend without the extension.
  [[nodiscard]] static Result<PluginPreprocess> of(host::BackendRef backend,
                                                   PreprocessOptions options = {});

  /// Looks the backend up by the id that programs name. Fails as
  /// `BackendRegistry::lookup_backend`, and as `of` with the ids of known backends that can
  /// compile: for that it loads them.
  [[nodiscard]] static Result<PluginPreprocess> find(const host::BackendRegistry& registry,
                                                     std::string_view id,
                                                     PreprocessOptions options = {});

  [[nodiscard]] const host::LoadedBackend& backend() const noexcept { return *backend_; }
  [[nodiscard]] std::string_view id() const noexcept { return backend_->id(); }
  /// Whether the backend chooses nodes itself; else it compiles a program as a whole.
  [[nodiscard]] bool has_partition() const noexcept { return table_.partition != nullptr; }

  /// Asks which nodes the backend takes. A backend that does not choose gets all of them, with
  /// `options` as its compile specs (`partition_whole_program`).
  ///
  /// errors: the backend's own; InvalidArgument for a tag or number that does not fit the program.
  [[nodiscard]] Result<PartitionResult> partition(
      const EdgeProgram& program, const std::vector<CompileSpecData>& options) const;

  /// The operators that an exporter should not decompose for this backend, each once; none when it
  /// has no wish.
  [[nodiscard]] Result<std::vector<std::string>> ops_to_not_decompose(
      const EdgeProgram& program) const;

  /// Compiles partitions, all of one file in one call, so that they may share data. The results
  /// are in the order of the partitions.
  ///
  /// errors: the backend's own; InvalidArgument for what it sends and must not; Internal when a
  ///         partition got no blob.
  [[nodiscard]] Result<std::vector<PreprocessResult>> preprocess(
      std::span<const PartitionToCompile> partitions) const;

 private:
  PluginPreprocess(host::BackendRef backend, const tenon_preprocess_v1& table,
                   PreprocessOptions options) noexcept
      : backend_(std::move(backend)), table_(table), options_(std::move(options)) {}

  /// Calls the plugin with `given`. An error of the sink takes precedence over a change of what it
  /// was given, and that over the plugin's status.
  template <class Call>
  [[nodiscard]] Status call(const char* function, const detail::GivenPrograms& given,
                            detail::SinkCalls& sink, const Call& into_plugin) const;

  host::BackendRef backend_;
  tenon_preprocess_v1 table_;
  PreprocessOptions options_;
};

}  // namespace tenon::aot

#if TENON_COMPILER_DEFINITIONS

#include <algorithm>
#include <cstdint>

#include "tenon/aot/compiler/lower/lower.hpp"
#include "tenon/aot/compiler/partition/given_programs.hpp"
#include "tenon/aot/compiler/partition/partition_sink.hpp"
#include "tenon/aot/compiler/partition/plugin_call.hpp"
#include "tenon/aot/compiler/partition/preprocess_sink.hpp"
#include "tenon/aot/compiler/partition/sink_calls.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/plugin/last_error.hpp"
#include "tenon/host/registry/registry.hpp"

namespace tenon::aot {

namespace detail {

/// Collects the operators that a backend names.
struct TargetSink : SinkCalls {
  std::vector<std::string> targets;

  static tenon_status add(void* context, const char* target) noexcept {
    auto& sink = *static_cast<TargetSink*>(context);
    return sink.take([&]() -> Status {
      if (target == nullptr || *target == '\0') {
        return error(Error::InvalidArgument, "an operator without a name");
      }
      if (std::ranges::find(sink.targets, target) == sink.targets.end()) {
        sink.targets.emplace_back(target);
      }
      return ok();
    });
  }
};

/// The context of a failure of `backend`.
inline std::string where(const host::LoadedBackend& backend, std::string_view function) {
  return concat("backend ", backend.id(), ": ", function);
}

}  // namespace detail

template <class Call>
Status PluginPreprocess::call(const char* function, const detail::GivenPrograms& given,
                              detail::SinkCalls& sink, const Call& into_plugin) const {
  const std::string where = detail::where(*backend_, function);
  const std::string name(id());
  const PluginCall here{name.c_str(), backend_->host()->plugin_path, function, given.weights()};
  host::detail::last_error() = {};  // An earlier call's error is not this one's reason.
  tenon_status status = TENON_STATUS_OK;
  {
    const detail::CurrentCall current(here);
    status = into_plugin();
  }
  if (Status refused = sink.take_problem(); !refused.ok()) {
    return std::move(refused).with_context(where);
  }
  if (Status changed = given.check_unchanged(); !changed.ok()) {
    changed = std::move(changed).with_context(where);
    if (!options_.on_change) return changed;
    options_.on_change(changed);
  }
  if (status == TENON_STATUS_OK) return ok();
  return host::take_last_error(backend_->host(), status).with_context(where);
}

TENON_API Result<PluginPreprocess> PluginPreprocess::of(host::BackendRef backend,
                                                        PreprocessOptions options) {
  if (!backend) return error(Error::InvalidArgument, "expected a backend, found none");
  const auto table = backend->extension<tenon_preprocess_v1>(TENON_EXTENSION_PREPROCESS);
  if (!table) {
    return error(Error::NotSupported, "backend ", backend->id(),
                 " cannot compile: its plugin has no ahead-of-time half "
                 "(extension " TENON_EXTENSION_PREPROCESS ")");
  }
  if (table->preprocess == nullptr) {
    return error(Error::NotSupported, "backend ", backend->id(),
                 " cannot compile: its table of " TENON_EXTENSION_PREPROCESS
                 " has no `preprocess`");
  }
  return PluginPreprocess(std::move(backend), *table, std::move(options));
}

TENON_API Result<PluginPreprocess> PluginPreprocess::find(const host::BackendRegistry& registry,
                                                          std::string_view id,
                                                          PreprocessOptions options) {
  TENON_TRY(host::BackendRef backend, registry.lookup_backend(id));
  auto found = of(std::move(backend), std::move(options));
  if (found.ok()) return found;
  std::string others;
  for (const std::string& other : registry.list_backends({})) {
    const auto candidate = registry.lookup_backend(other);
    if (other == id || !candidate.ok() || !of(*candidate).ok()) continue;
    others += concat(others.empty() ? "" : ", ", other);
  }
  return error(found.error(), found.text(),
               others.empty() ? "; no known backend can" : "; these can: ", others);
}

TENON_API Result<PartitionResult> PluginPreprocess::partition(
    const EdgeProgram& program, const std::vector<CompileSpecData>& options) const {
  if (!has_partition()) {
    return partition_whole_program(program, {std::string(id()), options});
  }
  const std::span<const CompileSpecData> specs[] = {options};
  TENON_TRY(const auto given,
            detail::GivenPrograms::make(std::span(&program, 1), specs, options_.weights));
  const tenon_partition& asked = *given->partitions();
  detail::PartitionSink sink(program, id());
  TENON_RETURN_IF_ERROR(call("partition", *given, sink, [&] {
    return table_.partition(backend_->raw(), asked.program, asked.compile_specs,
                            asked.num_compile_specs, sink.abi());
  }));
  return sink.take_result();
}

TENON_API Result<std::vector<std::string>> PluginPreprocess::ops_to_not_decompose(
    const EdgeProgram& program) const {
  detail::TargetSink sink;
  if (table_.ops_to_not_decompose == nullptr) return sink.targets;
  TENON_TRY(const auto given,
            detail::GivenPrograms::make(std::span(&program, 1), {}, options_.weights));
  TENON_RETURN_IF_ERROR(call("ops_to_not_decompose", *given, sink, [&] {
    return table_.ops_to_not_decompose(backend_->raw(), given->partitions()->program,
                                       &detail::TargetSink::add, &sink);
  }));
  return std::move(sink.targets);
}

TENON_API Result<std::vector<PreprocessResult>> PluginPreprocess::preprocess(
    std::span<const PartitionToCompile> partitions) const {
  std::vector<EdgeProgram> programs;
  std::vector<std::span<const CompileSpecData>> specs;
  for (const PartitionToCompile& one : partitions) {
    programs.push_back(one.program);
    specs.emplace_back(one.compile_specs);
  }
  TENON_TRY(const auto given, detail::GivenPrograms::make(programs, specs, options_.weights));
  detail::PreprocessSink sink(programs);
  TENON_RETURN_IF_ERROR(call("preprocess", *given, sink, [&] {
    return table_.preprocess(backend_->raw(), given->partitions(), given->size(), sink.abi());
  }));
  auto results = sink.take_results();
  if (results.ok()) return results;
  return std::move(results).status().with_context(detail::where(*backend_, "preprocess"));
}

}  // namespace tenon::aot

#endif  // TENON_COMPILER_DEFINITIONS
