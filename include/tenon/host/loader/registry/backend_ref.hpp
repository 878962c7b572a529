// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "tenon/core/result.hpp"
#include "tenon/host/loader/plugin/backend.hpp"
#include "tenon/host/loader/plugin/load_lock.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// Holds a backend of a registry while it is used. The slot outlives the backend, so that taking
/// one more reference is a single atomic step.
class BackendSlot {
 public:
  BackendSlot() = default;
  /// A slot of no registry, which deletes itself with its last reference. It has one.
  explicit BackendSlot(std::shared_ptr<const LoadedBackend> backend) noexcept
      : users_(1), backend_(std::move(backend)), detached_(true) {}
  BackendSlot(const BackendSlot&) = delete;
  BackendSlot& operator=(const BackendSlot&) = delete;

  /// Takes a reference if there is a backend.
  [[nodiscard]] bool try_acquire() noexcept {
    std::uint32_t users = users_.load(std::memory_order_relaxed);
    while (users != 0) {
      if (users_.compare_exchange_weak(users, users + 1, std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  /// Held by the caller of `acquire` and of `if_unused`: of several threads one loads and the
  /// others wait.
  [[nodiscard]] LoadLock& load_lock() noexcept { return load_lock_; }

  /// Takes a reference, and gets the backend from `load` if there is none.
  template <class Load>
  [[nodiscard]] Status acquire(const Load& load) {
    {
      const std::lock_guard lock(mutex_);
      if (backend_) {
        users_.fetch_add(1, std::memory_order_release);
        return ok();
      }
    }
    TENON_TRY(std::shared_ptr<const LoadedBackend> loaded, load());
    const std::lock_guard lock(mutex_);
    backend_ = std::move(loaded);
    users_.fetch_add(1, std::memory_order_release);
    return ok();
  }

  /// One more reference, for a holder of one.
  void add() noexcept { users_.fetch_add(1, std::memory_order_relaxed); }

  /// Releases a reference. The last one releases the backend and with it the plugin, unless another
  /// thread took a new reference meanwhile.
  void release() noexcept {
    if (users_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if (detached_) {
      delete this;
      return;
    }
    std::shared_ptr<const LoadedBackend> last;
    const std::lock_guard lock(mutex_);
    if (users_.load(std::memory_order_acquire) == 0) last = std::move(backend_);
  }

  /// Runs `action` while no reference can be taken, and returns whether there was none.
  template <class Action>
  [[nodiscard]] bool if_unused(const Action& action) {
    std::shared_ptr<const LoadedBackend>
        last;  // Of a holder that has released it and waits for the lock.
    const std::lock_guard lock(mutex_);
    if (users_.load(std::memory_order_acquire) != 0) return false;
    last = std::move(backend_);
    action();
    return true;
  }

  /// References that are held now.
  [[nodiscard]] std::uint32_t users() const noexcept {
    return users_.load(std::memory_order_relaxed);
  }

  [[nodiscard]] const LoadedBackend* get() const noexcept { return backend_.get(); }

 private:
  std::atomic<std::uint32_t> users_ = 0;
  LoadLock load_lock_;
  std::mutex mutex_;  // Guards backend_ while users_ is zero. No third-party code runs under it.
  std::shared_ptr<const LoadedBackend> backend_;
  const bool detached_ = false;
};

}  // namespace detail

/// A reference to a backend. A reference from a registry must not outlive the registry. Keeps the
/// plugin loaded. Copying counts one more; different references may be used from different threads.
class BackendRef {
 public:
  BackendRef() noexcept = default;
  /// A reference to a backend that is in no registry; null gives an empty reference.
  explicit BackendRef(std::shared_ptr<const LoadedBackend> backend)
      : slot_(backend ? new detail::BackendSlot(std::move(backend)) : nullptr) {}
  /// Takes over a reference that was acquired.
  explicit BackendRef(detail::BackendSlot* slot) noexcept : slot_(slot) {}
  BackendRef(const BackendRef& other) noexcept : slot_(other.slot_) {
    if (slot_) slot_->add();
  }
  BackendRef(BackendRef&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
  BackendRef& operator=(BackendRef other) noexcept {
    std::swap(slot_, other.slot_);
    return *this;
  }
  ~BackendRef() {
    if (slot_) slot_->release();
  }

  [[nodiscard]] const LoadedBackend& operator*() const noexcept { return *slot_->get(); }
  [[nodiscard]] const LoadedBackend* operator->() const noexcept { return slot_->get(); }
  [[nodiscard]] const LoadedBackend* get() const noexcept { return slot_ ? slot_->get() : nullptr; }
  explicit operator bool() const noexcept { return slot_ != nullptr; }
  friend bool operator==(const BackendRef&, const BackendRef&) noexcept = default;

 private:
  detail::BackendSlot* slot_ = nullptr;
};

}}}  // namespace tenon::TENON_RELEASE::host
