// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "registry.hpp"
#include "tenon/host/async.hpp"
#include "tenon/host/layers/budget/memory.hpp"
#include "tenon/host/layers/code/embedded_code.hpp"
#include "tenon/host/layers/data/data_file.hpp"
#include "tenon/host/layers/isolation/plugin_isolation.hpp"
#include "tenon/host/layers/trace/trace.hpp"
#include "tenon/host/loader/method/options.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/prepared.hpp"
#include "tenon/host/prove.hpp"
#include "tool_limits.hpp"

namespace tenon::python {

/// `tenon.Program`. Null program: closed.
struct ProgramObject {
  std::string name;
  std::shared_ptr<const host::Program> program;
  std::vector<std::shared_ptr<const host::DataFile>> data_files;
  std::shared_ptr<host::BackendRegistry> registry;
  tool::ToolLimits limits;
  std::vector<host::DeviceBytes> budget;
  std::vector<host::BackendOption> backend_options;
  host::EmbeddedCodePolicy embedded_code = host::EmbeddedCodePolicy::allow();
  std::shared_ptr<host::Trace> trace;
  std::shared_ptr<const host::WorkerPool> threads;
  std::shared_ptr<const host::PreparedCache> prepared;
  std::shared_ptr<const host::PluginIsolation> isolation;
  std::optional<bool> prove;  ///< Nothing: as TENON_PROVE says.
  Scheduling scheduling;
};

void bind_program(nanobind::module_& module);

}  // namespace tenon::python
