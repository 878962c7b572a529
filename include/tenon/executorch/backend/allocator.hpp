// SPDX-License-Identifier: MIT
#pragma once

#include <executorch/runtime/core/memory_allocator.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "tenon/abi/host.h"
#include "tenon/executorch/error.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace bridge::detail {

/// The host's memory as ExecuTorch's allocator. Its size is unknown: `size` is 0, as for
/// ExecuTorch's own allocators that call another one, and `reset` frees nothing; the host frees the
/// memory.
class HostAllocator final : public et::MemoryAllocator {
 public:
  explicit HostAllocator(tenon_allocator* allocator = nullptr) noexcept
      : et::MemoryAllocator(0, nullptr), allocator_(allocator) {}

  /// From now on `allocator` is asked. Memory that was got before stays the other one's.
  void use(tenon_allocator* allocator) noexcept { allocator_ = allocator; }

  void* allocate(std::size_t size, std::size_t alignment = kDefaultAlignment) override {
    if (!allocator_ || !isPowerOf2(alignment)) return nullptr;
    return allocator_->allocate(allocator_, size, alignment);
  }
  void reset() override {}

 private:
  tenon_allocator* allocator_;
};

/// One `HostAllocator` for each allocator of the host that is in use. Backends distinguish programs
/// by the address of the allocator that `init` gets (XNNPACK: workspace_sharing_mode), so all
/// delegates of a method must get the same one.
class RuntimeAllocators {
 public:
  /// Any thread.
  [[nodiscard]] std::shared_ptr<HostAllocator> find(tenon_allocator* allocator) {
    const std::lock_guard lock(mutex_);
    std::weak_ptr<HostAllocator>& known = known_[allocator];
    std::shared_ptr<HostAllocator> found = known.lock();
    if (found) return found;
    std::erase_if(
        known_, [&](const auto& each) { return each.first != allocator && each.second.expired(); });
    found = std::make_shared<HostAllocator>(allocator);
    known_[allocator] = found;
    return found;
  }

 private:
  std::mutex mutex_;
  std::map<tenon_allocator*, std::weak_ptr<HostAllocator>> known_;
};

}}}  // namespace tenon::TENON_RELEASE::bridge::detail
