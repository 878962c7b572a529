// SPDX-License-Identifier: MIT
#include "registry.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdio>
#include <filesystem>
#include <string_view>
#include <utility>

#include "error.hpp"
#include "tenon/abi/version.h"
#include "tenon/core/concat.hpp"
#include "tenon/host/isolation.hpp"
#include "tenon/host/layers/discovery/discovery.hpp"
#include "tenon/host/loader/files/shortened.hpp"
#include "tenon/host/signatures.hpp"

namespace tenon::python {

namespace nb = nanobind;

namespace {

// Logs come from any thread, with and without the GIL.
void log_errors(std::int32_t level, std::string_view plugin, std::string_view text) {
  if (level < TENON_LOG_ERROR) return;
  const std::string line =
      concat("tenon: log of ", std::filesystem::path(plugin).filename().string(), ": ",
             host::shortened(text), "\n");
  std::fputs(line.c_str(), stderr);
}

}  // namespace

std::function<host::SearchReport()> search(const std::vector<std::string>& paths) {
  host::DiscoveryOptions options;
  if (!paths.empty()) options.installed = paths.front();
  return host::discovery(std::move(options));
}

Registry::Registry(std::vector<std::string> search_paths, std::string worker_program)
    : paths(std::move(search_paths)),
      worker(std::move(worker_program)),
      registry(std::make_shared<host::BackendRegistry>(host::HostInfo{
          "tenon for Python " TENON_VERSION_STRING,
          &log_errors,
          {host::environment_library_policy(), host::environment_isolation(worker)}})) {
  registry->add_search(search(paths));
}

void bind_registry(nb::module_& module) {
  nb::class_<Registry>(
      module, "Registry",
      "The backends that plugins offer. A plugin is loaded when a program needs it.")
      .def(nb::init<std::vector<std::string>, std::string>(), nb::arg("paths"),
           nb::arg("worker") = "",
           "Searches what every host searches, at the first look-up that misses. `paths`: the "
           "directory of installed plugins, or nothing for the one of the build. `worker`: the "
           "program of workers, or nothing for the one of the build.")
      .def(
          "register_backend",
          [](Registry& self, const std::string& path) {
            check(self.registry->register_backend(std::filesystem::path(path)));
          },
          nb::arg("path"), "Adds the backends of a plugin file, which is read, not loaded.");
}

}  // namespace tenon::python
