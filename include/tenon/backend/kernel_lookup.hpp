// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/abi/draft/kernel_lookup.h"
#include "tenon/backend/context.hpp"
#include "tenon/backend/host_services.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/struct_size.hpp"

namespace tenon { inline namespace TENON_RELEASE {

/// A kernel of another plugin for an operator that a delegate calls, bound to arguments of the
/// delegate (host extension "tenon.kernel_lookup/1"). To be a member of a `Delegate`, which it
/// must not outlive. For backends that include this header; `<tenon/tenon.hpp>` does not.
///
/// The delegate owns the arguments: an array of pointers to values, the values, and their tensors,
/// in the order of the operator's schema, outputs last, followed by its return values. They keep
/// their addresses as long as the kernel. Between two runs data, capacity, sizes and strides of
/// tensors and the content of numbers may change. Dtypes, ranks, dim orders and bounds stay as
/// `find` got them.
///
/// Threads: one at a time for kernels that share arguments; others at the same time.
class FoundKernel {
 public:
  /// Whether the host finds kernels at all. Any time.
  [[nodiscard]] static bool is_offered_by(const HostServices& host) noexcept {
    return table_of(host) != nullptr;
  }

  /// Whether an operator can have this name: 1 to 256 bytes, none of them NUL or another control
  /// character.
  [[nodiscard]] static constexpr bool is_operator_name(std::string_view name) noexcept {
    for (const char c : name) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
    }
    return !name.empty() && name.size() <= 256;
  }

  /// Inside of `init` or `check_blob`, with its context.
  ///
  /// errors: OperatorMissing when no plugin has the operator for these arguments, also when the
  /// host finds no kernels; InvalidArgument for a name that names no operator; otherwise as the
  /// plugin's `create_kernel`.
  [[nodiscard]] static Result<FoundKernel> find(const InitContext& context, const std::string& op,
                                                std::span<tenon_value* const> args) {
    const HostServices host(context.raw().host);
    const tenon_kernel_lookup_v1* const table = table_of(host);
    if (!table) {
      return error(Error::OperatorMissing, "no kernel for ", op,
                   ": the host has no kernels of other plugins");
    }
    if (!is_operator_name(op)) {
      return error(Error::InvalidArgument, "a kernel for '", op,
                   "': expected the name of an operator: 1 to 256 bytes, no control characters");
    }
    FoundKernel out(table, host.raw());
    const tenon_kernel_context call = {sizeof call, count(args), op.c_str(), args.data()};
    return out.made(table->find_kernel(&context.raw(), &call, &out.kernel_));
  }

  /// Another one for the same operator of the same plugin, for arguments of the same kinds and
  /// dtypes. Any time, also while this one runs.
  [[nodiscard]] Result<FoundKernel> clone(std::span<tenon_value* const> args) const {
    FoundKernel out(table_, host_);
    return out.made(table_->clone_kernel(kernel_, args.data(), count(args), &out.kernel_));
  }

  FoundKernel(FoundKernel&& other) noexcept
      : table_(other.table_), host_(other.host_), kernel_(std::exchange(other.kernel_, nullptr)) {}
  FoundKernel& operator=(FoundKernel&& other) noexcept {
    std::swap(table_, other.table_);
    std::swap(host_, other.host_);
    std::swap(kernel_, other.kernel_);
    return *this;
  }
  ~FoundKernel() {
    if (kernel_) table_->destroy_kernel(kernel_);
  }

  /// Runs it once with the current content of its arguments.
  [[nodiscard]] Status run() {
    const tenon_status status = table_->run_kernel(kernel_);
    if (status == TENON_STATUS_OK) [[likely]]
      return ok();
    return failure(status);
  }

 private:
  FoundKernel(const tenon_kernel_lookup_v1* table, const tenon_host* host) noexcept
      : table_(table), host_(host) {}

  /// The complete table, or null.
  static const tenon_kernel_lookup_v1* table_of(const HostServices& host) noexcept {
    const auto* table = host.extension<tenon_kernel_lookup_v1>(TENON_EXTENSION_KERNEL_LOOKUP);
    return table && TENON_HAS_MEMBER(*table, last_failure) ? table : nullptr;
  }

  static std::uint32_t count(std::span<tenon_value* const> args) noexcept {
    return static_cast<std::uint32_t>(args.size());
  }

  Result<FoundKernel> made(tenon_status status) {
    if (status == TENON_STATUS_OK) {
      if (kernel_) return std::move(*this);
      return error(Error::Internal, "the host reports a kernel that it found, and gives none");
    }
    kernel_ = nullptr;
    return failure(status);
  }

  [[nodiscard]] Status failure(tenon_status status) const {
    return error(error_from_status(status), table_->last_failure(host_));
  }

  const tenon_kernel_lookup_v1* table_;
  const tenon_host* host_;
  tenon_found_kernel* kernel_ = nullptr;
};

}}  // namespace tenon::TENON_RELEASE
