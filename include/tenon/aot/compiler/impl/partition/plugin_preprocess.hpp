// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/aot/compiler/partition/plugin_preprocess.hpp"

#include <algorithm>
#include <cstdint>

#include "tenon/aot/compiler/impl/partition/given_programs.hpp"
#include "tenon/aot/compiler/impl/partition/partition_sink.hpp"
#include "tenon/aot/compiler/impl/partition/preprocess_sink.hpp"
#include "tenon/aot/compiler/impl/partition/sink_calls.hpp"
#include "tenon/aot/compiler/lower/lower.hpp"
#include "tenon/aot/compiler/partition/plugin_call.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/backend_registry.hpp"
#include "tenon/host/loader/plugin/last_error.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

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

Result<PluginPreprocess> PluginPreprocess::of(host::BackendRef backend, PreprocessOptions options) {
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

Result<PluginPreprocess> PluginPreprocess::find(const host::BackendRegistry& registry,
                                                std::string_view id, PreprocessOptions options) {
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

Result<PartitionResult> PluginPreprocess::partition(
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

Result<std::vector<std::string>> PluginPreprocess::ops_to_not_decompose(
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

Result<std::vector<PreprocessResult>> PluginPreprocess::preprocess(
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

}}}  // namespace tenon::TENON_RELEASE::aot
