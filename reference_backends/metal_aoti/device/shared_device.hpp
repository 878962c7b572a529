// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "device/metal_device.hpp"
#include "kernels/own_kernels.hpp"
#include "tenon/core/bytes.hpp"
#include "tenon/core/scalar_type.hpp"

namespace tenon::metal_aoti {

/// The part of a device that all delegates share: its buffers by address, and the backend's own
/// kernels. Neither keeps data of a delegate after its destruction.
///
/// Threads: any.
class SharedDevice {
 public:
  explicit SharedDevice(std::unique_ptr<MetalDevice> device) noexcept
      : device_(std::move(device)) {}

  [[nodiscard]] MetalDevice& device() const noexcept { return *device_; }

  /// Allocates a buffer, which `find` finds by address until it is freed.
  [[nodiscard]] Result<std::byte*> allocate(std::size_t nbytes);
  /// Makes the pages around `bytes` a buffer, which `find` finds. False where the device takes
  /// none, or where they begin as other pages that were adopted and are not so many.
  [[nodiscard]] bool adopt(Bytes bytes);
  /// Of what `allocate` returned, or of the first byte of what was adopted.
  void free(std::byte* contents) noexcept;
  /// The buffer that contains `address`, or null.
  [[nodiscard]] MetalBuffer* find(const std::byte* address) const;
  /// Changes whenever a buffer is freed, because buffers found before may then be invalid.
  [[nodiscard]] std::uint64_t generation() const noexcept {
    return generation_.load(std::memory_order_acquire);
  }
  /// Buffers that were not freed.
  [[nodiscard]] std::size_t num_buffers() const;

  /// A kernel of the backend for one element type, compiled at the first call and kept.
  /// errors: NotSupported for a type that the kernel does not support; those of the device.
  [[nodiscard]] Result<const MetalFunction*> own_kernel(OwnKernel kernel, ScalarType type);
  /// The kernel that copies elements of that many bytes.
  [[nodiscard]] Result<const MetalFunction*> copy_kernel(std::size_t element_size);

 private:
  static constexpr std::size_t num_variants = 32;  // Dtypes, or sizes of elements.

  struct Compiled {
    std::unique_ptr<MetalLibrary> library;
    std::unique_ptr<MetalFunction> function;
  };
  Result<const MetalFunction*> get(OwnKernel kernel, std::size_t variant, const char* metal_type);

  std::unique_ptr<MetalDevice> device_;
  mutable std::mutex mutex_;
  std::map<const std::byte*, std::unique_ptr<MetalBuffer>> buffers_;
  /// The adopted pages of the bytes that begin at an address, and how often each is in use.
  std::multimap<const std::byte*, const std::byte*> adopted_;
  std::map<const std::byte*, std::size_t> uses_;
  std::atomic<std::uint64_t> generation_ = 0;
  std::array<std::array<std::atomic<const MetalFunction*>, num_variants>, num_own_kernels>
      functions_{};
  std::vector<Compiled> compiled_;
};

/// The system's device, opened at the first call and kept for the life of the plugin.
/// errors: NotFound, with the reason, without a device.
[[nodiscard]] Result<std::shared_ptr<SharedDevice>> system_device();

}  // namespace tenon::metal_aoti
