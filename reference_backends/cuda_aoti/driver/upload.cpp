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

Result<bool> Staging::holds(const Driver& driver, CUdeviceptr from, Bytes expected,
                            CUstream stream) {
  TENON_RETURN_IF_ERROR(allocate(driver));
  // Uploads from a block that is not full are enqueued on the same stream, before what is read.
  for (Block& block : blocks_) {
    if (block.used == 0) continue;
    TENON_RETURN_IF_ERROR(TENON_CUDA(driver, cuEventRecord, block.read, stream));
    TENON_RETURN_IF_ERROR(wait(driver, block));
  }
  const auto read = [&](Block& block, std::size_t offset) -> Status {
    const std::size_t size = std::min(expected.size() - offset, block_size);
    TENON_RETURN_IF_ERROR(
        TENON_CUDA(driver, cuMemcpyDtoHAsync, block.data, from + offset, size, stream));
    block.used = size;
    return TENON_CUDA(driver, cuEventRecord, block.read, stream);
  };
  bool is_same = true;
  Status status = expected.empty() ? ok() : read(blocks_[current_], 0);
  for (std::size_t offset = 0; status.ok() && is_same && offset < expected.size();) {
    Block& block = blocks_[current_];
    const std::size_t size = block.used;
    const std::size_t next = offset + size;
    current_ = 1 - current_;
    if (next < expected.size()) status = read(blocks_[current_], next);
    if (status.ok()) status = wait(driver, block);
    is_same = status.ok() && std::memcmp(block.data, expected.data() + offset, size) == 0;
    offset = next;
  }
  // The device may still write to one.
  for (Block& block : blocks_) {
    Status done = wait(driver, block);
    if (status.ok()) status = std::move(done);
    block.used = 0;
  }
  if (!status.ok()) return status;
  return is_same;
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
