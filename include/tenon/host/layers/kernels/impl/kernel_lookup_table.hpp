// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/abi/draft/kernel_lookup.h"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/plugin/calls.hpp"

/// The host's side of kernels that delegates ask for (abi/draft/kernel_lookup.h).
namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// The host's side of a `FoundKernel`: a kernel that a delegate asked for and owns.
class HostFoundKernel {
 public:
  HostFoundKernel() = default;
  HostFoundKernel(const HostFoundKernel&) = delete;
  HostFoundKernel& operator=(const HostFoundKernel&) = delete;
  virtual ~HostFoundKernel() = default;

  [[nodiscard]] virtual Result<std::unique_ptr<HostFoundKernel>> clone(
      std::span<tenon_value* const> args) const = 0;
  [[nodiscard]] virtual Status run() = 0;
};

/// Finds kernels for the delegates of one method, while they are loaded: the service of each `init`
/// and `check_blob` that may ask for them.
class KernelLookup {
 public:
  static constexpr char key = 0;

  KernelLookup() = default;
  KernelLookup(const KernelLookup&) = delete;
  KernelLookup& operator=(const KernelLookup&) = delete;

  /// OperatorMissing when no plugin has a kernel of that operator for the arguments.
  [[nodiscard]] virtual Result<std::unique_ptr<HostFoundKernel>> find(
      const std::string& op, std::span<tenon_value* const> args) = 0;

 protected:
  ~KernelLookup() = default;
};

struct Loading;

/// The look-up of the kernels that delegates ask for in a load; made by the first call.
[[nodiscard]] KernelLookup& lookup_during(Loading& loading);

/// The functions of the extension. No exception passes to the delegate. A plugin that is asked for
/// a kernel has no context to ask with, so that none asks for the same one without end.
class KernelLookupTable {
 public:
  [[nodiscard]] static const tenon_kernel_lookup_v1& get() noexcept {
    static constexpr tenon_kernel_lookup_v1 table = {
        sizeof(tenon_kernel_lookup_v1), 0, &find, &clone, &run, &destroy, &last_failure};
    return table;
  }

 private:
  static tenon_status find(const tenon_init_context* context, const tenon_kernel_context* call,
                           tenon_found_kernel** out) noexcept {
    return guarded([&]() -> Status {
      const bool is_whole = call && call->op && (call->args || call->num_args == 0);
      if (!context || !is_whole || !out) return null_pointer("find_kernel");
      const char* const op = call->op;
      auto* lookup = static_cast<KernelLookup*>(find_service(context, &KernelLookup::key));
      auto* const loading = static_cast<Loading*>(find_service(context, &loading_key));
      if (!lookup && loading) lookup = &lookup_during(*loading);
      if (!lookup) {
        return error(Error::OperatorMissing, "no kernel for ", op,
                     ": the host has no kernels of other plugins");
      }
      return give(out, lookup->find(op, {call->args, call->num_args}));
    });
  }

  static tenon_status clone(const tenon_found_kernel* kernel, tenon_value* const* args,
                            std::uint32_t num_args, tenon_found_kernel** out) noexcept {
    return guarded([&]() -> Status {
      if (!kernel || !out || (!args && num_args != 0)) return null_pointer("clone_kernel");
      const auto& from = *reinterpret_cast<const HostFoundKernel*>(kernel);
      return give(out, from.clone({args, num_args}));
    });
  }

  static tenon_status run(tenon_found_kernel* kernel) noexcept {
    return guarded([&]() -> Status {
      if (!kernel) return null_pointer("run_kernel");
      return reinterpret_cast<HostFoundKernel*>(kernel)->run();
    });
  }

  static void destroy(tenon_found_kernel* kernel) noexcept {
    delete reinterpret_cast<HostFoundKernel*>(kernel);
  }

  static const char* last_failure(const tenon_host*) noexcept { return failure().shown; }

  static Status give(tenon_found_kernel** out, Result<std::unique_ptr<HostFoundKernel>> made) {
    if (!made.ok()) return std::move(made).status();
    *out = reinterpret_cast<tenon_found_kernel*>((*made).release());
    return ok();
  }

  [[gnu::cold]] static Status null_pointer(std::string_view function) {
    return error(Error::InvalidArgument, function, ": a pointer is NULL");
  }

  template <class Call>
  static tenon_status guarded(Call&& call) noexcept {
    try {
      const Status outcome = call();
      if (outcome.ok()) [[likely]]
        return TENON_STATUS_OK;
      Failure& last = failure();
      last.text = outcome.text();
      last.shown = last.text.c_str();
      return to_status(outcome.error());
    } catch (const std::bad_alloc&) {
      failure().shown = "the host is out of memory";
      return TENON_STATUS_MEMORY_ALLOCATION_FAILED;
    } catch (...) {
      failure().shown = "an exception in the host";
      return TENON_STATUS_INTERNAL;
    }
  }

  struct Failure {
    std::string text;
    const char* shown = "";  ///< `text`, or a text that needs no memory.
  };

  static Failure& failure() noexcept {
    thread_local Failure last;
    return last;
  }
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
