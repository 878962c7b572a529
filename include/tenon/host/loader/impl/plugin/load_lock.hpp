// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/loader/plugin/load_lock.hpp"

#include <condition_variable>
#include <mutex>

#if defined(_WIN32)
#include "tenon/host/platform/impl/windows/process_number.hpp"
#else
#include "tenon/host/platform/impl/posix/process_number.hpp"
#endif

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// A thread in `lock`, on its stack.
struct LoadLock::Waiter {
  const void* thread;
  const LoadLock* wanted;
  Waiter* next;
};

struct LoadLock::Shared {
  std::mutex mutex;
  std::condition_variable released;
  Waiter* waiters = nullptr;
};

LoadLock::Shared& LoadLock::shared() noexcept {
  static Shared the_shared;
  return the_shared;
}

/// Whether this lock is released only after a lock that `thread` holds. The search ends, because no
/// thread waits in a circle.
bool LoadLock::waits_for(const void* thread) const noexcept {
  for (const LoadLock* lock = this; lock && lock->holder_;) {
    if (lock->holder_ == thread) return true;
    const Waiter* waiter = shared().waiters;
    while (waiter && waiter->thread != lock->holder_) waiter = waiter->next;
    lock = waiter ? waiter->wanted : nullptr;
  }
  return false;
}

bool LoadLock::lock() noexcept {
  const void* const self = thread_token();
  Shared& all = shared();
  std::unique_lock guard(all.mutex);
  const long process = platform::process_number();
  if (waits_for(self)) return false;
  if (holder_) {
    if (process_ != process) return false;
    Waiter waiter{self, this, all.waiters};
    all.waiters = &waiter;
    all.released.wait(guard, [&] { return !holder_; });
    Waiter** entry = &all.waiters;
    while (*entry != &waiter) entry = &(*entry)->next;
    *entry = waiter.next;
  }
  holder_ = self;
  process_ = process;
  return true;
}

bool LoadLock::is_left_by_fork() const noexcept {
  const std::lock_guard guard(shared().mutex);
  return holder_ && process_ != platform::process_number();
}

void LoadLock::unlock() noexcept {
  Shared& all = shared();
  {
    const std::lock_guard guard(all.mutex);
    holder_ = nullptr;
  }
  all.released.notify_all();
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
