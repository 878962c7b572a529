// SPDX-License-Identifier: MIT
#pragma once

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
