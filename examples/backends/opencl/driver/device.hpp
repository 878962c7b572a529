// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tenon/backend/prepared.hpp>
#include <tenon/tenon.hpp>
#include <vector>

#include "driver/command_buffers.hpp"
#include "driver/library.hpp"

namespace opencl_backend {

/// Number of OpenCL's devices in DLPack (`kDLOpenCL`).
inline constexpr std::int32_t dl_opencl = 4;

/// Releases an object of OpenCL. The driver keeps it as long as enqueued commands need it.
template <class Object>
struct Release {
  cl_int (*call)(Object*) = nullptr;
  void operator()(Object* object) const noexcept { static_cast<void>(call(object)); }
};
template <class Object>
using Owned = std::unique_ptr<Object, Release<Object>>;

/// A part of a buffer. The buffer belongs to someone else; it is null when there are no bytes.
struct Slice {
  cl_mem buffer = nullptr;
  std::uint64_t offset = 0;  ///< In bytes.
};

/// A device of a platform, as it was found.
struct DeviceRecord {
  cl_platform_id platform_id = nullptr;
  cl_device_id id = nullptr;
  std::string name;
  std::string platform;  ///< Its name and version.
  std::string driver_version;
  std::uint64_t memory_bytes = 0;
  std::uint64_t most_bytes = 0;  ///< Of one buffer.
  std::size_t most_items = 1;    ///< In a work-group.
  bool is_cpu = false;           ///< Its memory is this process's.
  std::string identity;          ///< As `tenon::DeviceInfo` has it.
};

/// One device with a context of its own, and everything that delegates share on it. Threads: any.
class Device {
 public:
  [[nodiscard]] static tenon::Result<std::shared_ptr<Device>> open(const Api& api,
                                                                   DeviceRecord record,
                                                                   std::int32_t number);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device();

  [[nodiscard]] const Api& api() const noexcept { return api_; }
  [[nodiscard]] const DeviceRecord& record() const noexcept { return record_; }
  [[nodiscard]] std::int32_t number() const noexcept { return number_; }
  [[nodiscard]] cl_context context() const noexcept { return context_.get(); }
  /// A failure says why the device has none.
  [[nodiscard]] const tenon::Result<CommandBuffers>& command_buffers() const noexcept {
    return command_buffers_;
  }

  /// A queue whose commands run in their order.
  [[nodiscard]] tenon::Result<Owned<cl_queue_of>> create_queue() const;
  /// errors: MemoryAllocationFailed. Null for 0 bytes. With `from`, a copy of those bytes.
  [[nodiscard]] tenon::Result<Owned<cl_mem_of>> create_buffer(
      std::uint64_t nbytes, const std::byte* from = nullptr) const;
  /// A buffer over bytes of the host, which must stay until what uses it is done.
  [[nodiscard]] tenon::Result<Owned<cl_mem_of>> share_bytes(std::byte* bytes,
                                                            std::uint64_t nbytes) const;
  [[nodiscard]] Owned<cl_event_of> own(cl_event event) const noexcept {
    return {event, {api_.ReleaseEvent}};
  }

  /// An event of the application in this context, kept for as long as the result.
  /// errors: InvalidArgument for one of another context
  [[nodiscard]] tenon::Result<std::shared_ptr<cl_event_of>> share(cl_event event) const;

  /// The kernels, which are compiled for the first delegate of the device, or made of what
  /// `prepared` has of an earlier process. Valid as long as the device.
  ///
  /// errors: Internal with the driver's build log
  [[nodiscard]] tenon::Result<cl_program> program(const tenon::Prepared& prepared);
  /// All that binaries of the kernels depend on.
  [[nodiscard]] std::string identity() const;

  // Memory for hosts. An address is in a range of pages that no code may touch, so that a host may
  // compute with it, and finds its buffer here: a buffer of OpenCL has none.

  [[nodiscard]] tenon::Result<void*> allocate(std::uint64_t nbytes, std::size_t alignment);
  void free(void* address) noexcept;
  /// Number of blocks that were freed.
  [[nodiscard]] std::uint64_t frees() const noexcept { return frees_; }
  /// errors: InvalidArgument when no block has `nbytes` bytes from `address` on
  [[nodiscard]] tenon::Result<Slice> find(const void* address, std::uint64_t nbytes) const;
  [[nodiscard]] tenon::Status copy_to_device(void* to, const void* from, std::size_t nbytes);
  [[nodiscard]] tenon::Status copy_to_host(void* to, const void* from, std::size_t nbytes);

  /// Says that the work of `owner` is done when `last` is, for copies that come after it; null:
  /// that it is done.
  void note_work(const void* owner, Owned<cl_event_of> last);

 private:
  Device(const Api& api, DeviceRecord record, std::int32_t number, Owned<cl_context_of> context);
  [[nodiscard]] tenon::Result<Owned<cl_program_of>> compile() const;
  [[nodiscard]] tenon::Result<Owned<cl_program_of>> load(tenon::Bytes binary) const;
  [[nodiscard]] tenon::Status build(cl_program program) const;
  [[nodiscard]] tenon::Result<std::vector<std::byte>> binary_of(cl_program program) const;
  [[nodiscard]] tenon::Status wait_for_work();

  struct Block {
    Owned<cl_mem_of> buffer;
    std::uint64_t nbytes;
    void* pages;
    std::size_t pages_size;
  };

  const Api& api_;
  DeviceRecord record_;
  std::int32_t number_;
  Owned<cl_context_of> context_;
  tenon::Result<CommandBuffers> command_buffers_;
  Owned<cl_queue_of> copies_;  ///< For copies of hosts.

  std::mutex program_mutex_;
  Owned<cl_program_of> program_;

  mutable std::mutex mutex_;
  std::map<std::uintptr_t, Block> blocks_;  ///< By address.
  std::map<const void*, std::shared_ptr<cl_event_of>> work_;
  std::atomic<std::uint64_t> frees_ = 0;
};

/// The devices of this machine that compile OpenCL C; each is opened by the first that needs it and
/// stays open. Threads: any.
class Devices {
 public:
  /// Chooses the library with the functions of OpenCL; an empty name is `default_library`.
  /// errors: InvalidState for another one when a library is in use
  [[nodiscard]] tenon::Status use_library(std::string_view name);
  /// errors: as `load_api`; NotFound without a driver or a device
  [[nodiscard]] tenon::Result<const std::vector<DeviceRecord>*> list();
  /// errors: as `list`; InvalidArgument when no device has that number
  [[nodiscard]] tenon::Result<std::shared_ptr<Device>> open(std::int64_t number);
  /// The device of a tensor or a block. errors: InvalidArgument for one of another kind
  [[nodiscard]] tenon::Result<std::shared_ptr<Device>> open(tenon_dl_device device);
  /// Whether it was listed and is the CPU. Does not load the driver.
  [[nodiscard]] bool is_known_cpu(std::int64_t number) const;
  /// The device, if it is open.
  [[nodiscard]] std::shared_ptr<Device> find(std::int32_t number) const;

 private:
  tenon::Result<const std::vector<DeviceRecord>*> list_locked();

  mutable std::mutex mutex_;
  std::string library_ = default_library;
  bool is_loaded_ = false;
  Api api_;
  std::vector<DeviceRecord> records_;
  std::vector<std::shared_ptr<Device>> open_;
};

}  // namespace opencl_backend
