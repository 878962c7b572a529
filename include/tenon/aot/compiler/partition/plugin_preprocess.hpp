// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/draft/preprocess.h"
#include "tenon/aot/compiler/partition/weight_access.hpp"
#include "tenon/aot/edge_program.hpp"
#include "tenon/aot/partition_result.hpp"
#include "tenon/aot/preprocess_result.hpp"
#include "tenon/aot/program_data.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/plugin/backend.hpp"
#include "tenon/host/loader/registry/backend_ref.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {
class BackendRegistry;
}}}  // namespace tenon::TENON_RELEASE::host

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

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
/// "tenon.preprocess/1" (abi/draft/preprocess.h). Holds the backend, and with it the
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

}}}  // namespace tenon::TENON_RELEASE::aot
