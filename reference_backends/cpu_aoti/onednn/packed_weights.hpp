// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "onednn/onednn.hpp"

namespace tenon::cpu_aoti::onednn {

/// A weight in the format that a primitive chose, in memory of its own.
class PackedWeight {
 public:
  /// Reorders `source`, of format `from`. errors: those of oneDNN; MemoryAllocationFailed.
  static Result<std::shared_ptr<const PackedWeight>> make(const std::byte* source,
                                                          const dnnl_memory_desc_t& from,
                                                          const dnnl_memory_desc_t& to);

  [[nodiscard]] std::byte* data() const noexcept { return data_.get(); }
  [[nodiscard]] std::size_t nbytes() const noexcept { return nbytes_; }
  [[nodiscard]] bool equals(const PackedWeight& other) const noexcept;

 private:
  struct Free {
    void operator()(std::byte* block) const noexcept;
  };

  dnnl_memory_desc_t desc_{};
  std::size_t nbytes_ = 0;
  std::unique_ptr<std::byte, Free> data_;
};

/// The packed weights of one instance of a model: its fixed constants, each packed at the first run
/// that needs it. Equal ones are in memory once in the process, for as long as an instance uses
/// them. Pages of the program's file that were packed leave the resident set
/// (`release_file_pages`).
///
/// It is destroyed with the pool of the instance (`TensorPool::cache`). Threads: one at a time;
/// `nbytes`, and other instances in other threads, at any time.
class PackedWeights {
 public:
  /// With false, later calls of `get` return null.
  void enable(bool enabled) noexcept { is_enabled_ = enabled; }

  /// `source`, a constant that is fixed, of format `from` in format `to`, valid for as long as this
  /// object. Null when it is to be reordered in each run: packing is off, or shapes of other runs
  /// took the two formats that a weight is kept in at most. Takes a lock and allocates: to be
  /// called when a primitive is made, and not when it runs. errors: those of `PackedWeight::make`.
  Result<std::byte*> get(const std::byte* source, const dnnl_memory_desc_t& from,
                         const dnnl_memory_desc_t& to);

  /// Bytes of all packed weights of this instance, also those that others share.
  [[nodiscard]] std::size_t nbytes() const noexcept {
    return nbytes_.load(std::memory_order_relaxed);
  }

  /// Bytes of all packed weights of the process.
  [[nodiscard]] static std::size_t nbytes_of_process();

 private:
  struct Entry {
    const std::byte* source;
    dnnl_memory_desc_t from;
    dnnl_memory_desc_t to;
    std::shared_ptr<const PackedWeight> weight;
  };

  std::vector<Entry> entries_;
  std::atomic<std::size_t> nbytes_ = 0;
  bool is_enabled_ = true;
};

}  // namespace tenon::cpu_aoti::onednn
