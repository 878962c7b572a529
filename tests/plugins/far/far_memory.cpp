// SPDX-License-Identifier: MIT
//
// A stand-in for a backend of a device with memory of its own, for tests of hosts. A block of its
// memory has two mappings: the one whose address the host gets cannot be touched, so that a host
// that reads or writes it is killed; the other one is the device's. It says that it is two CUDA
// devices, because programs know no other kind, and computes on the CPU.
//
// Blobs: "add" (out = a + b), "copy" (out = in), "fail-init", "fail-execute". With
// FAR_WITHOUT_COPY_ON it leaves out copies from device to device.
#include "plugins/far/far_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <tenon/tenon.hpp>

#ifndef FAR_MEMORY_ID
#define FAR_MEMORY_ID "FarBackend"
#endif

namespace {

using tenon::Error;
using tenon::Result;
using tenon::Status;
using tenon::test::far_memory;
using tenon::test::FarMemory;
using tenon::test::FarStream;

/// One block: pages of a memory file, mapped twice.
class Block {
 public:
  static Result<Block> make(std::size_t nbytes) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    Block out;
    // One page more than needed, for a test that wants an address inside it.
    out.size_ = (nbytes + page - 1) / page * page + page;
    const int file = ::memfd_create("tenon-far-memory", MFD_CLOEXEC);
    if (file < 0) return tenon::error(Error::MemoryAllocationFailed, "memfd_create failed");
    const auto map = [&](int protection) {
      return ::mmap(nullptr, out.size_, protection, MAP_SHARED, file, 0);
    };
    const bool sized = ::ftruncate(file, static_cast<off_t>(out.size_)) == 0;
    if (sized) out.outside_ = map(PROT_NONE);
    if (sized) out.inside_ = map(PROT_READ | PROT_WRITE);
    ::close(file);
    if (out.outside_ == MAP_FAILED || out.inside_ == MAP_FAILED) {
      return tenon::error(Error::MemoryAllocationFailed, "no memory for ", nbytes, " bytes");
    }
    // Fresh device memory holds anything.
    std::memset(out.inside_, 0xa5, out.size_);
    return out;
  }
  Block(Block&& other) noexcept
      : asked(other.asked),
        device(other.device),
        outside_(std::exchange(other.outside_, MAP_FAILED)),
        inside_(std::exchange(other.inside_, MAP_FAILED)),
        size_(other.size_) {}
  Block& operator=(Block&&) = delete;
  ~Block() {
    if (outside_ != MAP_FAILED) ::munmap(outside_, size_);
    if (inside_ != MAP_FAILED) ::munmap(inside_, size_);
  }

  [[nodiscard]] std::byte* outside() const { return static_cast<std::byte*>(outside_); }
  /// Where the device finds what the host knows as `address`, or null when it is not in here.
  [[nodiscard]] std::byte* inside(const void* address, std::size_t nbytes) const {
    const auto offset =
        reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(outside_);
    if (offset > size_ || nbytes > size_ - offset) return nullptr;
    return static_cast<std::byte*>(inside_) + offset;
  }

  std::size_t asked = 0;
  std::int32_t device = 0;

 private:
  Block() = default;

  void* outside_ = MAP_FAILED;
  void* inside_ = MAP_FAILED;
  std::size_t size_ = 0;
};

class Far final : public tenon::Backend<Far>,
                  public tenon::WithDevices<Far>,
                  public tenon::WithDeviceMemory<Far>,
                  public tenon::WithStreams<Far>,
                  public tenon::WithSessions<Far> {
 public:
  static constexpr std::string_view id = FAR_MEMORY_ID;
  static constexpr std::string_view tags = "debug";
  static constexpr std::int32_t num_devices = 2;
  static constexpr const char* stream_kind = TENON_KIND_CUDA_STREAM;

  class Delegate {
   public:
    Delegate(Far& backend, std::string blob) : name(std::move(blob)), backend_(backend) {}
    Delegate(Delegate&& other) noexcept
        : name(std::move(other.name)),
          stream(std::exchange(other.stream, nullptr)),
          backend_(other.backend_) {}
    Delegate& operator=(Delegate&&) = delete;
    ~Delegate() { set_stream(nullptr); }

    /// Enqueued work is done before later work.
    void set_stream(FarStream* wanted) noexcept {
      if (stream) {
        stream->finish();
        const std::lock_guard lock(backend_.mutex_);
        backend_.busy_.erase(stream);
      }
      stream = wanted;
    }

    std::string name;
    FarStream* stream = nullptr;

   private:
    Far& backend_;
  };

  Result<Delegate> init(tenon::InitContext&, tenon::Blob processed, tenon::CompileSpecs) {
    const std::string_view text = processed.text();
    if (text != "add" && text != "copy" && text != "fail-execute") {
      return tenon::error(Error::DelegateInvalidCompatibility, "the stand-in runs no such blob of ",
                          processed.size(), " bytes");
    }
    return Delegate(*this, std::string(text));
  }
  Result<Delegate> create_session(const Delegate& delegate) {
    return Delegate(*this, delegate.name);
  }

  Status set_stream(Delegate& delegate, void* stream) {
    auto* wanted = static_cast<FarStream*>(stream);
    const bool full = wanted && wanted->takers == 0;
    if (wanted && wanted->takers > 0) --wanted->takers;
    if (wanted && (wanted->foreign || full)) {
      return tenon::error(Error::NotSupported, "the stream belongs to another device");
    }
    delegate.set_stream(wanted);
    return tenon::ok();
  }

  Status execute(tenon::ExecutionContext&, Delegate& delegate, tenon::Args args) {
    if (delegate.name == "fail-execute")
      return tenon::error(Error::Internal, "the blob says fail-execute");
    const std::size_t inputs = delegate.name == "add" ? 2 : 1;
    TENON_RETURN_IF_ERROR(args.expect(inputs + 1));
    TENON_TRY(const tenon::TensorView first, args.tensor(0));
    TENON_RETURN_IF_ERROR(args.resize(inputs, first.sizes()));
    std::byte* at[3] = {};
    for (std::size_t i = 0; i <= inputs; ++i) {
      TENON_TRY(const tenon::TensorView tensor, args.tensor(i));
      if (tensor.device().device_type != TENON_DL_CUDA || tensor.nbytes() != first.nbytes()) {
        return tenon::error(Error::InvalidArgument, "argument ", i, ": expected ", first.nbytes(),
                            " bytes on a device, found ", tensor.nbytes(),
                            " on DLPack device type ", tensor.device().device_type);
      }
      TENON_TRY(at[i], inside(tensor.device(), tensor.data(), tensor.nbytes()));
    }
    const std::size_t size = first.numel();
    const auto compute = [from = at[0], and_from = inputs == 2 ? at[1] : nullptr, to = at[inputs],
                          size] {
      for (std::size_t i = 0; i < size; ++i) {
        float a = 0, b = 0;
        std::memcpy(&a, from + i * sizeof a, sizeof a);
        if (and_from) std::memcpy(&b, and_from + i * sizeof b, sizeof b);
        a += b;
        std::memcpy(to + i * sizeof a, &a, sizeof a);
      }
    };
    if (!delegate.stream) {
      compute();
      return tenon::ok();
    }
    delegate.stream->enqueue(compute);
    const std::lock_guard lock(mutex_);
    busy_.insert(delegate.stream);
    return tenon::ok();
  }

  Result<std::vector<tenon::DeviceInfo>> devices() {
    std::vector<tenon::DeviceInfo> out;
    for (std::int32_t i = 0; i < num_devices; ++i) {
      out.push_back({{TENON_DL_CUDA, i},
                     "stand-in",
                     "memory that the host cannot touch",
                     0,
                     i == 0 ? far_memory().identity : std::string(),
                     true});
    }
    return out;
  }

  Result<void*> allocate_device(tenon_dl_device device, std::size_t nbytes, std::size_t) {
    TENON_RETURN_IF_ERROR(check(device));
    auto& record = far_memory();
    const std::lock_guard all(record.mutex);
    ++record.allocations;
    if (record.fail_allocation != 0 && --record.fail_allocation == 0) {
      return tenon::error(Error::MemoryAllocationFailed, "told to have no memory for ", nbytes,
                          " bytes");
    }
    TENON_TRY(Block block, Block::make(nbytes));
    block.asked = nbytes;
    block.device = device.device_id;
    std::byte* const address = block.outside() + (record.misaligned ? 16 : 0);
    const std::lock_guard lock(mutex_);
    blocks_.emplace(address, std::move(block));
    ++record.live;
    record.bytes += nbytes;
    return address;
  }
  void free_device(tenon_dl_device device, void* address) noexcept {
    auto& record = far_memory();
    const std::lock_guard all(record.mutex);
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(static_cast<std::byte*>(address));
    if (found == blocks_.end() || found->second.device != device.device_id) {
      ++record.wrong_frees;
      return;
    }
    --record.live;
    record.bytes -= found->second.asked;
    blocks_.erase(found);
  }
  Status copy_to_device(tenon_dl_device device, void* to, const void* from, std::size_t nbytes) {
    TENON_TRY(std::byte* const address, begin_copy(device, to, nbytes, &FarMemory::to_device));
    std::memcpy(address, from, nbytes);
    return tenon::ok();
  }
  Status copy_to_host(tenon_dl_device device, void* to, const void* from, std::size_t nbytes) {
    TENON_TRY(const std::byte* const address,
              begin_copy(device, from, nbytes, &FarMemory::to_host));
    std::memcpy(to, address, nbytes);
    return tenon::ok();
  }
#ifndef FAR_WITHOUT_COPY_ON
  Status copy_on(void* stream, tenon_dl_device to_device, void* to, tenon_dl_device from_device,
                 const void* from, std::size_t nbytes) {
    TENON_TRY(std::byte* const target, inside(to_device, to, nbytes));
    if (!stream) {
      TENON_TRY(const std::byte* const source,
                begin_copy(from_device, from, nbytes, &FarMemory::between));
      std::memcpy(target, source, nbytes);
      return tenon::ok();
    }
    TENON_TRY(const std::byte* const source, inside(from_device, from, nbytes));
    TENON_RETURN_IF_ERROR(count_copy(nbytes, &FarMemory::between));
    auto* const on = static_cast<FarStream*>(stream);
    on->enqueue([=] { std::memcpy(target, source, nbytes); });
    const std::lock_guard lock(mutex_);
    busy_.insert(on);
    return tenon::ok();
  }
#endif

  ~Far() {
    auto& record = far_memory();
    const std::lock_guard all(record.mutex);
    record.left_at_close += static_cast<int>(blocks_.size());
  }

 private:
  static Status check(tenon_dl_device device) {
    const bool is_here = device.device_type == TENON_DL_CUDA && device.device_id >= 0 &&
                         device.device_id < num_devices;
    if (is_here) return tenon::ok();
    return tenon::error(Error::InvalidArgument, "there is no device ", device.device_type, ":",
                        device.device_id);
  }

  Result<std::byte*> inside(tenon_dl_device device, const void* address, std::size_t nbytes) {
    TENON_RETURN_IF_ERROR(check(device));
    const std::lock_guard lock(mutex_);
    for (const auto& [outside, block] : blocks_) {
      if (block.device != device.device_id) continue;
      if (std::byte* const found = block.inside(address, nbytes)) return found;
    }
    return tenon::error(Error::InvalidArgument, "no block of device ", device.device_id, " has ",
                        nbytes, " bytes at that address");
  }

  static Status count_copy(std::size_t nbytes, int FarMemory::* direction) {
    auto& record = far_memory();
    const std::lock_guard all(record.mutex);
    ++record.copies;
    ++(record.*direction);
    if (record.fail_copy != 0 && --record.fail_copy == 0) {
      return tenon::error(Error::AccessFailed, "set to fail a copy of ", nbytes, " bytes");
    }
    return tenon::ok();
  }

  /// A copy comes after all that is enqueued.
  Result<std::byte*> begin_copy(tenon_dl_device device, const void* address, std::size_t nbytes,
                                int FarMemory::* direction) {
    std::set<FarStream*> busy;
    {
      const std::lock_guard lock(mutex_);
      busy.swap(busy_);
    }
    for (FarStream* stream : busy) stream->finish();
    TENON_RETURN_IF_ERROR(count_copy(nbytes, direction));
    return inside(device, address, nbytes);
  }

  std::mutex mutex_;
  std::map<std::byte*, Block> blocks_;  // By the address that the host has.
  std::set<FarStream*> busy_;
};

}  // namespace

TENON_PLUGIN(Far);
