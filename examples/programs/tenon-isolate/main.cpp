// SPDX-License-Identifier: MIT
//
// Makes a plugin that runs another one in a process of its own. docs/hosts/isolation.md describes
// it.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "make_isolated.hpp"
#include "tenon/abi/version.h"
#include "tenon/core/lists.hpp"
#include "tenon/host/platform/normal_path.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "terminate.hpp"
#include "tool.hpp"

namespace tenon::isolate { namespace {

namespace fs = std::filesystem;
using tool::ExitCode;

Result<Made> make(const Arguments& arguments) {
  Request request;
  TENON_TRY(request.template_file, find_template());
  request.worker = host::path_of(arguments.worker);
  if (arguments.worker.empty()) {
    TENON_TRY(request.worker, find_worker());
  }
  std::error_code failure;
  request.worker = fs::absolute(request.worker, failure);
  if (!fs::is_regular_file(request.worker, failure)) {
    return error(Error::NotFound, host::path_text(request.worker),
                 ": there is no such program (--worker)");
  }
  request.plugin = host::path_of(arguments.plugin);
  request.out = host::path_of(arguments.out);
  if (arguments.out.empty()) {
    request.out = request.plugin.parent_path() / request.plugin.stem().concat("-isolated.so");
  }
  request.force = arguments.force;
  request.settings = {.profile = *host::parse_worker_profile(arguments.profile),
                      .deadline_ms = arguments.deadline_ms,
                      .restart = arguments.restart,
                      .own_worker = arguments.own_worker,
                      .share_memory = arguments.share_memory};
  const auto permit = [&](std::string_view kind, const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      const fs::path absolute = host::normal_path(fs::absolute(host::path_of(path), failure));
      request.settings.permissions.push_back(concat(kind, host::path_text(absolute)));
    }
  };
  permit(host::read_permission, arguments.readable);
  permit(host::write_permission, arguments.writable);
  permit(host::device_permission, arguments.devices);
  permit(host::program_permission, arguments.programs);
  return make_isolated(request);
}

std::string to_json(const Made& made) {
  const nlohmann::ordered_json json = {
      {"version", TENON_VERSION_STRING},
      {"output", host::path_text(made.out)},
      {"plugin", made.wrapped},
      {"sha256", made.sha256},
      {"backends", made.backends},
      {"without_kernels", std::vector<std::string>()},
      {"profile", host::worker_profile_name(made.settings.profile)},
      {"permissions", made.settings.permissions},
      {"shares_memory", made.settings.share_memory}};
  return json.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

ExitCode code_of(Error failure) {
  switch (failure) {
    case Error::InvalidArgument:
    case Error::NotFound:
    case Error::InvalidState:
    case Error::AccessFailed:
      return ExitCode::wrong_usage;
    default:
      return ExitCode::invalid_file;
  }
}

tool::Outcome run(const Arguments& arguments) {
#if !defined(__linux__)
  static_cast<void>(arguments);
  return tool::Outcome::failed(ExitCode::failed, find_template().status());
#else
  auto made = make(arguments);
  if (!made.ok()) {
    const ExitCode code = code_of(made.error());
    return tool::Outcome::failed(code, std::move(made).status());
  }
  tool::Outcome outcome;
  outcome.output = arguments.json
                       ? to_json(*made)
                       : concat(host::path_text(made->out), ": runs ", made->wrapped, " (",
                                join(made->backends, ", "), ") in a process of its own\n");
  return outcome;
#endif
}

}}  // namespace tenon::isolate

int main(int argc, char** argv) {
  return tenon::tool::main("tenon-isolate", argc, argv, &tenon::isolate::parse_arguments,
                           &tenon::isolate::run);
}
