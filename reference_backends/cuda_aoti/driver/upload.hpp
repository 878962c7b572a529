// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>

#include "driver/driver.hpp"
#include "tenon/core/bytes.hpp"

namespace tenon::cuda_aoti {

/// Copies bytes of the host to the device through two blocks of pinned memory: while the device
/// reads one, the next piece is copied to the other. The driver would copy bytes that are not
/// pinned, such as a mapped file's, with the device waiting in between.
///
/// Threads: one at a time. The device's context must be current in each call. `clear` must be
/// called before it is destroyed, unless `is_empty`.
class Staging {
 public:
  Staging() = default;
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Enqueues the copy on `stream`. `from` has been read when this returns.
  /// errors: the driver's. Pieces that were enqueued before a failure remain so.
  [[nodiscard]] Status upload(const Driver& driver, CUdeviceptr to, Bytes from, CUstream stream);

  /// Whether `from` holds these bytes. Pieces of it are read into the pinned blocks, one while the
  /// one before is compared, after what was enqueued on `stream`.
  /// errors: the driver's.
  [[nodiscard]] Result<bool> holds(const Driver& driver, CUdeviceptr from, Bytes expected,
                                   CUstream stream);

  /// Frees both blocks. What was enqueued must be done.
  void clear(const Driver& driver) noexcept;

  [[nodiscard]] bool is_empty() const noexcept { return !blocks_[0].data && !blocks_[0].read; }

 private:
  static constexpr std::size_t block_size = std::size_t{4} << 20;

  struct Block {
    void* data = nullptr;
    CUevent read = nullptr;  ///< The device has read the block.
    std::size_t used = 0;    ///< Bytes of it that the device may not have read.
  };

  Status allocate(const Driver& driver);
  /// Waits until the device has read, or written, a block.
  static Status wait(const Driver& driver, Block& block);

  std::array<Block, 2> blocks_;
  std::size_t current_ = 0;
};

}  // namespace tenon::cuda_aoti
