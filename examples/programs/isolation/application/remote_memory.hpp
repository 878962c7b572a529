// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "boundary/descriptors.hpp"
#include "tenon/abi/draft/external_memory.h"
#include "tenon/backend/mapped_memory.hpp"
#include "tenon/core/result.hpp"

namespace tenon::isolated {

class Worker;

/// Memory whose bytes the plugin reaches without a copy: a block on a device, or memory of another
/// owner that was imported. Where the processor reaches the memory, its addresses are the memory's
/// own. Otherwise they are unmapped, as no host reads them (TN-DEV-2).
class RemoteMemory {
 public:
  RemoteMemory(std::uint64_t number, tenon_dl_device device, std::uint64_t size) noexcept
      : number_(number), device_(device), size_(size) {}

  /// Takes addresses. errors: MemoryAllocationFailed.
  [[nodiscard]] Status reserve(std::uint64_t alignment) {
    std::uint64_t whole = 0;
    if (__builtin_add_overflow(size_, alignment, &whole) || whole > PTRDIFF_MAX) {
      return error(Error::MemoryAllocationFailed, "no addresses for ", size_, " bytes");
    }
    TENON_TRY(reserved_, Mapping::of_addresses(static_cast<std::size_t>(whole)));
    const auto at = reinterpret_cast<std::uintptr_t>(reserved_.data());
    begin_ = reserved_.data() + ((at + alignment - 1) / alignment * alignment - at);
    return ok();
  }
  /// Maps the memory of another owner for the processor. errors: as `MappedMemory::map`.
  [[nodiscard]] Status map() {
    ExternalMemory range;
    range.kind = imported_->kind;
    range.descriptor = descriptor_.get();
    range.offset = imported_->offset;
    range.nbytes = imported_->nbytes;
    range.is_written = (imported_->access & TENON_EXTERNAL_WRITE) != 0;
    range.device = imported_->device;
    TENON_TRY(MappedMemory mapped, MappedMemory::map(range));
    mapped_.emplace(std::move(mapped));
    begin_ = static_cast<std::byte*>(mapped_->data());
    return ok();
  }
  /// Takes the place of memory that the application has mapped itself. errors: InvalidArgument.
  [[nodiscard]] Status place_at(void* mapped) {
    if (!mapped) return error(Error::InvalidArgument, "expected memory of the host, found null");
    begin_ = static_cast<std::byte*>(mapped) + imported_->offset;
    return ok();
  }
  /// Makes it an import, which any worker can make as well. The kind of `memory` stays valid.
  void set_import(const tenon_external_memory& memory, host::FileDescriptor descriptor) {
    imported_ = memory;
    descriptor_ = std::move(descriptor);
  }

  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  [[nodiscard]] tenon_dl_device device() const noexcept { return device_; }
  [[nodiscard]] std::byte* begin() const noexcept { return begin_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// Null for a block.
  [[nodiscard]] const tenon_external_memory* imported() const noexcept {
    return imported_ ? &*imported_ : nullptr;
  }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_.get(); }

  [[nodiscard]] bool is_in(const std::shared_ptr<Worker>& worker) {
    const std::lock_guard lock(mutex_);
    for (const auto& each : workers_) {
      if (each.lock() == worker) return true;
    }
    return false;
  }
  void add(const std::shared_ptr<Worker>& worker) {
    const std::lock_guard lock(mutex_);
    std::erase_if(workers_, [](const auto& each) { return each.expired(); });
    workers_.push_back(worker);
  }
  /// The workers that have the memory.
  [[nodiscard]] std::vector<std::shared_ptr<Worker>> workers() {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<Worker>> out;
    for (const auto& each : workers_) {
      if (auto worker = each.lock()) out.push_back(std::move(worker));
    }
    return out;
  }

 private:
  std::uint64_t number_;
  tenon_dl_device device_;
  std::uint64_t size_;
  std::byte* begin_ = nullptr;
  Mapping reserved_;
  std::optional<MappedMemory> mapped_;
  std::optional<tenon_external_memory> imported_;
  host::FileDescriptor descriptor_;
  std::mutex mutex_;
  std::vector<std::weak_ptr<Worker>> workers_;
};

/// All remote memory of a backend, by address. Any thread.
class RemoteMemories {
 public:
  void add(std::shared_ptr<RemoteMemory> memory) {
    const std::unique_lock lock(mutex_);
    all_[reinterpret_cast<std::uintptr_t>(memory->begin())] = std::move(memory);
    count_.store(all_.size(), std::memory_order_release);
  }
  /// Takes out the memory that begins at `begin`; null when none does.
  [[nodiscard]] std::shared_ptr<RemoteMemory> remove(const void* begin) {
    const std::unique_lock lock(mutex_);
    const auto found = all_.find(reinterpret_cast<std::uintptr_t>(begin));
    if (found == all_.end()) return nullptr;
    std::shared_ptr<RemoteMemory> out = std::move(found->second);
    all_.erase(found);
    count_.store(all_.size(), std::memory_order_release);
    return out;
  }
  /// Whether there are any: one load, for calls without.
  [[nodiscard]] bool has_any() const noexcept {
    return count_.load(std::memory_order_acquire) != 0;
  }
  /// The memory that has all of these bytes; null when none has.
  [[nodiscard]] std::shared_ptr<RemoteMemory> find(const void* data, std::uint64_t nbytes) const {
    const std::shared_lock lock(mutex_);
    const auto at = reinterpret_cast<std::uintptr_t>(data);
    auto found = all_.upper_bound(at);
    if (found == all_.begin()) return nullptr;
    --found;
    const std::uint64_t before = at - found->first;
    const std::uint64_t size = found->second->size();
    return before <= size && nbytes <= size - before ? found->second : nullptr;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::map<std::uintptr_t, std::shared_ptr<RemoteMemory>> all_;
  std::atomic<std::size_t> count_ = 0;
};

}  // namespace tenon::isolated
