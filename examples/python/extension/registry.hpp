// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tenon/host/backend_registry.hpp"

namespace tenon::python {

/// A registry of backends, and where it searches. Shared with programs and methods.
struct Registry {
  Registry(std::vector<std::string> search_paths, std::string worker_program);

  std::vector<std::string> paths;
  std::string worker;  ///< The program of workers; empty: the build's.
  std::shared_ptr<host::BackendRegistry> registry;
};

/// The searches of the package: `paths`, then what every host searches.
[[nodiscard]] std::function<host::SearchReport()> search(const std::vector<std::string>& paths);

void bind_registry(nanobind::module_& module);

/// `tenon.plugins`, `doctor` and `inspect` as JSON, as the programs print it.
void bind_reports(nanobind::module_& module);

}  // namespace tenon::python
