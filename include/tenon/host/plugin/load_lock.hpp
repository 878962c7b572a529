// SPDX-License-Identifier: MIT
#pragma once

namespace tenon::host::detail {

/// An address that no other thread has.
[[nodiscard]] inline const void* thread_token() noexcept {
  static thread_local char token = 0;
  return &token;
}

/// Deadlock-detecting lock, held by the thread that loads one thing: a plugin, a backend, the
/// result of a search. Meanwhile code of others runs (a factory, a search, `open`, a log callback),
/// which may request the same thing. A mutex would then deadlock; `lock` returns false.
///
/// Any thread. All locks of a process share one mutex, which is held for a few instructions.
class LoadLock {
 public:
  LoadLock() = default;
  LoadLock(const LoadLock&) = delete;
  LoadLock& operator=(const LoadLock&) = delete;

  /// Waits until no other thread holds the lock, and takes it. Returns false where that would
  /// deadlock: this thread holds the lock, or its holder waits, directly or through others, for a
  /// lock that this thread holds.
  [[nodiscard]] bool lock() noexcept;

  /// Only after `lock` returned true, by the same thread.
  void unlock() noexcept;

 private:
  struct Waiter;
  struct Shared;

  static Shared& shared() noexcept;
  [[nodiscard]] bool waits_for(const void* thread) const noexcept;

  const void* holder_ = nullptr;  // The thread's token; guarded by the shared mutex.
};

/// Holds a LoadLock while it is in scope, if the lock could be taken.
class ScopedLoadLock {
 public:
  explicit ScopedLoadLock(LoadLock& lock) noexcept : lock_(lock.lock() ? &lock : nullptr) {}
  ScopedLoadLock(const ScopedLoadLock&) = delete;
  ScopedLoadLock& operator=(const ScopedLoadLock&) = delete;
  ~ScopedLoadLock() {
    if (lock_) lock_->unlock();
  }

  [[nodiscard]] explicit operator bool() const noexcept { return lock_ != nullptr; }

 private:
  LoadLock* lock_;
};

}  // namespace tenon::host::detail
