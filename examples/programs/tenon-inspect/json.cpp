// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>
#include <type_traits>

#include "error_json.hpp"
#include "inspect.hpp"
#include "tenon/abi/version.h"
#include "tenon/core/hex.hpp"
#include "tenon/host/layers/discovery/platform_names.hpp"

namespace tenon::inspect {
namespace {

using Json = nlohmann::ordered_json;
using tool::error_json;

// The name of the type and the value; bytes as hexadecimal text.
Json option_value(const OptionValue& value) {
  const OptionView held = value;
  Json out = {{"type", option_type_name(value.type())}};
  if (const auto boolean = held.boolean()) out["value"] = *boolean;
  if (const auto integer = held.integer()) out["value"] = *integer;
  if (const auto real = held.real()) out["value"] = *real;
  if (const auto text = held.string()) out["value"] = *text;
  if (const auto bytes = held.bytes()) out["value"] = to_hex(*bytes);
  return out;
}

Json record_json(const host::PluginRecord& record) {
  Json backends = Json::array();
  for (const host::BackendRecord& backend : record.backends) {
    backends.push_back({{"id", backend.id},
                        {"description", backend.description},
                        {"tags", backend.tags},
                        {"cpu_features", backend.cpu_features},
                        {"priority", backend.priority},
                        {"min_payload_version", backend.min_payload_version},
                        {"max_payload_version", backend.max_payload_version},
                        {"runs_embedded_code", backend.runs_embedded_code},
                        {"offers_kernels", backend.offers_kernels}});
  }
  return {{"name", record.name},
          {"version", record.version},
          {"vendor", record.vendor},
          {"sdk_version", record.sdk_version},
          {"abi", concat(record.abi_major, ".", record.abi_minor)},
          {"min_host_abi", concat(record.abi_major, ".", record.min_host_abi_minor)},
          {"backends", std::move(backends)}};
}

Json names_of(const std::vector<host::LibrarySymbol>& symbols) {
  Json out = Json::array();
  for (const host::LibrarySymbol& symbol : symbols) out.push_back(symbol.name);
  return out;
}

Json library_json(const host::ElfLibrary& library) {
  const auto text_or_null = [](const std::optional<std::string>& text) -> Json {
    return text ? Json(*text) : Json(nullptr);
  };
  return {{"format", "ELF"},
          {"size", library.file_size},
          {"build_id", library.build_id},
          {"soname", library.dependencies.soname},
          {"needed", library.dependencies.needed},
          {"needed_versions", library.versions},
          {"rpath", text_or_null(library.dependencies.rpath)},
          {"run_path", text_or_null(library.dependencies.run_path)},
          {"exported", names_of(library.exported)},
          {"undefined", names_of(library.undefined)},
          {"num_constructors", library.num_constructors},
          {"num_destructors", library.num_destructors},
          {"symbol_table", library.symbol_table},
          {"debug_information", library.debug_information}};
}

Json platform_json(const host::Platform& platform) {
  return {{"format", name_of(platform.format)},
          {"machine", host::machine_name(platform)},
          {"loads_here", loads_here(platform)}};
}

Json aoti_export_json(const InspectedBackend& backend) {
  if (!backend.aoti_export) return nullptr;
  const InspectedBackend::AotiExport& found = *backend.aoti_export;
  return {{"device_name", found.device_name},
          {"torch_device", found.torch_device},
          {"fallback_kernels", found.fallback_kernels},
          {"decompositions", found.decompositions},
          {"compile_options", found.compile_options}};
}

Json scheduling_json(const InspectedBackend& backend) {
  if (!backend.scheduling) return nullptr;
  const auto text = [](const std::optional<std::string>& value) -> Json {
    return value ? Json(*value) : Json(nullptr);
  };
  return {{"priority", text(backend.scheduling->priority)},
          {"goal", text(backend.scheduling->goal)},
          {"power", text(backend.scheduling->power)},
          {"changes_between_runs", backend.scheduling->changes_between_runs}};
}

Json backend_json(const InspectedBackend& backend) {
  Json devices = Json::array();
  for (const host::BackendDevice& device : backend.devices) {
    devices.push_back({{"type", device.device.device_type},
                       {"index", device.device.device_id},
                       {"name", device.name},
                       {"description", device.description},
                       {"memory_bytes", device.memory_bytes},
                       {"identity", device.identity},
                       {"shares_addresses", device.shares_addresses}});
  }
  Json options = Json::array();
  for (const InspectedBackend::Option& option : backend.options) {
    const host::OptionDeclaration& declared = option.declaration;
    options.push_back({{"key", declared.key},
                       {"description", declared.description},
                       {"initial", option_value(declared.initial)},
                       {"value", option.value ? option_value(*option.value) : Json(nullptr)},
                       {"minimum", declared.minimum ? option_value(*declared.minimum) : Json()},
                       {"maximum", declared.maximum ? option_value(*declared.maximum) : Json()},
                       {"choices", declared.choices},
                       {"unit", declared.unit},
                       {"at_runtime", declared.at_runtime},
                       {"at_load", declared.at_load},
                       {"deprecated", declared.is_deprecated}});
  }
  return {{"id", backend.id},
          {"open_error", error_json(backend.opened)},
          {"unavailable", error_json(backend.available)},
          {"devices_error", error_json(backend.listed)},
          {"devices", std::move(devices)},
          {"options", std::move(options)},
          {"extensions", backend.extensions},
          {"aoti_export", aoti_export_json(backend)},
          {"scheduling", scheduling_json(backend)},
          {"operators_error", error_json(backend.operators_listed)},
          {"operators", backend.operators}};
}

Json isolated_json(const IsolatedUse& use) {
  const auto files_json = [](const std::vector<IsolatedUse::File>& files) {
    Json out = Json::array();
    for (const IsolatedUse::File& each : files) {
      out.push_back({{"path", each.path}, {"written", each.is_written}});
    }
    return out;
  };
  Json calls = Json::array();
  for (const auto& [name, count] : use.calls) calls.push_back({{"name", name}, {"count", count}});
  Json profiles = Json::array();
  for (const ProfileTrial& each : use.trials) {
    profiles.push_back({{"profile", each.profile},
                        {"runs", each.runs},
                        {"reason", each.runs ? Json(nullptr) : Json(each.reason)},
                        {"refusals", each.refusals}});
  }
  const auto narrowest = use.narrowest();
  return {{"error", error_json(use.failure)},
          {"narrowest_profile", narrowest ? Json(*narrowest) : Json(nullptr)},
          {"profiles", std::move(profiles)},
          {"calls", std::move(calls)},
          {"files", files_json(use.files)},
          {"devices", files_json(use.devices)}};
}

}  // namespace

std::string to_json(const Report& report) {
  Json lint = Json::array();
  for (const host::LintResult& result : report.lint) {
    lint.push_back({{"id", result.id},
                    {"title", result.title},
                    {"verdict", host::verdict_name(result.verdict)},
                    {"text", result.text}});
  }
  Json loaded = nullptr;
  if (report.loaded) {
    Json backends = Json::array();
    for (const InspectedBackend& backend : report.backends)
      backends.push_back(backend_json(backend));
    loaded = {{"error", error_json(*report.loaded)}, {"backends", std::move(backends)}};
  }
  const Json out = {
      {"version", TENON_VERSION_STRING},
      {"path", report.path},
      {"exit_code", static_cast<int>(report.code)},
      {"error", error_json(report.failure)},
      {"platform", report.platform ? platform_json(*report.platform) : Json(nullptr)},
      {"record", report.record ? record_json(*report.record) : Json(nullptr)},
      {"abi_error", error_json(report.fits)},
      {"library", report.library ? library_json(*report.library) : Json(nullptr)},
      {"lint", std::move(lint)},
      {"loaded", std::move(loaded)},
      {"isolated", report.isolated ? isolated_json(*report.isolated) : Json(nullptr)}};
  // In ASCII, so that no name from a file can drive a terminal.
  return out.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace tenon::inspect
