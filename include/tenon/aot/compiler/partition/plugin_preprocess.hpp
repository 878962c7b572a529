// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/extensions/preprocess.h"
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

/// One partition for a backend to compile, with its compile specs. Refers to the program.
struct PartitionToCompile {
  EdgeProgram program;
  std::vector<CompileSpecData> compile_specs;
};

/// The ahead-of-time half of a backend in a plugin, called through extension
/// "tenon.draft.preprocess/1" (abi/extensions/preprocess.h). Holds the backend, and with it the
/// plugin. What the plugin sends is checked and copied; a failure names the backend and the call.
/// Any thread.
class PluginPreprocess {
 public:
  /// NotSupported for a backend without the extension.
  [[nodiscard]] static Result<PluginPreprocess> of(host::BackendRef backend);

  /// Looks the backend up by the id that programs name. Fails as
  /// `BackendRegistry::lookup_backend`, and as `of` with the ids of known backends that can
  /// compile: for that it loads them.
  [[nodiscard]] static Result<PluginPreprocess> find(const host::BackendRegistry& registry,
                                                     std::string_view id);

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
  PluginPreprocess(host::BackendRef backend, const tenon_preprocess_v1& table) noexcept
      : backend_(std::move(backend)), table_(table) {}

  host::BackendRef backend_;
  tenon_preprocess_v1 table_;
};

}  // namespace tenon::aot

#if TENON_COMPILER_DEFINITIONS

#include <algorithm>
#include <cstdint>

#include "tenon/aot/compiler/lower/lower.hpp"
#include "tenon/aot/compiler/partition/partition_sink.hpp"
#include "tenon/aot/compiler/partition/preprocess_sink.hpp"
#include "tenon/aot/compiler/partition/sink_calls.hpp"
#include "tenon/aot/preprocess_table.hpp"
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

/// Calls the plugin. An error of the sink takes precedence over the plugin's status.
template <class Call>
Status call_plugin(const host::LoadedBackend& backend, std::string_view function, SinkCalls& sink,
                   const Call& into_plugin) {
  host::detail::last_error() = {};  // An earlier call's error is not this one's reason.
  const tenon_status status = into_plugin();
  if (Status refused = sink.take_problem(); !refused.ok()) {
    return std::move(refused).with_context(where(backend, function));
  }
  if (status == TENON_STATUS_OK) return ok();
  return host::take_last_error(backend.host(), status).with_context(where(backend, function));
}

}  // namespace detail

TENON_API Result<PluginPreprocess> PluginPreprocess::of(host::BackendRef backend) {
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
  return PluginPreprocess(std::move(backend), *table);
}

TENON_API Result<PluginPreprocess> PluginPreprocess::find(const host::BackendRegistry& registry,
                                                          std::string_view id) {
  TENON_TRY(host::BackendRef backend, registry.lookup_backend(id));
  auto found = of(std::move(backend));
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
  const std::vector<tenon_compile_spec> specs = detail::write_specs(options);
  detail::PartitionSink sink(program, id());
  TENON_RETURN_IF_ERROR(detail::call_plugin(*backend_, "partition", sink, [&] {
    return table_.partition(backend_->raw(), &program.raw(), specs.data(),
                            static_cast<std::uint32_t>(specs.size()), sink.abi());
  }));
  return sink.take_result();
}

TENON_API Result<std::vector<std::string>> PluginPreprocess::ops_to_not_decompose(
    const EdgeProgram& program) const {
  detail::TargetSink sink;
  if (table_.ops_to_not_decompose == nullptr) return sink.targets;
  TENON_RETURN_IF_ERROR(detail::call_plugin(*backend_, "ops_to_not_decompose", sink, [&] {
    return table_.ops_to_not_decompose(backend_->raw(), &program.raw(), &detail::TargetSink::add,
                                       &sink);
  }));
  return std::move(sink.targets);
}

TENON_API Result<std::vector<PreprocessResult>> PluginPreprocess::preprocess(
    std::span<const PartitionToCompile> partitions) const {
  std::vector<EdgeProgram> programs;
  std::vector<std::vector<tenon_compile_spec>> specs;
  std::vector<tenon_partition> all;
  for (const PartitionToCompile& one : partitions) {
    programs.push_back(one.program);
    specs.push_back(detail::write_specs(one.compile_specs));
    all.push_back({sizeof(tenon_partition), static_cast<std::uint32_t>(specs.back().size()),
                   &one.program.raw(), specs.back().data()});
  }
  detail::PreprocessSink sink(programs);
  TENON_RETURN_IF_ERROR(detail::call_plugin(*backend_, "preprocess", sink, [&] {
    return table_.preprocess(backend_->raw(), all.data(), static_cast<std::uint32_t>(all.size()),
                             sink.abi());
  }));
  auto results = sink.take_results();
  if (results.ok()) return results;
  return std::move(results).status().with_context(detail::where(*backend_, "preprocess"));
}

}  // namespace tenon::aot

#endif  // TENON_COMPILER_DEFINITIONS
