// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "tenon/abi/backend.h"
#include "tenon/core/status.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {
struct BackendUse;
}

/// Code for one operator that was left in a program. Called like `execute` of a backend: `args` are
/// the operator's arguments, outputs last; a kernel may also write to integer, real and boolean
/// values. Never called twice at once by one method.
struct Kernel {
  tenon_status (*run)(void* self, const tenon_execution_context* context, tenon_value* const* args,
                      std::uint32_t num_args) = nullptr;
  void* self = nullptr;  ///< Given to `run`; must outlive every method that uses the kernel.
  /// The backend whose plugin made the kernel; null for one of the application or the host.
  const detail::BackendUse* owner = nullptr;
};

/// The application's own kernels by operator ("aten::add.out": name, and overload after a dot when
/// there is one). Filled before methods are loaded; reading is safe from any thread.
class KernelTable {
 public:
  /// RegistrationAlreadyRegistered when the operator has a kernel.
  [[nodiscard]] Status add(std::string op, Kernel kernel);

  /// The kernel of `op`, or null.
  [[nodiscard]] const Kernel* find(std::string_view op) const;

 private:
  std::map<std::string, Kernel, std::less<>> kernels_;
};

}}}  // namespace tenon::TENON_RELEASE::host
