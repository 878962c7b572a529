// SPDX-License-Identifier: MIT
#include "driver/upload.hpp"

#include <algorithm>
#include <cstring>

#include "driver/capture.hpp"

namespace tenon::cuda_aoti {

Status Staging::allocate(const Driver& driver) {
  for (Block& block : blocks_) {
    if (!block.data) {
      const RelaxedCapture relaxed(driver);
      TENON_RETURN_IF_ERROR(TENON_CUDA(driver, cuMemHostAlloc, &block.data, block_size, 0u));
    }
    if (!block.read) {
      TENON_RETURN_IF_ERROR(
          TENON_CUDA(driver, cuEventCreate, &block.read, CU_EVENT_DISABLE_TIMING));
    }
  }
  return ok();
}

Status Staging::wait(const Driver& driver, Block& block) {
  if (block.used == 0) return ok();
  TENON_RETURN_IF_ERROR(TENON_CUDA(driver, cuEventSynchronize, block.read));
  block.used = 0;
  return ok();
}

Status Staging::upload(const Driver& driver, CUdeviceptr to, Bytes from, CUstream stream) {
  TENON_RETURN_IF_ERROR(allocate(driver));
  while (!from.empty()) {
    // Small weights share a block, so that each of them costs no wait.
    if (blocks_[current_].used == block_size) {
      current_ = 1 - current_;
      TENON_RETURN_IF_ERROR(wait(driver, blocks_[current_]));
    }
    Block& block = blocks_[current_];
    const std::size_t size = std::min(from.size(), block_size - block.used);
    std::byte* const place = static_cast<std::byte*>(block.data) + block.used;
    std::memcpy(place, from.data(), size);
    block.used += size;
    TENON_RETURN_IF_ERROR(TENON_CUDA(driver, cuMemcpyHtoDAsync, to, place, size, stream));
    if (block.used == block_size) {
      TENON_RETURN_IF_ERROR(TENON_CUDA(driver, cuEventRecord, block.read, stream));
    }
    to += size;
    from = from.subspan(size);
  }
  return ok();
}

void Staging::clear(const Driver& driver) noexcept {
  for (Block& block : blocks_) {
    if (block.read) static_cast<void>(driver.cuEventDestroy(block.read));
    const RelaxedCapture relaxed(driver);
    if (block.data) static_cast<void>(driver.cuMemFreeHost(block.data));
    block = {};
  }
  current_ = 0;
}

}  // namespace tenon::cuda_aoti
