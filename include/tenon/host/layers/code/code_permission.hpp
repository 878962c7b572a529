// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string_view>
#include <utility>

#include "tenon/abi/backend.h"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/code/embedded_code.hpp"
#include "tenon/host/loader/plugin/calls.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Answers what a backend asks about code in one call of `init`.
class CodePermission {
 public:
  /// `policy` must outlive this, and this the call.
  explicit CodePermission(const EmbeddedCodePolicy& policy) noexcept : policy_(&policy) {}
  CodePermission(const CodePermission&) = delete;
  CodePermission& operator=(const CodePermission&) = delete;

  /// From now on `call` asks this, and what it asked before.
  void answer(InitCall& call) noexcept {
    before_ = static_cast<CodePermission*>(find_service(&call, &key));
    service_ = {&key, this, call.services};
    call.services = &service_;
    call.permit_code = &permit;
  }

  /// After `init` has succeeded: whether it respected the answers. It is too late to stop a backend
  /// that did not ask or did not obey, but what it loaded is not executed.
  [[nodiscard]] bool respects_policy(bool runs_embedded_code) const noexcept {
    return !refused_ && (asked_ || !runs_embedded_code || policy_->allows_all());
  }

  /// Fails with a text that names the backend `id` unless `respects_policy`.
  [[nodiscard]] Status check_policy(std::string_view id, bool runs_embedded_code) const {
    if (respects_policy(runs_embedded_code)) return ok();
    if (refused_) {
      return error(Error::Internal, "backend ", id,
                   " went on although it was refused (TN-COD-3): ", refusal_.text());
    }
    return error(Error::Internal, "backend ", id,
                 " runs code that programs carry but did not ask for permission (TN-COD-1), which "
                 "the policy for embedded code demands");
  }

  /// The reason why code was refused, which is more precise than the backend's; ok when none was.
  [[nodiscard]] Status take_refusal() noexcept { return std::move(refusal_); }

 private:
  static constexpr char key = 0;

  static tenon_status permit(const tenon_init_context* context, const void* code,
                             std::uint64_t size) noexcept {
    const std::span bytes{static_cast<const std::byte*>(code), static_cast<std::size_t>(size)};
    tenon_status status = TENON_STATUS_OK;
    auto* asked = static_cast<CodePermission*>(find_service(context, &key));
    for (; asked; asked = asked->before_) {
      const tenon_status verdict = asked->judge(bytes);
      if (status == TENON_STATUS_OK) status = verdict;
    }
    return status;
  }

  [[nodiscard]] tenon_status judge(std::span<const std::byte> code) noexcept {
    asked_ = true;
    tenon_status status = TENON_STATUS_MEMORY_ALLOCATION_FAILED;
    try {
      Status verdict = policy_->check(code);
      status = to_status(verdict.error());
      if (refusal_.ok()) refusal_ = std::move(verdict);
    } catch (const std::bad_alloc&) {
      // The number has to do: there is no memory for a text.
    }
    refused_ |= status != TENON_STATUS_OK;
    return status;
  }

  const EmbeddedCodePolicy* policy_;
  CodePermission* before_ = nullptr;  ///< In the same call.
  Service service_;
  Status refusal_;
  bool asked_ = false;
  bool refused_ = false;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
