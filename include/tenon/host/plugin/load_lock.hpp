// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/core/api.hpp"

namespace tenon::host::detail {

/// An address that no other thread has.
[[nodiscard]] inline const void* thread_mark() noexcept {
  static thread_local char mark = 0;
  return &mark;
}

/// Held by the thread that loads one thing: a plugin, a backend, the result of a search. Meanwhile
/// code of others runs (a factory, a search, `open`, a log callback), which may want the same
/// thing. A mutex would wait forever then; this lock refuses.
///
/// Any thread. All locks of a process share one mutex, which is held for a few instructions.
class LoadLock {
 public:
  LoadLock() = default;
  LoadLock(const LoadLock&) = delete;
  LoadLock& operator=(const LoadLock&) = delete;

  /// Waits until no other thread holds the lock, and takes it. Returns false where that would never
  /// be: this thread holds the lock, or its holder waits, directly or across others, for a lock
  /// that this thread holds.
  [[nodiscard]] bool lock() noexcept;

  /// Only after `lock` returned true, by the same thread.
  void unlock() noexcept;

 private:
  struct Waiter;
  struct Shared;

  static Shared& shared() noexcept;
  [[nodiscard]] bool waits_for(const void* thread) const noexcept;

  const void* holder_ = nullptr;  // The thread's mark; guarded by the shared mutex.
};

/// Holds a LoadLock while it is in scope, if the lock could be taken.
class LoadTurn {
 public:
  explicit LoadTurn(LoadLock& lock) noexcept : lock_(lock.lock() ? &lock : nullptr) {}
  LoadTurn(const LoadTurn&) = delete;
  LoadTurn& operator=(const LoadTurn&) = delete;
  ~LoadTurn() {
    if (lock_) lock_->unlock();
  }

  [[nodiscard]] explicit operator bool() const noexcept { return lock_ != nullptr; }

 private:
  LoadLock* lock_;
};

}  // namespace tenon::host::detail

#if TENON_HOST_DEFINITIONS

#include <condition_variable>
#include <mutex>

namespace tenon::host::detail {

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

TENON_COLD TENON_API LoadLock::Shared& LoadLock::shared() noexcept {
  static Shared the_shared;
  return the_shared;
}

/// Whether this lock is released only after one that `thread` holds. Ends, because no thread waits
/// in a circle.
TENON_COLD TENON_API bool LoadLock::waits_for(const void* thread) const noexcept {
  for (const LoadLock* lock = this; lock && lock->holder_;) {
    if (lock->holder_ == thread) return true;
    const Waiter* waiter = shared().waiters;
    while (waiter && waiter->thread != lock->holder_) waiter = waiter->next;
    lock = waiter ? waiter->wanted : nullptr;
  }
  return false;
}

TENON_COLD TENON_API bool LoadLock::lock() noexcept {
  const void* const self = thread_mark();
  Shared& all = shared();
  std::unique_lock guard(all.mutex);
  if (waits_for(self)) return false;
  if (holder_) {
    Waiter waiter{self, this, all.waiters};
    all.waiters = &waiter;
    all.released.wait(guard, [&] { return !holder_; });
    Waiter** entry = &all.waiters;
    while (*entry != &waiter) entry = &(*entry)->next;
    *entry = waiter.next;
  }
  holder_ = self;
  return true;
}

TENON_COLD TENON_API void LoadLock::unlock() noexcept {
  Shared& all = shared();
  {
    const std::lock_guard guard(all.mutex);
    holder_ = nullptr;
  }
  all.released.notify_all();
}

}  // namespace tenon::host::detail

#endif  // TENON_HOST_DEFINITIONS
