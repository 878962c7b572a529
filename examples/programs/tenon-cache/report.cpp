// SPDX-License-Identifier: MIT
#include "report.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>

#include "error_json.hpp"
#include "tenon/abi/version.h"
#include "tenon/core/concat.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tool.hpp"

namespace tenon::cache {
namespace {

// Keys stay in the order in which the schema lists them.
using Json = nlohmann::ordered_json;

std::uint64_t total_of(const Report& report) {
  std::uint64_t out = 0;
  for (const Report::File& file : report.files) out += file.entry.nbytes;
  return out;
}

/// "2026-11-26T09:30:00Z".
std::string time_text(std::int64_t nanoseconds) {
  const auto seconds = static_cast<std::time_t>(nanoseconds / 1'000'000'000);
  std::tm parts{};
#if defined(_WIN32)
  gmtime_s(&parts, &seconds);
#else
  gmtime_r(&seconds, &parts);
#endif
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

std::string or_dash(std::string_view text) { return text.empty() ? "-" : printable(text); }

}  // namespace

std::string to_text(const Report& report) {
  std::string out;
  const std::string directory = printable(host::path_text(report.directory));
  if (report.num_removed) {
    out += concat("Removed ", *report.num_removed,
                  *report.num_removed == 1 ? " file.\n" : " files.\n");
  }
  if (report.files.empty()) return out + concat("Nothing is kept in ", directory, ".\n");
  using Row = std::array<std::string, 4>;
  std::vector<Row> rows{{"BYTES", "LAST USED", "BACKEND", "PLUGIN"}};
  for (const Report::File& file : report.files) {
    const host::PreparedEntry& entry = file.entry;
    rows.push_back({concat(entry.nbytes), time_text(entry.last_used), or_dash(entry.backend_id),
                    or_dash(entry.plugin_path)});
  }
  std::array<std::size_t, 3> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    out += std::string(widths[0] - row[0].size(), ' ') + row[0];
    for (std::size_t column = 1; column < widths.size(); ++column) {
      out += "  " + row[column] + std::string(widths[column] - row[column].size(), ' ');
    }
    out += "  " + row[3] + "\n";
    if (i == 0) continue;
    const auto& verified = report.files[i - 1].verified;
    if (verified && !verified->ok()) out += concat("    ", printable(describe(*verified)), "\n");
  }
  return out + concat(report.files.size(), report.files.size() == 1 ? " file, " : " files, ",
                      total_of(report), " bytes in ", directory, "\n");
}

std::string to_json(const Report& report) {
  Json files = Json::array();
  for (const Report::File& file : report.files) {
    const host::PreparedEntry& entry = file.entry;
    Json json = {{"name", entry.name},
                 {"backend", entry.backend_id.empty() ? Json(nullptr) : Json(entry.backend_id)},
                 {"plugin", entry.plugin_path.empty() ? Json(nullptr) : Json(entry.plugin_path)},
                 {"nbytes", entry.nbytes},
                 {"last_used", time_text(entry.last_used)}};
    json["valid"] = file.verified ? Json(file.verified->ok()) : Json(nullptr);
    json["error"] = file.verified ? tool::error_json(*file.verified) : Json(nullptr);
    files.push_back(std::move(json));
  }
  Json json = {{"version", TENON_VERSION_STRING},
               {"directory", host::path_text(report.directory)},
               {"nbytes", total_of(report)}};
  json["num_removed"] = report.num_removed ? Json(*report.num_removed) : Json(nullptr);
  json["files"] = std::move(files);
  // Paths need not be UTF-8. ASCII, so that no control character reaches a terminal.
  return json.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace tenon::cache
