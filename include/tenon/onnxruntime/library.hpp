// SPDX-License-Identifier: MIT
//
// The two functions of a library that ONNX Runtime registers: the entry of this directory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/version.h"
#include "tenon/core/lists.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/discovery.hpp"
#include "tenon/host/isolation.hpp"
#include "tenon/host/signatures.hpp"
#include "tenon/onnxruntime/bridge.hpp"
#include "tenon/onnxruntime/factory.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace ort {

/// Where an application has plugins and the program of workers; empty: where the build put them.
struct Installation {
  std::filesystem::path plugins;
  std::filesystem::path worker;
};

/// The backends that a registration is for: the ids in `name` with commas between them, where one
/// of them is in `known`; else all of `listed`, which has nothing experimental. ONNX Runtime takes
/// `most` from a library.
///
/// errors: NotFound for a list with an unknown backend, InvalidArgument for a list with one twice;
///         OutOfResources for too many.
[[nodiscard]] inline Result<std::vector<std::string>> chosen_backends(
    std::string_view name, const std::vector<std::string>& listed,
    const std::vector<std::string>& known, std::size_t most) {
  const auto is_known = [&](std::string_view id) {
    return std::find(known.begin(), known.end(), id) != known.end();
  };
  std::vector<std::string> out;
  bool is_list = false;
  for (const std::string_view id : split(name, ',')) {
    is_list |= is_known(id);
    out.emplace_back(id);
  }
  if (!is_list) out = listed;
  for (const std::string& id : out) {
    if (!is_known(id)) {
      return error(Error::NotFound, "registration name '", name, "': no backend '", id,
                   "'; there are: ", join(known, ", "));
    }
    if (std::count(out.begin(), out.end(), id) != 1) {
      return error(Error::InvalidArgument, "registration name '", name, "': '", id, "' twice");
    }
  }
  if (out.size() <= most) return out;
  return error(Error::OutOfResources, out.size(), " backends, and ONNX Runtime takes ", most,
               " from a library: register it under the ids of those that you use, with commas "
               "between them. There are: ",
               join(known, ", "));
}

namespace detail {

[[nodiscard]] inline std::unique_ptr<host::BackendRegistry> make_registry(
    const Runtime& runtime, const Logger* logger, const Installation& installation) {
  host::HostInfo info;
  info.name = "ONNX Runtime through Tenon " TENON_VERSION_STRING;
  info.log = [runtime, logger](std::int32_t level, std::string_view plugin, std::string_view text) {
    runtime.log(logger, logging_level(level), plugin, text);
  };
  info.gates = {host::environment_library_policy(),
                host::environment_isolation(installation.worker)};
  auto out = std::make_unique<host::BackendRegistry>(std::move(info));
  host::DiscoveryOptions found;
  if (!installation.plugins.empty()) found.installed = installation.plugins;
  out->add_search(host::discovery(std::move(found)));
  return out;
}

[[nodiscard]] inline Status make_factories(const Runtime& runtime, std::string_view name,
                                           const Logger* logger, const Installation& installation,
                                           std::span<EpFactory*> factories, std::size_t& made) {
  auto registry = make_registry(runtime, logger, installation);
  TENON_TRY(const auto ids, chosen_backends(name, registry->list_backends(),
                                            registry->list_backends({}), factories.size()));
  const auto infos = registry->enumerate_backends();
  const auto bridge = std::make_shared<const Bridge>(runtime, logger, std::move(registry));
  std::vector<std::unique_ptr<Factory>> out;
  for (const std::string& id : ids) {
    const auto info = std::find_if(infos.begin(), infos.end(), [&](const host::BackendInfo& each) {
      return each.id() == id && each.state == host::BackendState::known;
    });
    if (info == infos.end()) return error(Error::Internal, "backend '", id, "' is known no more");
    out.push_back(std::make_unique<Factory>(bridge, *info));
  }
  if (out.empty()) {
    runtime.log(logger, LoggingLevel::Warning, "", "no plugin was found (tenon-list says where)");
  }
  for (std::size_t i = 0; i < out.size(); ++i) factories[i] = out[i].release();
  made = out.size();
  return ok();
}

}  // namespace detail

/// `CreateEpFactories`: one factory for each backend that is found, as `chosen_backends` says.
/// Reads the files of plugins and loads none.
[[nodiscard]] inline StatusPointer create_factories(const char* name, const ApiBase* base,
                                                    const Logger* logger, EpFactory** factories,
                                                    std::size_t most, std::size_t* made,
                                                    const Installation& installation) noexcept {
  *made = 0;
  auto runtime = Runtime::open(base);
  if (!runtime.ok()) return Runtime::refuse(base, std::move(runtime).status());
  return runtime->guarded([&] {
    return detail::make_factories(*runtime, name ? name : "", logger, installation,
                                  {factories, most}, *made);
  });
}

/// `ReleaseEpFactory`. The last factory of a registration releases its plugins.
inline StatusPointer release_factory(EpFactory* factory) noexcept {
  delete static_cast<Factory*>(factory);
  return nullptr;
}

}}}  // namespace tenon::TENON_RELEASE::ort
