// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "inspect.hpp"
#include "sections.hpp"
#include "tenon/abi/version.h"
#include "tenon/core/lists.hpp"

namespace tenon::inspect {
namespace {

std::string value_text(const OptionValue& value) {
  const auto text = value.get<std::string>();
  return text ? concat("\"", *text, "\"") : option_text(value);
}

class Text : private Sections {
 public:
  Text(const Report& report, bool verbose, bool color)
      : Sections(color), report_(report), verbose_(verbose) {}

  [[nodiscard]] std::string write() && {
    write_file();
    if (report_.record) write_record(*report_.record);
    if (report_.library) write_library(*report_.library);
    write_lint();
    if (report_.isolated) write_isolated(*report_.isolated);
    if (report_.loaded) write_loaded();
    return std::move(*this).take();
  }

 private:
  /// A line that is left out when there is nothing to say.
  void field(std::string_view name, std::string_view value) {
    if (!value.empty()) line(name, ": ", value);
  }

  void write_file() {
    title(report_.path);
    if (!report_.platform) return;
    std::string properties;
    if (report_.library) {
      properties = report_.library->debug_information ? ", with debug information"
                   : report_.library->symbol_table    ? ", not stripped"
                                                      : ", stripped";
    }
    const std::string kind = host::describe_library(*report_.platform);
    // Without its article.
    line(std::string_view(kind).substr(kind.find(' ') + 1), ", ", report_.file_size, " bytes",
         properties);
    if (!loads_here(*report_.platform)) {
      line("cannot be loaded here: this host loads ", host::describe_library(host::this_platform));
    }
    if (report_.library) field("build id", report_.library->build_id);
  }

  void write_record(const host::PluginRecord& record) {
    title("record");
    line("plugin ", record.name, record.version.empty() ? "" : " ", record.version,
         record.vendor.empty() ? "" : " by ", record.vendor);
    line("Tenon ABI ", record.abi_major, ".", record.abi_minor, ", needs a host of ",
         record.abi_major, ".", record.min_host_abi_minor, " or later; this one speaks ",
         TENON_ABI_MAJOR, ".", TENON_ABI_MINOR, ": ",
         report_.fits.ok() ? std::string_view("it fits") : report_.fits.text());
    field("made with Tenon", record.sdk_version);
    for (const host::BackendRecord& backend : record.backends) {
      line("backend ", backend.id, backend.description.empty() ? "" : ": ", backend.description);
      field("  tags", join(backend.tags, ", "));
      field("  needs of the CPU", join(backend.cpu_features, ", "));
      if (backend.runs_embedded_code) line("  runs native code that programs carry");
      if (backend.offers_kernels) line("  has kernels for operators of programs");
      if (backend.priority != 0) line("  priority: ", backend.priority);
      if (backend.max_payload_version != 0) {
        line("  payload versions: ", backend.min_payload_version, " to ",
             backend.max_payload_version);
      }
    }
  }

  void write_library(const host::ElfLibrary& library) {
    title("dependencies");
    const auto& dependencies = library.dependencies;
    line(dependencies.needed.empty() ? std::string("none") : join(dependencies.needed, ", "));
    if (dependencies.run_path) line("run path: ", *dependencies.run_path);
    if (dependencies.rpath) line("old run path (DT_RPATH): ", *dependencies.rpath);
    if (verbose_) field("versions", join(library.versions, ", "));
    write_symbols("exported symbols", library.exported);
    write_symbols("undefined symbols", library.undefined);
  }

  void write_symbols(std::string_view name, std::span<const host::LibrarySymbol> symbols) {
    constexpr std::size_t few = 3;
    title(concat(name, ": ", symbols.size()));
    const std::size_t shown = verbose_ ? symbols.size() : std::min(symbols.size(), few);
    for (const host::LibrarySymbol& symbol : symbols.first(shown)) {
      using Binding = host::LibrarySymbol::Binding;
      line(symbol.name, symbol.binding == Binding::weak         ? " (weak)"
                        : symbol.binding == Binding::gnu_unique ? " (unique)"
                                                                : "");
    }
    if (shown < symbols.size()) line("... (all with --verbose)");
  }

  void write_lint() {
    title("checks");
    if (report_.lint.empty()) line("none: only ELF files are judged");
    std::size_t width = 0;
    for (const host::LintResult& result : report_.lint) width = std::max(width, result.id.size());
    for (const host::LintResult& result : report_.lint) {
      const Style style = result.verdict == host::Verdict::pass   ? Style::good
                          : result.verdict == host::Verdict::fail ? Style::bad
                                                                  : Style::weak;
      std::string verdict(host::verdict_name(result.verdict));
      verdict.resize(std::max<std::size_t>(verdict.size(), 11), ' ');
      std::string id(result.id);
      id.resize(width, ' ');
      styled_line(verdict, style, concat(id, "  ", result.title, ": ", result.text));
    }
  }

  void write_isolated(const IsolatedUse& use) {
    title("in processes of its own");
    if (!use.failure.ok()) line("fails: ", use.failure.text());
    if (use.trials.empty()) return;
    if (use.failure.ok()) {
      line("narrowest profile: ", use.narrowest().value_or("none: it needs a worker without one"));
    }
    for (const ProfileTrial& each : use.trials) {
      line("profile ", each.profile, each.runs ? ": runs" : ": fails: ", each.reason);
      for (const std::string& refusal : each.refusals) line("  ", refusal);
    }
    write_calls(use);
    write_files("files", use.files);
    write_files("devices", use.devices);
  }

  void write_calls(const IsolatedUse& use) {
    std::vector<std::pair<std::string, std::uint64_t>> calls(use.calls.begin(), use.calls.end());
    std::ranges::stable_sort(calls,
                             [](const auto& a, const auto& b) { return a.second > b.second; });
    std::uint64_t all = 0;
    for (const auto& [name, count] : calls) all += count;
    constexpr std::size_t few = 8;
    const std::size_t shown = verbose_ ? calls.size() : std::min(calls.size(), few);
    std::string text;
    for (std::size_t i = 0; i < shown; ++i) {
      text += concat(i == 0 ? "" : ", ", calls[i].first, " ", calls[i].second);
    }
    line(all, " system calls of ", calls.size(), " kinds: ", text,
         shown == calls.size() ? "" : ", ... (all with --verbose)");
  }

  void write_files(std::string_view name, const std::vector<IsolatedUse::File>& files) {
    line(name, ": ", files.size());
    constexpr std::size_t few = 8;
    const std::size_t shown = verbose_ ? files.size() : std::min(files.size(), few);
    for (const IsolatedUse::File& each : std::span(files).first(shown)) {
      line("  ", each.path, each.is_written ? " (written)" : "");
    }
    if (shown < files.size()) line("  ... (all with --verbose)");
  }

  void write_loaded() {
    title("loaded");
    if (!report_.loaded->ok()) return line("no: ", report_.loaded->text());
    for (const InspectedBackend& backend : report_.backends) write_backend(backend);
  }

  void write_backend(const InspectedBackend& backend) {
    line("backend ", backend.id);
    if (!backend.opened.ok()) return line("  cannot be opened: ", backend.opened.text());
    line("  available: ",
         backend.available.ok() ? "yes" : concat("no: ", backend.available.text()));
    field("  extensions", join(backend.extensions, ", "));
    if (!backend.listed.ok()) line("  devices: ", backend.listed.text());
    for (const host::BackendDevice& device : backend.devices) {
      line("  device ", device.device.device_type, ":", device.device.device_id, " ", device.name,
           device.description.empty() ? "" : ", ", device.description,
           device.memory_bytes == 0 ? std::string()
                                    : concat(", ", device.memory_bytes / 1048576, " MiB"),
           device.identity.empty() ? "" : ", ", device.identity);
    }
    if (backend.aoti_export) {
      const InspectedBackend::AotiExport& found = *backend.aoti_export;
      line("  AOTInductor: device ", found.device_name, " (", found.torch_device, " in PyTorch), ",
           found.fallback_kernels.size(), " operators for exporters (listed with --json)");
    }
    if (backend.scheduling) {
      const auto hint = [this](std::string_view name, const std::optional<std::string>& use) {
        if (use) line("  ", name, ": ", *use);
      };
      hint("priority", backend.scheduling->priority);
      hint("goal", backend.scheduling->goal);
      hint("power", backend.scheduling->power);
      line("  hints change ",
           backend.scheduling->changes_between_runs ? "between runs" : "by a load");
    }
    write_operators(backend);
    for (const InspectedBackend::Option& option : backend.options) {
      const host::OptionDeclaration& declared = option.declaration;
      const std::string range = declared.range();
      line("  option ", declared.key, " = ",
           value_text(option.value ? *option.value : declared.initial), " (default ",
           value_text(declared.initial), range.empty() ? "" : ", ", range,
           declared.unit.empty() ? "" : ", in ", declared.unit,
           declared.at_runtime ? ", at run time" : "", declared.at_load ? ", for a load" : "",
           declared.is_deprecated ? ", deprecated" : "", ")",
           declared.description.empty() ? "" : ": ", declared.description);
    }
  }

  void write_operators(const InspectedBackend& backend) {
    if (!backend.operators_listed.ok()) line("  operators: ", backend.operators_listed.text());
    if (backend.operators.empty()) return;
    constexpr std::size_t few = 8;
    const std::size_t shown =
        verbose_ ? backend.operators.size() : std::min(backend.operators.size(), few);
    std::string names;
    for (std::size_t i = 0; i < shown; ++i) {
      names += concat(i == 0 ? "" : ", ", backend.operators[i]);
    }
    const bool all = shown == backend.operators.size();
    line("  kernels for ", backend.operators.size(),
         backend.operators.size() == 1 ? " operator: " : " operators: ", names,
         all ? "" : ", ... (all with --verbose)");
  }

  const Report& report_;
  bool verbose_;
};

}  // namespace

std::string to_text(const Report& report, const Arguments& arguments, bool color) {
  if (!report.record && !report.library) return {};
  return Text(report, arguments.verbose, color).write();
}

}  // namespace tenon::inspect
