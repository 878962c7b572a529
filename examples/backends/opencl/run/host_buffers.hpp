// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <tenon/core/result.hpp>
#include <vector>

#include "driver/device.hpp"

namespace opencl_backend {

/// Bytes of the host that the device works on where they are, on a device that is the CPU. The host
/// may touch them while they are mapped.
struct HostBuffer {
  std::byte* address = nullptr;
  std::uint64_t nbytes = 0;
  Owned<cl_mem_of> buffer;
  /// Not for a new one, which has the bytes as they are.
  bool is_mapped = false;

  [[nodiscard]] bool overlaps(const HostBuffer& other) const noexcept {
    return address < other.address + other.nbytes && other.address < address + nbytes;
  }
  /// Gives the bytes to the device.
  [[nodiscard]] tenon::Status unmap(const Api& api, cl_command_queue queue);
  /// Gives them back to the host, when what was enqueued is done.
  [[nodiscard]] tenon::Status map(const Api& api, cl_command_queue queue);
};

/// The last buffers of each argument of a session, as applications use the same memory in each run,
/// or alternate. Threads: one at a time.
class HostBuffers {
 public:
  HostBuffers(std::shared_ptr<Device> device, std::size_t num_arguments)
      : device_(std::move(device)), all_(num_arguments) {}

  /// Whether bytes at `address` can be used in place: vectors of a kernel's language are aligned.
  [[nodiscard]] static bool fits(const void* address, std::uint64_t nbytes) noexcept {
    return nbytes != 0 && reinterpret_cast<std::uintptr_t>(address) % 16 == 0;
  }

  /// Valid until the next call for the same argument. What was enqueued on `queue` is waited for
  /// when an older buffer is dropped.
  [[nodiscard]] tenon::Result<HostBuffer*> find(std::size_t argument, std::byte* address,
                                                std::uint64_t nbytes, cl_command_queue queue);

  /// Before they are destroyed: PoCL keeps a buffer that is mapped for ever.
  void unmap_all(cl_command_queue queue) noexcept;

  /// Number of buffers that were dropped, whose handles may be used again.
  [[nodiscard]] std::uint64_t drops() const noexcept { return drops_; }

 private:
  static constexpr std::size_t most = 4;

  std::shared_ptr<Device> device_;
  /// By argument; the last one used is the first.
  std::vector<std::vector<std::unique_ptr<HostBuffer>>> all_;
  std::uint64_t drops_ = 0;
};

}  // namespace opencl_backend
