// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>

#include "doctor.hpp"
#include "error_json.hpp"
#include "tenon/abi/version.h"
#include "tenon/core/hex.hpp"
#include "tenon/host/loader/plugin/plugin.hpp"
#include "tenon/host/loader/program/device_buffers.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon::doctor {
namespace {

using Json = nlohmann::ordered_json;
using tool::error_json;

Json served_by(const host::BackendInfo& info) {
  const host::PluginSource& source = *info.source;
  return {{"origin", source.origin()},
          {"place", host::search_path_name(source.search_path_kind)},
          {"plugin", source.record ? Json(source.record->name) : Json(nullptr)},
          {"version", source.record ? Json(source.record->version) : Json(nullptr)},
          {"runs_embedded_code", info.backend()->runs_embedded_code}};
}

Json not_found(const host::InvalidBackend& invalid) {
  Json places = Json::array();
  for (const host::SearchPath& path : invalid.search_paths) {
    places.push_back({{"kind", host::search_path_name(path.kind)},
                      {"path", host::path_text(path.path)},
                      {"reason", path.reason}});
  }
  Json refused = Json::array();
  const auto add = [&](const std::vector<host::BackendInfo>& infos) {
    for (const host::BackendInfo& info : infos) {
      refused.push_back({{"id", std::string(info.id())},
                         {"state", host::state_name(info.state)},
                         {"origin", info.source->origin()},
                         {"reason", info.reason}});
    }
  };
  add(invalid.providers);
  add(invalid.refused);
  return {{"near", invalid.near_ids},
          {"known", invalid.known},
          {"places", std::move(places)},
          {"refused", std::move(refused)}};
}

/// Null when the backend states nothing.
Json estimate_json(const Delegate& delegate) {
  if (!delegate.estimate.is_stated) return nullptr;
  Json needs = Json::array();
  for (const host::DelegateBytes& need : delegate.estimate.needs) {
    needs.push_back({{"device", host::device_name(need.device)},
                     {"weights", need.weights},
                     {"workspace", need.workspace},
                     {"session", need.session}});
  }
  return {{"complete", delegate.estimate.is_complete}, {"needs", std::move(needs)}};
}

/// The need of the method on each device.
Json memory_json(const Method& method) {
  Json out = Json::array();
  for (const MemoryOnDevice& on : method.memory) {
    std::uint64_t planned = 0;
    for (const host::DeviceBytes& entry : method.estimate.planned) {
      if (host::is_same_device(entry.device, on.needed.device)) planned = entry.nbytes;
    }
    out.push_back({{"device", host::device_name(on.needed.device)},
                   {"bytes", on.needed.nbytes},
                   {"planned", planned},
                   {"tables", host::is_cpu(on.needed.device) ? method.estimate.tables : 0},
                   {"free", on.free ? Json(*on.free) : Json(nullptr)},
                   {"fits", on.free ? Json(on.fits()) : Json(nullptr)}});
  }
  return out;
}

Json delegate_json(const Delegate& delegate) {
  Json specs = Json::array();
  for (const CompileSpec& spec : delegate.compile_specs) {
    specs.push_back({{"key", spec.key},
                     {"size", spec.value.size()},
                     {"hex", to_spaced_hex(spec.value, spec.value.size())}});
  }
  Json check = nullptr;
  if (delegate.check) {
    check = {{"verdict", host::blob_verdict_name(delegate.check->verdict)},
             {"reason", delegate.check->reason}};
  }
  return {{"index", delegate.index},
          {"backend", delegate.backend_id},
          {"blob_size", delegate.blob_size},
          {"compile_specs", std::move(specs)},
          {"served_by", delegate.served_by ? served_by(*delegate.served_by) : Json(nullptr)},
          {"look_up_error", error_json(delegate.found)},
          {"not_found", delegate.not_found ? not_found(*delegate.not_found) : Json(nullptr)},
          {"unavailable", error_json(delegate.available)},
          {"check_blob_error", error_json(delegate.checked)},
          {"check_blob", std::move(check)},
          {"missing_data", delegate.missing_data},
          {"estimate", estimate_json(delegate)},
          {"problems", delegate.problems()}};
}

Json variants_json(const Method& method) {
  Json out = Json::array();
  for (const Variant& one : method.variants) {
    const bool runs = one.refused.ok();
    out.push_back({{"name", one.name},
                   {"priority", one.priority},
                   {"needs", one.needs},
                   {"chosen", one.is_chosen},
                   {"refused", error_json(one.refused)},
                   {"verdict", runs ? Json(host::blob_verdict_name(one.verdict)) : Json(nullptr)},
                   {"reason", one.reason}});
  }
  return out;
}

Json proofs_json(const Method& method) {
  Json out = Json::array();
  for (const ProofHere& one : method.proofs) {
    out.push_back({{"variant", one.variant.empty() ? Json(nullptr) : Json(one.variant)},
                   {"cases", one.proof.num_cases},
                   {"passed", one.proof.passed()},
                   {"error", error_json(one.failure)}});
  }
  return out;
}

}  // namespace

std::string to_json(const Diagnosis& diagnosis) {
  Json methods = Json::array();
  for (const Method& method : diagnosis.methods) {
    Json delegates = Json::array();
    for (const Delegate& delegate : method.delegates) delegates.push_back(delegate_json(delegate));
    Json missing = Json::array();
    Json operators = Json::array();
    for (const Operator& op : method.operators) {
      const Json facts = {{"name", op.name}, {"instructions", op.instructions}};
      if (op.served_by.empty()) {
        missing.push_back(facts);
      } else {
        operators.push_back(facts);
        operators.back()["served_by"] = op.served_by;
      }
    }
    Json buffers = Json::array();
    for (const DeviceBuffer& buffer : method.device_buffers) {
      const bool served = buffer.problem.empty();
      buffers.push_back({{"buffer", buffer.planned.index},
                         {"size", buffer.planned.nbytes},
                         {"device", host::device_name(buffer.planned.device)},
                         {"served_by", served ? Json(buffer.served_by) : Json(nullptr)},
                         {"problem", served ? Json(nullptr) : Json(buffer.problem)}});
    }
    methods.push_back({{"name", method.name},
                       {"can_run", method.can_run()},
                       {"variants", variants_json(method)},
                       {"delegates", std::move(delegates)},
                       {"operators", std::move(operators)},
                       {"missing_operators", std::move(missing)},
                       {"missing_tensors", method.missing_tensors},
                       {"device_buffers", std::move(buffers)},
                       {"memory", memory_json(method)},
                       {"proofs", proofs_json(method)}});
  }
  const Json out = {{"version", TENON_VERSION_STRING},
                    {"program", diagnosis.program},
                    {"exit_code", static_cast<int>(diagnosis.code)},
                    {"error", error_json(diagnosis.failure)},
                    {"summary", diagnosis.failure.ok() ? Json(summary(diagnosis)) : Json(nullptr)},
                    {"unloads", host::unloads_libraries()},
                    {"methods", std::move(methods)}};
  // In ASCII, so that no name from a file can drive a terminal.
  return out.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace tenon::doctor
