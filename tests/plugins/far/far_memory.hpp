// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tenon::test {

/// A stream of the stand-in: work is done when a call waits for it.
class FarStream {
 public:
  bool foreign = false;  ///< The backend refuses it, as one of another device.
  int takers = -1;       ///< So many delegates get it and others are refused; -1: all get it.

  void enqueue(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
  }
  [[nodiscard]] std::size_t pending() {
    const std::lock_guard lock(mutex_);
    return queue_.size();
  }
  void finish() {
    std::vector<std::function<void()>> queue;
    {
      const std::lock_guard lock(mutex_);
      queue.swap(queue_);
    }
    for (const auto& work : queue) work();
  }

 private:
  std::mutex mutex_;
  std::vector<std::function<void()>> queue_;
};

/// The record of the stand-in in this process, and its next failures. For a test that links it.
struct FarMemory {
  std::mutex mutex;
  int allocations = 0;
  int live = 0;             ///< Blocks that are not freed.
  std::size_t bytes = 0;    ///< Requested bytes of the blocks that are not freed.
  int copies = 0;           ///< In all directions: the three below.
  int to_device = 0;        ///< From the host.
  int to_host = 0;          ///< From a device.
  int between = 0;          ///< From device to device, one or two.
  int wrong_frees = 0;      ///< Of addresses that are not blocks.
  int left_at_close = 0;    ///< Blocks that were there when a backend was closed.
  int fail_allocation = 0;  ///< The Nth from now on fails; 0: none.
  int fail_copy = 0;
  bool misaligned = false;  ///< Addresses are not aligned as was asked for.
  std::string identity;     ///< Of device 0; device 1 has none.
};

/// The record of the stand-in.
inline FarMemory& far_memory() {
  static FarMemory record;
  return record;
}

}  // namespace tenon::test
