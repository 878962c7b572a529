// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/isolation/plugin_isolation.hpp"
#include "tenon/host/layers/isolation/worker_settings.hpp"

#if !defined(TENON_WORKERDIR) && __has_include("tenon/host/plugindir.hpp")
#include "tenon/host/plugindir.hpp"
#endif

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// The program of workers of this Tenon, `tenon-worker`, as the build that installed the headers
/// says, or in TENON_WORKERDIR if that is defined. Nothing for headers that were only copied.
[[nodiscard]] inline std::filesystem::path installed_worker() {
#ifdef TENON_WORKERDIR
  return (std::filesystem::path(TENON_WORKERDIR) / "tenon-worker").lexically_normal();
#else
  return {};
#endif
}

/// Which plugins run in a worker, and how.
struct IsolationRule {
  /// As in TENON_DISABLE (docs/hosts/discovery.md): compared with the ids of the plugin's backends,
  /// as the plugin states them, and with the name of its file. A rule whose pattern matches one of
  /// them applies to the whole plugin.
  std::string pattern;
  WorkerSettings settings{};
};

/// Reads rules from a text, as the variable TENON_ISOLATE has them: `PATTERN[=PROFILE]`, separated
/// by commas; the profile is `none` when it is absent. "acme*=driver, CpuAotiBackend=strict"
///
/// threads: any. errors: InvalidArgument, with the rule that cannot be read.
[[nodiscard]] Result<std::vector<IsolationRule>> parse_isolation_rules(std::string_view text);

/// Runs plugins in workers by the first rule that matches (docs/hosts/isolation.md).
///
/// In place of a plugin it loads a copy of the template of isolated plugins, filled in and
/// sealed in memory; no file is written. Workers run exactly the bytes that were checked, of the
/// plugin and of the libraries next to it: the application copies and seals the files again,
/// compares their SHA-256, and hands the copies to its workers. Each plugin that is loaded has
/// workers of its own. Threads: any, also at once.
class WorkerIsolation final : public PluginIsolation {
 public:
  /// `worker` is the program `tenon-worker`, next to which the template `tenon-isolated.so` is.
  /// When it is empty, the variable TENON_WORKER names the program, except for a plugin that a
  /// LibraryPolicy admitted, and otherwise it is the installed one.
  explicit WorkerIsolation(std::vector<IsolationRule> rules, std::filesystem::path worker = {});

  [[nodiscard]] const std::vector<IsolationRule>& rules() const noexcept { return rules_; }

  /// errors: none.
  [[nodiscard]] Result<bool> isolates(const PluginRecord& record,
                                      std::string_view file_name) const override;

  /// An isolated plugin is returned as it is when its own profile refuses what the rule's refuses.
  ///
  /// errors: NotFound without worker or template; NotSupported on other systems than Linux, and for
  /// a plugin of an unsupported ABI or with too many backends; InvalidArgument for an isolated
  /// plugin with fewer restrictions than the rule, a path that is too long, and permissions that
  /// the profile does not have; AccessFailed when the system refuses a file in memory.
  [[nodiscard]] Result<OpenedFile> isolate(std::span<const OpenedFile> files,
                                           const PluginRecord& record) const override;

 private:
  [[nodiscard]] const IsolationRule* rule_for(const PluginRecord& record,
                                              std::string_view file_name) const;

  std::vector<IsolationRule> rules_;
  std::filesystem::path worker_;
};

/// The rules of the variable TENON_ISOLATE, for applications without rules of their own; null when
/// it is not set, and in a privileged process. With rules that cannot be read it is one under which
/// no plugin is loaded, with the reason.
///
/// threads: as `environment_variable`.
[[nodiscard]] std::shared_ptr<const PluginIsolation> environment_isolation(
    std::filesystem::path worker = {});

}}}  // namespace tenon::TENON_RELEASE::host
