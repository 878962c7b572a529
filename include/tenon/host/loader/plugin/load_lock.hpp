// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// An address that no other thread has.
[[nodiscard]] inline const void* thread_token() noexcept {
  static thread_local char token = 0;
  return &token;
}

/// Deadlock-detecting lock, held by the thread that loads one thing: a plugin, a backend, the
/// result of a search. Meanwhile third-party code runs (a factory, a search, `open`, a log
/// callback), which may request the same thing. A mutex would then deadlock; `lock` returns false.
///
/// Any thread. All locks of a process share one mutex, which is held for a few instructions. In a
/// process that was forked while another thread held a lock, that lock is held for ever, and `lock`
/// returns false there, too.
class LoadLock {
 public:
  LoadLock() = default;
  LoadLock(const LoadLock&) = delete;
  LoadLock& operator=(const LoadLock&) = delete;

  /// Waits until no other thread holds the lock, and takes it. Returns false where that would
  /// deadlock: this thread holds the lock, its holder waits, directly or through others, for a
  /// lock that this thread holds, or its holder is a thread of the process that this one was forked
  /// from.
  [[nodiscard]] bool lock() noexcept;

  /// After `lock` returned false: whether it is the last of these.
  [[nodiscard]] bool is_left_by_fork() const noexcept;

  /// Only after `lock` returned true, by the same thread.
  void unlock() noexcept;

 private:
  struct Waiter;
  struct Shared;

  static Shared& shared() noexcept;
  [[nodiscard]] bool waits_for(const void* thread) const noexcept;

  // The thread's token, and the number of its process; guarded by the shared mutex.
  const void* holder_ = nullptr;
  long process_ = 0;
};

/// Holds a LoadLock while it is in scope, if the lock could be taken.
class ScopedLoadLock {
 public:
  explicit ScopedLoadLock(LoadLock& lock) noexcept
      : lock_(lock.lock() ? &lock : nullptr),
        refusal_(lock_                    ? ""
                 : lock.is_left_by_fork() ? " in a thread that this process, a fork, does not have"
                                          : ", which would wait for itself") {}
  ScopedLoadLock(const ScopedLoadLock&) = delete;
  ScopedLoadLock& operator=(const ScopedLoadLock&) = delete;
  ~ScopedLoadLock() {
    if (lock_) lock_->unlock();
  }

  [[nodiscard]] explicit operator bool() const noexcept { return lock_ != nullptr; }

  /// If the lock could not be taken, the end of a text "... is looked up by what loads it".
  [[nodiscard]] std::string_view refusal() const noexcept { return refusal_; }

 private:
  LoadLock* lock_;
  std::string_view refusal_;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
