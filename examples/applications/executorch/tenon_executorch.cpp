// SPDX-License-Identifier: MIT
//
// The bridge for programs in other languages than C++, above all stock Python. It must not be
// unloaded, as ExecuTorch keeps its adapters; it is linked with -z nodelete.
#include "tenon_executorch.h"

#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/executorch/register_plugins.hpp"
#include "tenon/host/isolation.hpp"
#include "tenon/host/layers/discovery/discovery.hpp"
#include "tenon/host/signatures.hpp"

namespace {

namespace bridge = tenon::bridge;
using tenon::Error;
using tenon::Status;

/// The backends that the last `tenon_executorch_register` of this thread left out.
std::vector<bridge::RefusedBackend>& refused() {
  thread_local std::vector<bridge::RefusedBackend> backends;
  return backends;
}

/// The directory of installed plugins; empty: the build's.
std::string& installed() {
  static std::string directory;
  return directory;
}

/// The program of workers; empty: the build's.
std::string& worker() {
  static std::string program;
  return program;
}

Status register_found(const bridge::RegisterOptions& options) {
  // Before the search, whose errors would be less precise.
  TENON_RETURN_IF_ERROR(bridge::check_runtime());
  auto registry = std::make_shared<tenon::host::BackendRegistry>(
      tenon::host::HostInfo{"Python through Tenon " TENON_VERSION_STRING,
                            {},
                            {options.library_policy, options.isolation}});
  tenon::host::DiscoveryOptions found;
  if (!installed().empty()) found.installed = installed();
  registry->add_search(tenon::host::discovery(found));
  constexpr std::string_view remedy =
      "\nTENON_DISABLE=ID leaves a plugin's backend out of what is found";
  auto done = bridge::register_plugins(
      std::shared_ptr<const tenon::host::BackendRegistry>(registry), options);
  for (bridge::RefusedBackend& each : refused()) each.reason += remedy;
  if (done.ok()) return tenon::ok();
  Status failure = std::move(done).status();
  if (failure.error() != Error::RegistrationAlreadyRegistered &&
      failure.error() != Error::OutOfResources) {
    return failure;
  }
  return tenon::error(failure.error(), failure.text(), remedy);
}

/// Runs `function`, which returns a Status, and keeps its failure for
/// `tenon_executorch_last_error`.
template <class Function>
std::uint32_t keep_failure(const Function& function) noexcept {
  Status outcome;
  try {
    outcome = function();
  } catch (const std::exception&) {
    bridge::clear_last_error();
    return tenon::to_status(Error::MemoryAllocationFailed);
  }
  const std::uint32_t number = tenon::to_status(outcome.error());
  if (!outcome.ok()) bridge::detail::last_failure() = std::move(outcome);
  return number;
}

/// `value` as text, until the next call on this thread.
const char* kept(const nlohmann::json& value) {
  thread_local std::string text;
  text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return text.c_str();
}

}  // namespace

const char* tenon_executorch_built_for() {
  static const std::string text = bridge::compiled_version().text;
  return text.c_str();
}

void tenon_executorch_set_installed(const char* directory) {
  installed() = directory ? directory : "";
}

void tenon_executorch_set_worker(const char* program) { worker() = program ? program : ""; }

std::uint32_t tenon_executorch_register(const char* path, const char* const* ids,
                                        std::size_t id_count) {
  return keep_failure([&]() -> Status {
    refused().clear();
    bridge::RegisterOptions options;
    options.ids.assign(ids, ids + id_count);
    options.refused = &refused();
    options.library_policy = tenon::host::environment_library_policy();
    options.isolation = tenon::host::environment_isolation(worker());
    if (!path) return register_found(options);
    return bridge::register_plugins(path, options).status();
  });
}

const char* tenon_executorch_refused() {
  nlohmann::json all = nlohmann::json::array();
  for (const bridge::RefusedBackend& each : refused()) {
    all.push_back({{"id", each.id}, {"reason", each.reason}});
  }
  return kept(all);
}

const char* tenon_executorch_registered() {
  nlohmann::json all = nlohmann::json::array();
  for (const bridge::RegisteredBackend& each : bridge::registered_backends()) {
    all.push_back({{"id", each.id}, {"plugin", each.plugin}, {"version", each.version}});
  }
  return kept(all);
}

std::uint32_t tenon_executorch_last_error(const char** name, const char** text) {
  const Status& last = bridge::last_error();
  thread_local std::string name_text, error_text;
  name_text = tenon::error_name(last.error());
  error_text = last.text();
  if (name) *name = name_text.c_str();
  if (text) *text = error_text.c_str();
  return tenon::to_status(last.error());
}

void tenon_executorch_clear_error() { bridge::clear_last_error(); }
