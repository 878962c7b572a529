// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>
#include <utility>

#include "listing.hpp"
#include "tenon/abi/version.h"
#include "tenon/host/platform/environment.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon::list {
namespace {

// Keys stay in the order in which the schema lists them.
using Json = nlohmann::ordered_json;

Json text_or_null(std::string_view text) { return text.empty() ? Json(nullptr) : Json(text); }

Json failure(Error code, const std::string& text) {
  if (code == Error::Ok) return nullptr;
  return {{"name", error_name(code)}, {"code", static_cast<std::uint32_t>(code)}, {"text", text}};
}

Json search_path(const host::SearchPath& path) {
  return {{"kind", search_path_name(path.kind)},
          {"path", text_or_null(host::path_text(path.path))},
          {"num_candidates", path.num_sources},
          {"error", failure(path.error, path.reason)}};
}

Json plugin(const host::PluginRecord& record) {
  return {{"name", record.name},
          {"version", text_or_null(record.version)},
          {"vendor", text_or_null(record.vendor)},
          {"sdk_version", text_or_null(record.sdk_version)},
          {"abi", concat(record.abi_major, ".", record.abi_minor)},
          {"min_host_abi_minor", record.min_host_abi_minor}};
}

Json manifest(const host::PluginSource& source) {
  if (source.manifest.empty()) return nullptr;
  return {{"path", host::path_text(source.manifest)},
          {"sha256", source.sha256 ? Json(source.sha256->to_hex()) : Json(nullptr)},
          {"sigstore", text_or_null(source.sigstore)},
          {"facts", source.facts}};
}

Json signature(const Entry& entry) {
  if (!entry.signature) return nullptr;
  const auto& found = *entry.signature;
  const host::SignatureReport report = found.ok() ? *found : host::SignatureReport();
  return {{"status", found.ok() ? state_name(report.state) : "unchecked"},
          {"publisher", text_or_null(report.publisher)},
          {"key_id", text_or_null(report.key_id)},
          {"trusted_comment", text_or_null(report.trusted_comment)},
          {"reason", text_or_null(found.ok() ? std::string_view(report.reason) : found.text())}};
}

Json payload_versions(const host::BackendRecord& backend) {
  if (backend.max_payload_version == 0) return nullptr;
  return {{"min", backend.min_payload_version}, {"max", backend.max_payload_version}};
}

// What is known of the file, whether its backends are or not.
void add_origin(const Entry& entry, std::size_t num_paths, Json& json) {
  const host::PluginSource& source = *entry.info.source;
  json["origin"] = source.origin();
  json["path"] = text_or_null(host::path_text(source.path));
  // The registry counts places from 1; 0 is the application.
  const std::size_t number = source.search_order;
  json["place"] = number != 0 && number <= num_paths ? Json(number - 1) : Json(nullptr);
  json["plugin"] = source.record ? plugin(*source.record) : Json(nullptr);
  json["manifest"] = manifest(source);
  json["signature"] = signature(entry);
}

Json backend(const Entry& entry, const host::BackendRecord& record, std::size_t num_paths) {
  Json json = {{"id", record.id},
               {"state", state_name(entry.info.state)},
               {"reason", text_or_null(entry.info.reason)},
               {"hidden_as", text_or_null(entry.hidden_as)},
               {"priority", record.priority},
               {"tags", record.tags},
               {"cpu_features", record.cpu_features},
               {"description", text_or_null(record.description)},
               {"payload_versions", payload_versions(record)},
               {"runs_embedded_code", record.runs_embedded_code},
               {"offers_kernels", record.offers_kernels}};
  add_origin(entry, num_paths, json);
  return json;
}

Json refused(const Entry& entry, std::size_t num_paths) {
  const host::PluginSource& source = *entry.info.source;
  Json json = {{"error", failure(source.error, source.reason)}};
  add_origin(entry, num_paths, json);
  return json;
}

}  // namespace

std::string to_json(const Listing& listing) {
  Json paths = Json::array();
  for (const host::SearchPath& each : listing.search_paths) paths.push_back(search_path(each));
  Json backends = Json::array();
  Json files = Json::array();
  for (const Entry& entry : listing.entries) {
    if (const host::BackendRecord* record = entry.info.backend()) {
      backends.push_back(backend(entry, *record, paths.size()));
    } else {
      files.push_back(refused(entry, paths.size()));
    }
  }
  const Json json = {
      {"version", TENON_VERSION_STRING},     {"abi", concat(TENON_ABI_MAJOR, ".", TENON_ABI_MINOR)},
      {"privileged", host::is_privileged()}, {"tags", listing.tags},
      {"places", std::move(paths)},          {"backends", std::move(backends)},
      {"refused", std::move(files)}};
  // Paths need not be UTF-8. ASCII, so that no control character reaches a terminal.
  return json.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace tenon::list
