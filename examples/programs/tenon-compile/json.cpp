// SPDX-License-Identifier: MIT
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "compile.hpp"
#include "error_json.hpp"
#include "tenon/abi/version.h"
#include "tenon/core/lists.hpp"

namespace tenon::compile {
namespace {

using Json = nlohmann::ordered_json;
using tool::error_json;

Json file_json(const WrittenFile& file) { return {{"path", file.path}, {"size", file.nbytes}}; }

/// A list, or null when it is not known.
Json features_json(const std::optional<std::string>& list) {
  if (!list) return nullptr;
  Json out = Json::array();
  if (list->empty()) return out;
  for (const std::string_view name : split(*list, ',')) out.push_back(name);
  return out;
}

Json method_json(const Method& method) {
  Json delegates = Json::array();
  for (const Delegate& one : method.delegates) {
    delegates.push_back({{"backend", one.backend_id},
                         {"nodes", one.num_nodes},
                         {"blob_size", one.blob_nbytes},
                         {"info", one.info},
                         {"cpu_features", features_json(one.cpu_features)}});
  }
  Json operators = Json::array();
  for (const auto& [target, count] : method.delegation.delegation_by_operator) {
    operators.push_back(
        {{"operator", target}, {"delegated", count.delegated}, {"left_over", count.non_delegated}});
  }
  return {{"name", method.name},
          {"delegated_nodes", method.delegation.num_delegated_nodes},
          {"left_over_nodes", method.delegation.num_non_delegated_nodes},
          {"delegates", std::move(delegates)},
          {"operators", std::move(operators)},
          {"left_out", method.left_out}};
}

Json variant_json(const Variant& variant) {
  Json needs = Json::array();
  for (const auto& [id, need] : variant.needs) {
    needs.push_back({{"backend", id},
                     {"target", need.target},
                     {"payload_version", need.payload_version},
                     {"cpu_features", need.cpu_features}});
  }
  return {{"name", variant.name},
          {"priority", variant.priority},
          {"size", variant.nbytes == 0 ? Json(nullptr) : Json(variant.nbytes)},
          {"needs", std::move(needs)}};
}

}  // namespace

std::string to_json(const Report& report) {
  Json methods = Json::array();
  Json variants = Json::array();
  Json data = Json::array();
  if (report.program) {
    for (const Method& method : report.methods) methods.push_back(method_json(method));
    for (const Variant& variant : report.variants) variants.push_back(variant_json(variant));
    for (const WrittenFile& file : report.data) data.push_back(file_json(file));
  }
  const Json document = {{"version", TENON_VERSION_STRING},
                         {"exit_code", static_cast<int>(report.code)},
                         {"error", error_json(report.failure)},
                         {"program", report.program ? file_json(*report.program) : Json(nullptr)},
                         {"data", std::move(data)},
                         {"methods", std::move(methods)},
                         {"variants", std::move(variants)},
                         {"warnings", report.warnings}};
  // In ASCII; bytes that are not UTF-8 are replaced: paths are bytes.
  return document.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace tenon::compile
