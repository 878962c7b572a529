// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>

#include "error_json.hpp"
#include "pack.hpp"
#include "tenon/abi/version.h"
#include "tenon/core/scalar_type.hpp"

namespace tenon::pack {
namespace {

using Json = nlohmann::ordered_json;

Json tensors_json(const std::vector<aot::TensorValue>& tensors) {
  Json out = Json::array();
  for (const aot::TensorValue& tensor : tensors) {
    out.push_back({{"dtype", name_of(tensor.layout.scalar_type)},
                   {"sizes", tensor.layout.sizes},
                   {"dynamic", tensor.is_dynamic}});
  }
  return out;
}

Json method_json(const Call& call) {
  Json specs = Json::array();
  for (const auto& spec : call.specs) {
    specs.push_back({{"key", spec.key}, {"size", spec.value.size()}});
  }
  Json data = Json::array();
  for (const auto& [key, bytes] : call.data) {
    data.push_back({{"key", key}, {"size", bytes.size()}});
  }
  return {{"name", call.method},
          {"backend", call.backend},
          {"blob_size", call.blob.size()},
          {"inputs", tensors_json(call.inputs)},
          {"outputs", tensors_json(call.outputs)},
          {"compile_specs", std::move(specs)},
          {"named_data", std::move(data)}};
}

}  // namespace

std::string to_json(const Report& report) {
  Json program = nullptr;
  if (report.program) {
    program = {{"path", report.program->path}, {"size", report.program->nbytes}};
  }
  const Json document = {{"version", TENON_VERSION_STRING},
                         {"exit_code", static_cast<int>(report.code)},
                         {"error", tool::error_json(report.failure)},
                         {"program", std::move(program)},
                         {"method", report.program ? method_json(report.call) : Json(nullptr)}};
  // In ASCII; bytes that are not UTF-8 are replaced: paths are bytes.
  return document.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace tenon::pack
