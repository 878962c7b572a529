// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>

#include "tenon/abi/extensions/kernel_lookup.h"
#include "tenon/core/api.hpp"
#include "tenon/core/result.hpp"

/// The host's side of kernels that delegates ask for (abi/extensions/kernel_lookup.h).
namespace tenon::host::detail {

/// A kernel that a delegate asked for. Owned by the delegate.
class FoundKernel {
 public:
  FoundKernel() = default;
  FoundKernel(const FoundKernel&) = delete;
  FoundKernel& operator=(const FoundKernel&) = delete;
  virtual ~FoundKernel() = default;

  [[nodiscard]] virtual Result<std::unique_ptr<FoundKernel>> clone(
      std::span<tenon_value* const> args) const = 0;
  [[nodiscard]] virtual Status run() = 0;
};

/// Finds kernels for the delegates of one method, while they are loaded.
class KernelLookup {
 public:
  KernelLookup() = default;
  KernelLookup(const KernelLookup&) = delete;
  KernelLookup& operator=(const KernelLookup&) = delete;

  /// OperatorMissing when no plugin has a kernel of that operator for the arguments.
  [[nodiscard]] virtual Result<std::unique_ptr<FoundKernel>> find(
      const std::string& op, std::span<tenon_value* const> args) = 0;

 protected:
  ~KernelLookup() = default;
};

/// The look-up that delegates of this thread use at this moment, or null.
inline KernelLookup*& current_kernel_lookup() noexcept {
  thread_local KernelLookup* lookup = nullptr;
  return lookup;
}

/// Makes a look-up the current one of this thread during its lifetime.
class KernelLookupScope {
 public:
  explicit KernelLookupScope(KernelLookup& lookup) noexcept
      : before_(std::exchange(current_kernel_lookup(), &lookup)) {}
  KernelLookupScope(const KernelLookupScope&) = delete;
  KernelLookupScope& operator=(const KernelLookupScope&) = delete;
  ~KernelLookupScope() { current_kernel_lookup() = before_; }

 private:
  KernelLookup* before_;
};

/// The functions of the extension.
class KernelLookupTable {
 public:
  [[nodiscard]] static const tenon_kernel_lookup_v1& get() noexcept {
    static constexpr tenon_kernel_lookup_v1 table = {
        sizeof(tenon_kernel_lookup_v1), 0, &find, &clone, &run, &destroy, &last_failure};
    return table;
  }

 private:
  static tenon_status find(const tenon_host*, const char* op, tenon_value* const* args,
                           std::uint32_t num_args, tenon_found_kernel** out) noexcept {
    return give(out, [&]() -> Result<std::unique_ptr<FoundKernel>> {
      KernelLookup* const lookup = current_kernel_lookup();
      if (!lookup) {
        return error(Error::InvalidState, "kernel ", op,
                     ": kernels are found inside of init, on the thread of that call");
      }
      return lookup->find(op, {args, num_args});
    });
  }

  static tenon_status clone(const tenon_found_kernel* kernel, tenon_value* const* args,
                            std::uint32_t num_args, tenon_found_kernel** out) noexcept {
    return give(
        out, [&] { return reinterpret_cast<const FoundKernel*>(kernel)->clone({args, num_args}); });
  }

  static tenon_status run(tenon_found_kernel* kernel) noexcept {
    const Status outcome = reinterpret_cast<FoundKernel*>(kernel)->run();
    if (outcome.ok()) [[likely]]
      return TENON_STATUS_OK;
    return fail(outcome);
  }

  static void destroy(tenon_found_kernel* kernel) noexcept {
    delete reinterpret_cast<FoundKernel*>(kernel);
  }

  static const char* last_failure(const tenon_host*) noexcept { return text().c_str(); }

  template <class Make>
  static tenon_status give(tenon_found_kernel** out, Make&& make) noexcept {
    try {
      auto made = make();
      if (!made.ok()) return fail(std::move(made).status());
      *out = reinterpret_cast<tenon_found_kernel*>((*made).release());
      return TENON_STATUS_OK;
    } catch (const std::bad_alloc&) {
      text().clear();
      return TENON_STATUS_MEMORY_ALLOCATION_FAILED;
    }
  }

  [[gnu::cold]] static tenon_status fail(const Status& outcome) noexcept {
    try {
      text() = outcome.text();
    } catch (const std::bad_alloc&) {
      text().clear();
    }
    return to_status(outcome.error());
  }

  static std::string& text() noexcept {
    thread_local std::string text;
    return text;
  }
};

}  // namespace tenon::host::detail
