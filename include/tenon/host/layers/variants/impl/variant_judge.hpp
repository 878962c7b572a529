// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/concat.hpp"
#include "tenon/core/lists.hpp"
#include "tenon/host/layers/code/embedded_code.hpp"
#include "tenon/host/layers/data/data_files.hpp"
#include "tenon/host/layers/data/merged_data_map.hpp"
#include "tenon/host/layers/discovery/provider_registry.hpp"
#include "tenon/host/layers/inspect/check_blob.hpp"
#include "tenon/host/layers/kernels/kernel_backends.hpp"
#include "tenon/host/layers/variants/choose_variant.hpp"
#include "tenon/host/layers/variants/requirements.hpp"
#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/loader/method/options.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// The answers about the variants of one method.
class VariantJudge {
 public:
  /// All arguments must outlive this object.
  VariantJudge(const std::shared_ptr<const Program>& program, const MethodOptions& options) noexcept
      : program_(program), options_(options), registry_(ProviderRegistry::of(options.registry)) {}

  [[nodiscard]] Result<VariantAnswer> judge(const ProgramVariant& variant) {
    VariantAnswer out;
    out.variant = &variant;
    for (const VariantNeed& need : variant.needs) {
      out.refused = compare(need);
      if (!out.refused.ok()) return out;
    }
    const schema::ExecutionPlan& plan = *program_->flatbuffer().execution_plan()->Get(variant.plan);
    TENON_RETURN_IF_ERROR(open_data());
    if (const auto missing = find_missing_tensors(plan, external_.get()); !missing.empty()) {
      out.refused =
          error(Error::NotFound, "external tensor ", quoted(missing[0]), " is in no data file");
      return out;
    }
    out.refused = find_kernels(plan);
    if (!out.refused.ok()) return out;
    out.was_asked = true;
    out.refused = ask(variant, plan, out);
    return out;
  }

  [[nodiscard]] std::vector<BackendRef> take_backends() && {
    std::vector<BackendRef> out;
    for (auto& [id, backend] : backends_) out.push_back(std::move(backend));
    return out;
  }

 private:
  /// Compares the table with the CPU and the records of plugins.
  [[nodiscard]] Status compare(const VariantNeed& need) {
    const auto missing = registry_ ? registry_->missing_cpu_features(need.cpu_features)
                                   : ProviderRegistry().missing_cpu_features(need.cpu_features);
    if (!missing.empty()) {
      return error(Error::NotSupported, "backend ", quoted(need.backend_id),
                   ": its code needs CPU features that this CPU lacks: ", join(missing, ", "));
    }
    TENON_TRY(const BackendRecord* const record, find_record(need.backend_id));
    const std::uint32_t version = need.payload_version;
    const bool has_versions = record->min_payload_version != 0 || record->max_payload_version != 0;
    if (version != 0 && has_versions &&
        (version < record->min_payload_version || version > record->max_payload_version)) {
      return error(Error::DelegateInvalidCompatibility, "backend ", quoted(need.backend_id),
                   ": its blobs have payload version ", version, ", the plugin reads ",
                   record->min_payload_version, " to ", record->max_payload_version);
    }
    return check_backend(options_, *record);
  }

  /// The record of the backend that a look-up of `id` would give. Loads nothing, unless the
  /// registry has no lists.
  [[nodiscard]] Result<const BackendRecord*> find_record(std::string_view id) {
    for (const BackendRef& backend : options_.backends) {
      if (backend && backend->id() == id) return &backend->record();
    }
    if (options_.registry && !registry_) {
      TENON_TRY(const LoadedBackend* const backend, open(id));
      return &backend->record();
    }
    if (!infos_) {
      infos_.emplace();
      if (registry_) *infos_ = registry_->enumerate_backends();
    }
    std::string reasons;
    for (const BackendInfo& info : *infos_) {
      if (info.id() != id) continue;
      if (info.state == BackendState::known || info.state == BackendState::loaded) {
        return info.backend();
      }
      reasons += concat("; ", state_name(info.state), ": ", info.reason);
    }
    return error(Error::NotFound, "backend ", quoted(id),
                 reasons.empty() ? " is not registered" : " cannot be used", reasons);
  }

  [[nodiscard]] Status open_data() {
    if (data_) return ok();
    const auto files = data_files_of(options_);
    if (files.empty()) return ok();
    TENON_TRY(data_, MergedDataMap::create(program_, files));
    TENON_TRY(external_, MergedDataMap::create(nullptr, files));
    return ok();
  }

  /// Whether plugins list the operators that the host has no kernels for.
  [[nodiscard]] Status find_kernels(const schema::ExecutionPlan& plan) {
    const auto missing = find_missing_operators(plan, options_.kernels);
    if (missing.empty()) return ok();
    if (!operators_) {
      operators_.emplace();
      for (const std::string& id : find_kernel_backends(options_.backends, options_.registry)) {
        const auto backend = find_backend(options_.backends, options_.registry, id);
        if (!backend.ok() || !usable_kernels(**backend).ok()) continue;
        auto listed = list_operators(**backend);
        if (listed.ok()) operators_->insert(listed->begin(), listed->end());
      }
    }
    for (const auto& [op, instructions] : missing) {
      if (!operators_->contains(op)) {
        return error(Error::OperatorMissing, "no kernel for operator ", quoted(op));
      }
    }
    return ok();
  }

  [[nodiscard]] Status ask(const ProgramVariant& variant, const schema::ExecutionPlan& plan,
                           VariantAnswer& out) {
    for (const VariantNeed& need : variant.needs) {
      TENON_TRY(const LoadedBackend* const backend, open(need.backend_id));
      TENON_RETURN_IF_ERROR(backend->is_available());
    }
    const std::string method(variant.method);
    if (plan.delegates()->size() == 0)
      out.reason = "it has no delegates";
    else
      out.verdict = TENON_BLOB_OPTIMAL;
    for (flatbuffers::uoffset_t i = 0; i < plan.delegates()->size(); ++i) {
      const schema::BackendDelegate& delegate = *plan.delegates()->Get(i);
      TENON_TRY(const LoadedBackend* const backend, open(delegate.id()->string_view()));
      const auto given = runtime_specs_of(options_.backend_options, backend->id());
      auto checked =
          check_blob(*backend, *program_, method.c_str(), delegate,
                     data_ ? data_->abi() : program_->named_data(), options_.registry, given);
      if (!checked.ok()) return std::move(checked).status();
      TENON_RETURN_IF_ERROR(
          take(*std::move(checked), concat("delegate ", i, " (", backend->id()), out));
    }
    return ok();
  }

  /// One more delegate's verdict. `name` lacks its parenthesis.
  [[nodiscard]] static Status take(std::optional<BlobCheck> check, const std::string& name,
                                   VariantAnswer& out) {
    if (!check) check = BlobCheck{TENON_BLOB_USABLE, "the backend has no check_blob", {}};
    if (check->verdict == TENON_BLOB_INCOMPATIBLE) {
      return error(Error::DelegateInvalidCompatibility, name, "): ", check->reason);
    }
    if (!check->missing_keys.empty()) {
      return error(Error::NotFound, name, "): named data ", quoted(check->missing_keys[0]),
                   " is neither in the program nor in a data file");
    }
    if (check->verdict <= out.verdict) return ok();
    out.verdict = check->verdict;
    out.reason = concat(name, "): ", check->reason);
    return ok();
  }

  [[nodiscard]] Result<const LoadedBackend*> open(std::string_view id) {
    auto found = backends_.find(id);
    if (found == backends_.end()) {
      TENON_TRY(BackendRef backend, find_backend(options_.backends, options_.registry, id));
      found = backends_.emplace(id, std::move(backend)).first;
    }
    return found->second.get();
  }

  const std::shared_ptr<const Program>& program_;
  const MethodOptions& options_;
  const ProviderRegistry* const registry_;         ///< Null for one of another class, as for none.
  std::optional<std::vector<BackendInfo>> infos_;  ///< Once they are needed, as the next ones.
  std::optional<std::set<std::string, std::less<>>> operators_;
  std::shared_ptr<const MergedDataMap> data_;
  std::shared_ptr<const MergedDataMap> external_;
  std::map<std::string_view, BackendRef> backends_;  ///< By an id in the program.
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
