// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>
#include <utility>

#include "tenon/abi/backend.h"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/code/embedded_code.hpp"
#include "tenon/host/layers/kernels/kernel_lookup_context.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// The context of one `init`. It answers the backend's questions about code.
class HostInitContext : public KernelLookupContext {
 public:
  /// `policy`, `kernels` and `threads`, the last two of which may be null, must outlive the call.
  explicit HostInitContext(const EmbeddedCodePolicy& policy, KernelLookup* kernels = nullptr,
                           const tenon_thread_pool* threads = nullptr) noexcept
      : KernelLookupContext(kernels, threads), policy_(&policy) {
    struct_size = sizeof(tenon_init_context);
    permit_code = &answer;
  }

  /// After `init` has succeeded: whether it respected the answers. It is too late to stop a backend
  /// that did not ask or did not obey, but what it loaded is not executed.
  [[nodiscard]] bool respects_policy(bool runs_embedded_code) const noexcept {
    return !refused_ && (asked_ || !runs_embedded_code || policy_->allows_all());
  }

  /// The same with a text, for the backend `id`.
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

  /// The reason why code was refused, which is more precise than that of the backend; ok when none
  /// was.
  [[nodiscard]] Status take_refusal() noexcept { return std::move(refusal_); }

 private:
  static tenon_status answer(const tenon_init_context* context, const void* code,
                             std::uint64_t size) noexcept {
    // `context` is part of an object of this class, which is not constant.
    auto& call = const_cast<HostInitContext&>(*static_cast<const HostInitContext*>(context));
    call.asked_ = true;
    tenon_status status = TENON_STATUS_MEMORY_ALLOCATION_FAILED;
    try {
      Status verdict = call.policy_->check(
          {static_cast<const std::byte*>(code), static_cast<std::size_t>(size)});
      status = to_status(verdict.error());
      if (call.refusal_.ok()) call.refusal_ = std::move(verdict);
    } catch (const std::bad_alloc&) {
      // The number has to do: there is no memory for a text.
    }
    call.refused_ |= status != TENON_STATUS_OK;
    return status;
  }

  const EmbeddedCodePolicy* policy_;
  Status refusal_;
  bool asked_ = false;
  bool refused_ = false;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
