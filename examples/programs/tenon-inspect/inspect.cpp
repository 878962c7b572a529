// SPDX-License-Identifier: MIT
#include "inspect.hpp"

#include <filesystem>
#include <memory>
#include <span>
#include <system_error>
#include <utility>

#include "isolated_files.hpp"
#include "tenon/abi/draft/aoti_export.h"
#include "tenon/abi/draft/preprocess.h"
#include "tenon/abi/extensions/scheduling.h"
#include "tenon/core/extensions.hpp"
#include "tenon/host/all_layers.hpp"
#include "tenon/host/isolation.hpp"
#include "tenon/host/layers/kernels/kernel_backends.hpp"
#include "tenon/host/layers/trust/library_policy.hpp"
#include "tenon/host/layers/variants/variants.hpp"
#include "tenon/host/loader/plugin/plugin.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/platform/trusted_path.hpp"
#include "tenon/host/signatures.hpp"

namespace tenon::inspect {
namespace {

std::optional<InspectedBackend::AotiExport> aoti_export_of(const host::LoadedBackend& backend) {
  const auto table = backend.extension<tenon_aoti_export_v1>(TENON_EXTENSION_AOTI_EXPORT);
  if (!table) return std::nullopt;
  const auto text = [](const char* value) { return std::string(value ? value : ""); };
  InspectedBackend::AotiExport out{text(table->device_name),
                                   text(table->torch_device),
                                   {},
                                   text(table->decompositions),
                                   text(table->compile_options)};
  for (std::uint32_t i = 0; table->fallback_kernels && i < table->num_fallback_kernels; ++i) {
    out.fallback_kernels.push_back(text(table->fallback_kernels[i]));
  }
  return out;
}

std::optional<InspectedBackend::SchedulingUse> scheduling_use_of(
    const host::LoadedBackend& backend) {
  const auto table = backend.extension<tenon_scheduling_v1>(TENON_EXTENSION_SCHEDULING);
  if (!table) return std::nullopt;
  const auto text = [](const char* value) {
    return value ? std::optional<std::string>(value) : std::nullopt;
  };
  return InspectedBackend::SchedulingUse{text(table->priority), text(table->goal),
                                         text(table->power), table->set_scheduling != nullptr};
}

InspectedBackend open_backend(host::Plugin& plugin, const std::string& id) {
  InspectedBackend out;
  out.id = id;
  auto backend = plugin.backend(id);
  if (!backend.ok()) {
    out.opened = std::move(backend).status();
    return out;
  }
  const host::LoadedBackend& opened = **backend;
  out.available = opened.is_available();
  if (auto devices = host::list_devices(opened); devices.ok()) {
    out.devices = *std::move(devices);
  } else {
    out.listed = std::move(devices).status();
  }
  if (auto operators = host::list_operators(opened); operators.ok()) {
    out.operators = *std::move(operators);
  } else {
    out.operators_listed = std::move(operators).status();
  }
  for (host::OptionDeclaration& declaration : opened.options()) {
    InspectedBackend::Option option{std::move(declaration), {}};
    if (auto value = opened.get_option(option.declaration.key); value.ok()) option.value = *value;
    out.options.push_back(std::move(option));
  }
  out.aoti_export = aoti_export_of(opened);
  out.scheduling = scheduling_use_of(opened);
  for (const char* extension : backend_extensions) {
    // The ahead-of-time half is described by `preprocess`.
    if (std::string_view(extension) == TENON_EXTENSION_PREPROCESS) continue;
    if (opened.api().get_extension(opened.raw(), extension)) out.extensions.emplace_back(extension);
  }
  return out;
}

/// Reads what can be read without loading. The exit code is set where that is not enough.
void read(Report& report, const host::OpenedFile& file) {
  // The plugin of another system is described as well; `load` refuses it.
  host::Platform platform = host::this_platform;
  const auto library = host::with_bytes(file, [&](std::span<const std::byte> bytes) {
    report.platform = host::platform_of(bytes);
    // Of its own platform a plugin needs this host's C library, too.
    if (report.platform && !loads_here(*report.platform)) platform = *report.platform;
    return host::read_elf_library(bytes, platform.format == BinaryFormat::elf
                                             ? platform.machine
                                             : host::this_platform.machine);
  });
  if (library.ok()) {
    report.library = *library;
    report.lint = host::lint_plugin(*report.library);
  } else if (library.error() == Error::AccessFailed) {
    // Not what `lint` leaves out because it is no ELF file.
    report.failure = error(library.error(), library.text());
    report.code = ExitCode::invalid_file;
    return;
  }
  auto record = host::with_bytes(file, [&](std::span<const std::byte> bytes) {
    return host::peek(bytes, host::path_text(file.path), platform);
  });
  if (!record.ok()) {
    report.failure = std::move(record).status();
    report.code = ExitCode::invalid_file;
    return;
  }
  report.record = *std::move(record);
  report.fits = host::check_abi(*report.record);
  for (const host::LintResult& result : report.lint) {
    if (result.verdict == host::Verdict::fail) report.code = ExitCode::failed;
  }
}

void load(Report& report, host::OpenedFile file) {
  auto plugin = host::Plugin::load(
      std::move(file), nullptr,
      host::all_layers(
          {"tenon-inspect", {}, {host::environment_library_policy(), tool_isolation()}}));
  report.loaded = plugin.ok() ? ok() : std::move(plugin).status();
  if (!report.loaded->ok()) {
    report.code = ExitCode::no_backend;
    return;
  }
  for (const host::BackendRecord& record : report.record->backends) {
    report.backends.push_back(open_backend(**plugin, record.id));
    if (!report.backends.back().opened.ok()) report.code = ExitCode::no_backend;
  }
}

/// The code of the plugin runs in children alone, but the file is admitted here.
Status isolate(Report& report, host::OpenedFile file, const std::string& model) {
  std::shared_ptr<const host::Program> program;
  if (!model.empty()) {
    TENON_TRY(program, host::Variants::open(host::path_of(model)));
  }
  if (const auto policy = host::environment_library_policy()) {
    TENON_TRY(file, policy->admit(std::move(file), {}));
  }
  report.isolated = examine_isolated(file, program);
  if (!report.isolated->failure.ok()) report.code = ExitCode::no_backend;
  return ok();
}

}  // namespace

Report inspect(const Arguments& arguments) {
  Report report;
  std::error_code failed;
  const auto path = std::filesystem::absolute(host::path_of(arguments.plugin), failed);
  report.path = failed ? arguments.plugin : host::path_text(path);
  auto file = host::open_file(path, host::Trust::caller);
  if (!file.ok()) {
    report.failure = std::move(file).status();
    report.code = ExitCode::invalid_file;
    return report;
  }
  report.file_size = file->identity.size;
  read(report, *file);
  if (!report.record || !report.failure.ok()) return report;
  // Before it is loaded here, where it may start threads.
  if (arguments.isolated) {
    auto again = host::open_file(path, host::Trust::caller);
    Status isolated =
        again.ok() ? isolate(report, *std::move(again), arguments.run) : std::move(again).status();
    if (!isolated.ok()) {
      report.failure = std::move(isolated);
      report.code = ExitCode::invalid_file;
      return report;
    }
  }
  if (arguments.load) load(report, *std::move(file));
  return report;
}

}  // namespace tenon::inspect
