// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "device/metal_device.hpp"
#include "device/unfinished_work.hpp"
#include "kernels/own_kernels.hpp"
#include "tenon/core/bytes.hpp"
#include "tenon/core/scalar_type.hpp"

namespace tenon::metal_aoti {

/// The part of a device that all delegates share: its buffers by address, the backend's own
/// kernels, and what work was left. None keeps data of a delegate after its destruction.
///
/// Threads: any.
class SharedDevice {
 public:
  explicit SharedDevice(std::unique_ptr<MetalDevice> device) noexcept
      : device_(std::move(device)) {}

  [[nodiscard]] MetalDevice& device() const noexcept { return *device_; }

  /// Allocates a buffer, which `find` finds by address until it is freed.
  [[nodiscard]] Result<std::byte*> allocate(std::size_t nbytes);
  /// Allocates a buffer for a host, at a multiple of `alignment`, a power of two.
  [[nodiscard]] Result<std::byte*> allocate_for_host(std::size_t nbytes, std::size_t alignment);
  /// Makes whole pages of the host a buffer, which `find` finds until as many calls of `free`. They
  /// must be there until then, which is why nothing here depends on an address that was freed and
  /// is in use again.
  /// errors: NotSupported for bytes that are not whole pages, that the device does not take, or of
  ///         which others are a buffer.
  [[nodiscard]] Status import_from_host(std::span<std::byte> pages);
  /// Makes the pages around `bytes` a buffer, which `find` finds. False where the device takes
  /// none, or where they begin as other pages that were adopted and are not so many.
  [[nodiscard]] bool adopt(Bytes bytes);
  /// Of what an allocation returned, or of the first byte of what was adopted or imported.
  void free(std::byte* contents) noexcept;

  /// A buffer, or null.
  struct Found {
    MetalBuffer* buffer = nullptr;
    /// Allocated or imported for a host, which keeps it while runs use it. Others may be freed with
    /// another delegate.
    bool is_hosts = false;
  };
  /// The buffer that contains `address`.
  [[nodiscard]] Found find(const std::byte* address) const;
  /// A buffer and an offset in it.
  struct Place {
    MetalBuffer* buffer;
    std::size_t offset;
  };
  /// Where `nbytes` at `address` are in `buffer`, which was found for the address.
  /// errors: InvalidArgument when it is null, or ends before them.
  [[nodiscard]] static Result<Place> place_in(MetalBuffer* buffer, const std::byte* address,
                                              std::size_t nbytes);
  /// Where `nbytes` at `address` are in the buffer that contains the address.
  /// errors: as `place_in`.
  [[nodiscard]] Result<Place> place(const void* address, std::size_t nbytes) const;
  /// Changes whenever a buffer is freed, because buffers found before may then be invalid.
  [[nodiscard]] std::uint64_t generation() const noexcept {
    return generation_.load(std::memory_order_acquire);
  }
  /// Buffers that were not freed.
  [[nodiscard]] std::size_t num_buffers() const;

  /// Notes the work of an instance that `finish` waits for, as long as it is there.
  void note_unfinished(const std::shared_ptr<UnfinishedWork>& work);
  /// Waits for the work that all instances left, and returns the first failure that no event
  /// reports.
  [[nodiscard]] Status finish();

  /// A kernel of the backend for one element type, compiled at the first call and kept. errors:
  /// NotSupported for a type that the kernel does not support; the device's.
  [[nodiscard]] Result<const MetalFunction*> own_kernel(OwnKernel kernel, ScalarType type);
  /// The kernel that copies elements of that many bytes.
  [[nodiscard]] Result<const MetalFunction*> copy_kernel(std::size_t element_size);

 private:
  static constexpr std::size_t num_variants = 32;  // Dtypes, or sizes of elements.

  struct Compiled {
    std::unique_ptr<MetalLibrary> library;
    std::unique_ptr<MetalFunction> function;
  };
  struct Entry {
    std::unique_ptr<MetalBuffer> buffer;
    bool is_hosts = false;
  };
  Result<const MetalFunction*> get(OwnKernel kernel, std::size_t variant, const char* metal_type);
  [[nodiscard]] bool has_buffer_in(const std::byte* begin, const std::byte* end,
                                   bool of_hosts) const;

  std::unique_ptr<MetalDevice> device_;
  mutable std::mutex mutex_;
  std::map<const std::byte*, Entry> buffers_;
  /// The adopted pages of the bytes that begin at an address, and how often adopted and imported
  /// pages are in use.
  std::multimap<const std::byte*, const std::byte*> adopted_;
  std::map<const std::byte*, std::size_t> uses_;
  std::atomic<std::uint64_t> generation_ = 0;
  std::array<std::array<std::atomic<const MetalFunction*>, num_variants>, num_own_kernels>
      functions_{};
  std::vector<Compiled> compiled_;
  std::vector<std::weak_ptr<UnfinishedWork>> unfinished_;
};

/// The system's device, opened at the first call and kept for the life of the plugin.
/// errors: NotFound, with the reason, without a device.
[[nodiscard]] Result<std::shared_ptr<SharedDevice>> system_device();

}  // namespace tenon::metal_aoti
