// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>

#include "tenon/host/platform/windows/api.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance::platform {

/// Runs `work` in a thread with a stack of `size` bytes, and waits. False when the thread cannot be
/// created.
inline bool run_with_stack(std::size_t size, const std::function<void()>& work) {
  const ::LPTHREAD_START_ROUTINE run = [](void* argument) -> ::DWORD {
    (*static_cast<const std::function<void()>*>(argument))();
    return 0;
  };
  const host::platform::Handle thread(::CreateThread(nullptr, size, run,
                                                     const_cast<std::function<void()>*>(&work),
                                                     STACK_SIZE_PARAM_IS_A_RESERVATION, nullptr));
  if (!thread.valid()) return false;
  ::WaitForSingleObject(thread.get(), INFINITE);
  return true;
}

}}}  // namespace tenon::TENON_RELEASE::conformance::platform
