// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>
#include <string_view>

#include "error_json.hpp"
#include "model.hpp"
#include "tenon/abi/version.h"
#include "tenon/core/hex.hpp"

namespace tenon::inspect {
namespace {

using Json = nlohmann::ordered_json;

Json tensor_json(const std::optional<TensorFacts>& tensor) {
  if (!tensor) return nullptr;
  return {{"dtype", tensor->dtype}, {"sizes", tensor->sizes}};
}

Json values_json(const std::vector<ValueFacts>& values) {
  Json out = Json::array();
  for (const ValueFacts& value : values) {
    Json one = {{"kind", value.kind}, {"tensor", tensor_json(value.tensor)}};
    if (value.tensor) {
      one["tensor"]["dynamic"] = value.is_dynamic;
      one["tensor"]["memory_planned"] = value.is_memory_planned;
      one["tensor"]["device"] = value.device;
    }
    out.push_back(std::move(one));
  }
  return out;
}

/// The first bytes of a value: enough to recognize it, and a bound for what a program can have
/// printed.
std::string hex_of(std::string_view value) {
  constexpr std::size_t shown = 256;
  return to_hex(std::as_bytes(std::span(value.substr(0, shown))));
}

Json delegate_json(const DelegateFacts& delegate) {
  Json specs = Json::array();
  for (const SpecFacts& spec : delegate.compile_specs) {
    specs.push_back(
        {{"key", spec.key}, {"size", spec.value.size()}, {"first_bytes", hex_of(spec.value)}});
  }
  return {{"backend", delegate.backend},
          {"blob", delegate.blob},
          {"blob_size", delegate.nbytes},
          {"segment", delegate.segment ? Json(*delegate.segment) : Json(nullptr)},
          {"compile_specs", std::move(specs)}};
}

Json method_json(const MethodFacts& method) {
  Json delegates = Json::array();
  for (const DelegateFacts& delegate : method.delegates)
    delegates.push_back(delegate_json(delegate));
  Json buffers = Json::array();
  for (const PlannedBuffer& buffer : method.planned_buffers) {
    buffers.push_back({{"size", buffer.nbytes}, {"device", buffer.device}});
  }
  return {{"name", method.name},
          {"inputs", values_json(method.inputs)},
          {"outputs", values_json(method.outputs)},
          {"delegates", std::move(delegates)},
          {"operators", method.operators},
          {"planned_buffers", std::move(buffers)},
          {"num_instructions", method.num_instructions}};
}

}  // namespace

std::string to_json(const ModelReport& report) {
  Json methods = Json::array();
  for (const MethodFacts& method : report.methods) methods.push_back(method_json(method));
  Json named_data = Json::array();
  for (const NamedDataFacts& data : report.named_data) {
    named_data.push_back(
        {{"key", data.key}, {"size", data.nbytes}, {"tensor", tensor_json(data.tensor)}});
  }
  const Json document = {
      {"version", TENON_VERSION_STRING},
      {"path", report.path},
      {"exit_code", static_cast<int>(report.code)},
      {"error", tool::error_json(report.failure)},
      {"kind", report.kind == FileKind::program ? "program" : "data"},
      {"size", report.nbytes},
      {"segments", report.segments},
      {"methods", std::move(methods)},
      {"named_data", std::move(named_data)},
      {"extracted", report.extracted.empty() ? Json(nullptr) : Json(report.extracted)}};
  // Names come from files and need not be UTF-8.
  return document.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace tenon::inspect
