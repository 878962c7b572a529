// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/code/code_permission.hpp"
#include "tenon/host/layers/code/embedded_code.hpp"
#include "tenon/host/loader/impl/method/loading.hpp"
#include "tenon/host/loader/layer.hpp"
#include "tenon/host/loader/plugin/backend.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// The policy of one method. A backend that it refuses never sees a blob.
class CodePart final : public PartOf<CodePart> {
 public:
  explicit CodePart(EmbeddedCodePolicy policy) noexcept : policy_(std::move(policy)) {}

  [[nodiscard]] Status admit(Loading&, const LoadedBackend& backend) override {
    const BackendRecord& record = backend.record();
    return record.runs_embedded_code ? policy_.check_backend(record.id) : ok();
  }

  [[nodiscard]] Status init_context(Loading&, DelegateLoad& delegate) override {
    permission_.emplace(policy_).answer(delegate.context);
    return ok();
  }

  [[nodiscard]] Status after_init(Loading&, DelegateLoad& delegate, Status outcome) override {
    const BackendRecord& record = delegate.use.backend->record();
    if (outcome.ok()) return permission_->check_policy(record.id, record.runs_embedded_code);
    Status refusal = permission_->take_refusal();
    return refusal.ok() ? std::move(outcome) : std::move(refusal);
  }

 private:
  const EmbeddedCodePolicy policy_;
  std::optional<CodePermission> permission_;  ///< Of the latest `init`.
};

}  // namespace detail

Result<std::unique_ptr<detail::MethodPart>> EmbeddedCodePolicy::attach(detail::LoadRequest&) const {
  if (allows_all()) return nullptr;
  return std::make_unique<detail::CodePart>(*this);
}

Status check_backend(const MethodOptions& options, const BackendRecord& record) {
  if (!record.runs_embedded_code) return ok();
  Status verdict;
  const auto check = [&](const EmbeddedCodePolicy& policy) {
    if (verdict.ok()) verdict = policy.check_backend(record.id);
  };
  detail::for_each_layer<EmbeddedCodePolicy>(options.layers, check);
  if (options.registry) {
    detail::for_each_layer<EmbeddedCodePolicy>(options.registry->layers(), check);
  }
  return verdict;
}

}}}  // namespace tenon::TENON_RELEASE::host
