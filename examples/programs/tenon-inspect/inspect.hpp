// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "color.hpp"
#include "isolated_use.hpp"
#include "tenon/core/options.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/status.hpp"
#include "tenon/host/layers/devices/devices.hpp"
#include "tenon/host/layers/inspect/binary_lint.hpp"
#include "tenon/host/layers/inspect/elf_library.hpp"
#include "tenon/host/layers/inspect/platforms.hpp"
#include "tenon/host/loader/plugin/backend.hpp"
#include "tenon/host/loader/plugin/peek.hpp"
#include "tenon/host/loader/plugin/plugin_record.hpp"
#include "tool.hpp"

namespace tenon::inspect {

using tool::ExitCode;

/// The command line, taken apart.
struct Arguments {
  std::string plugin;  ///< Or a program, or a data file.
  bool load = false;
  bool isolated = false;  ///< Try it in processes of its own.
  std::string run;        ///< A program whose methods are run there; empty: none.
  bool verbose = false;   ///< All symbols.
  bool json = false;
  std::string certificate;    ///< A report to check the plugin against; empty to inspect it.
  int certificate_level = 5;  ///< The lowest level that the report may have.
  std::optional<std::size_t> extract_blob;  ///< Number of a program's blob, to write to `output`.
  std::string output;
  ColorWhen color = ColorWhen::automatic;
};

/// Reads the command line. InvalidArgument names the argument that is wrong.
[[nodiscard]] Result<std::variant<Arguments, PrintAndExit>> parse_arguments(
    int argc, const char* const* argv);

/// One backend, as `--load` finds it.
struct InspectedBackend {
  std::string id;
  Status opened;     ///< Whether `open` succeeded; nothing below is meant otherwise.
  Status available;  ///< Its own reason when it is not.
  Status listed;     ///< Whether it could list its devices.
  std::vector<host::BackendDevice> devices;
  struct Option {
    host::OptionDeclaration declaration;
    std::optional<OptionValue> value;  ///< Now; absent when it cannot be read.
  };
  std::vector<Option> options;
  std::vector<std::string> extensions;
  /// The facts for exporters of a backend for models of AOTInductor.
  struct AotiExport {
    std::string device_name;
    std::string torch_device;
    std::vector<std::string> fallback_kernels;
    std::string decompositions;   ///< JSON.
    std::string compile_options;  ///< JSON.
  };
  std::optional<AotiExport> aoti_export;
  /// Its use of an application's hints; absent when it follows none.
  struct SchedulingUse {
    std::optional<std::string> priority;
    std::optional<std::string> goal;
    std::optional<std::string> power;
    bool changes_between_runs = false;
  };
  std::optional<SchedulingUse> scheduling;
  Status operators_listed;  ///< Whether it could list its operators.
  std::vector<std::string> operators;
};

/// Whether this host loads libraries of that system and machine. The C library is not looked at.
[[nodiscard]] inline bool loads_here(const host::Platform& platform) {
  return platform.format == host::this_platform.format &&
         platform.machine == host::this_platform.machine;
}

/// Everything that is found out about one file.
struct Report {
  std::string path;
  /// The system and machine of the library, by its first bytes; absent for a file of another kind.
  std::optional<host::Platform> platform;
  std::uint64_t file_size = 0;
  std::optional<host::PluginRecord> record;
  Status fits;  ///< Whether this host speaks the plugin's ABI.
  std::optional<host::ElfLibrary> library;
  std::vector<host::LintResult> lint;
  std::optional<Status> loaded;  ///< With `--load`: whether the library could be loaded.
  std::vector<InspectedBackend> backends;
  std::optional<IsolatedUse> isolated;  ///< With `--isolated`.

  Status failure;  ///< Why there is no report, or why it ends early.
  ExitCode code = ExitCode::success;
};

/// Reads the file, judges it, and with `load` loads it and opens its backends.
[[nodiscard]] Report inspect(const Arguments& arguments);

/// Checks whether the report of the conformance kit at `arguments.certificate` vouches for the
/// plugin, whose file is read and not loaded. The output is the statement of the report.
///
/// With the variable TENON_PUBLISHERS the report needs a signature that these publishers admit.
[[nodiscard]] tool::Outcome check_certificate(const Arguments& arguments);

/// The report for a person, and as one line of JSON (docs/schemas/tenon-inspect.schema.json).
[[nodiscard]] std::string to_text(const Report& report, const Arguments& arguments, bool color);
[[nodiscard]] std::string to_json(const Report& report);

}  // namespace tenon::inspect
