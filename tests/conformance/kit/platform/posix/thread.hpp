// SPDX-License-Identifier: MIT
#pragma once

#include <pthread.h>

#include <cstddef>
#include <functional>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance::platform {

/// Runs `work` in a thread with a stack of `size` bytes, and waits. False when the thread cannot be
/// created.
inline bool run_with_stack(std::size_t size, const std::function<void()>& work) {
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, size);
  const auto run = [](void* argument) -> void* {
    (*static_cast<const std::function<void()>*>(argument))();
    return nullptr;
  };
  pthread_t thread;
  const int failed =
      ::pthread_create(&thread, &attributes, run, const_cast<std::function<void()>*>(&work));
  ::pthread_attr_destroy(&attributes);
  if (failed != 0) return false;
  ::pthread_join(thread, nullptr);
  return true;
}

}}}  // namespace tenon::TENON_RELEASE::conformance::platform
