// SPDX-License-Identifier: MIT
//
// A stand-in for a Metal device: it compiles Metal source as C++ for this processor and runs each
// thread of a grid. It tests the backend's functions, their arguments and the numbers of the
// kernels, and nothing of a Mac. Never installed.
#include "stand_in_device.hpp"

#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "compiled_library.hpp"
#include "device/metal_device.hpp"
#include "threadgroup.hpp"

namespace tenon::metal_stand_in {

using namespace tenon::metal_aoti;

Control& control() noexcept {
  static Control only;
  return only;
}

namespace {

Status next_call(const char* name) {
  Control& state = control();
  if (state.calls_until_failure < 0 || state.calls_until_failure-- > 0) return ok();
  return error(Error::Internal, "stand-in: ", name, " failed, as requested");
}

/// As Apple documents newBufferWithBytesNoCopy: "a page-aligned pointer", a length "that results in
/// a page-aligned region of memory", and memory "within a single virtual memory (VM) region".
bool are_pages_of_one_region(const std::byte* bytes, std::size_t nbytes) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes);
  if (begin % page != 0 || nbytes % page != 0 || nbytes == 0) return false;
  std::ifstream regions("/proc/self/maps");
  for (std::string line; std::getline(regions, line);) {
    std::uintptr_t from = 0, to = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR, &from, &to) != 2) continue;
    if (from <= begin && begin < to) return to - begin >= nbytes;
  }
  return false;
}

/// What Apple's GPUs have for a threadgroup.
constexpr std::uint64_t max_threadgroup_nbytes = 32768;

/// Bytes of a buffer; work that is enqueued keeps them.
class Memory {
 public:
  /// Of pages that exist.
  Memory(std::byte* pages, std::size_t nbytes) noexcept
      : bytes_(pages, Delete{true}), nbytes_(nbytes) {
    ++control().num_adopted;
  }
  explicit Memory(std::size_t nbytes)
      : bytes_(new(alignment) std::byte[nbytes], Delete{false}), nbytes_(nbytes) {
    // Not zeroes, like a reused buffer, so that early reads show.
    std::memset(bytes_.get(), 0xff, nbytes);
    ++control().num_buffers;
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { bytes_.get_deleter().is_adopted ? --control().num_adopted : --control().num_buffers; }
  [[nodiscard]] std::byte* data() const noexcept { return bytes_.get(); }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data(), nbytes_}; }

 private:
  static constexpr std::align_val_t alignment{64};
  struct Delete {
    bool is_adopted = false;
    void operator()(std::byte* bytes) const noexcept {
      if (!is_adopted) ::operator delete[](bytes, alignment);
    }
  };
  std::unique_ptr<std::byte[], Delete> bytes_;
  std::size_t nbytes_;
};

class Buffer final : public MetalBuffer {
 public:
  Buffer(std::shared_ptr<Memory> memory, std::size_t nbytes) noexcept
      : MetalBuffer(memory->data(), nbytes), memory_(std::move(memory)) {}
  [[nodiscard]] const std::shared_ptr<Memory>& memory() const noexcept { return memory_; }

 private:
  std::shared_ptr<Memory> memory_;
};

class Function final : public MetalFunction {
 public:
  Function(std::shared_ptr<CompiledLibrary> library, const CompiledKernel& kernel) noexcept
      : MetalFunction(kernel.max_threads, tenon_stand_in::simd_width),
        library_(std::move(library)),
        kernel_(kernel) {}
  [[nodiscard]] const CompiledKernel& kernel() const noexcept { return kernel_; }
  [[nodiscard]] const std::shared_ptr<CompiledLibrary>& library() const noexcept {
    return library_;
  }

 private:
  std::shared_ptr<CompiledLibrary> library_;
  CompiledKernel kernel_;
};

class Library final : public MetalLibrary {
 public:
  explicit Library(std::shared_ptr<CompiledLibrary> library) noexcept
      : library_(std::move(library)) {}
  Result<std::unique_ptr<MetalFunction>> function(const char* name) override {
    TENON_RETURN_IF_ERROR(next_call("newFunction"));
    TENON_TRY(const CompiledKernel kernel, library_->kernel(name));
    return std::make_unique<Function>(library_, kernel);
  }

 private:
  std::shared_ptr<CompiledLibrary> library_;
};

/// One argument of a kernel: a buffer, or bytes of its own.
struct Argument {
  std::shared_ptr<Memory> memory{};
  std::size_t offset = 0;
  std::vector<std::byte> bytes{};
  bool is_set = false;
};

struct Dispatch {
  std::shared_ptr<CompiledLibrary> library;
  CompiledKernel kernel;
  std::vector<Argument> arguments;
  GridSize threads;
  GridSize group;
};
struct Copy {
  std::shared_ptr<Memory> to;
  std::size_t to_offset;
  std::shared_ptr<Memory> from;
  std::size_t from_offset;
  std::size_t nbytes;
};

/// Runs nothing before it is committed, so that a missing commit or wait shows.
class Queue final : public MetalQueue {
 public:
  Queue() { ++control().num_queues; }
  ~Queue() override { --control().num_queues; }

  Status set_function(const MetalFunction& function) override {
    TENON_RETURN_IF_ERROR(next_call("setComputePipelineState"));
    const auto& given = dynamic_cast<const Function&>(function);
    next_ = Dispatch{given.library(), given.kernel(), {}, {}, {}};
    next_.arguments.resize(31);
    return ok();
  }
  void set_buffer(unsigned index, const MetalBuffer& buffer, std::size_t offset) override {
    const auto& given = dynamic_cast<const Buffer&>(buffer);
    next_.arguments.at(index) = {given.memory(), offset, {}, true};
  }
  void set_bytes(unsigned index, std::span<const std::byte> bytes) override {
    next_.arguments.at(index) = {nullptr, 0, {bytes.begin(), bytes.end()}, true};
  }
  Status dispatch(const GridSize& threads, const GridSize& group) override {
    TENON_RETURN_IF_ERROR(next_call("dispatchThreads"));
    for (unsigned i = 0; i < next_.kernel.num_buffers; ++i) {
      if (!next_.arguments[i].is_set) {
        return error(Error::InvalidArgument, "stand-in: argument ", i, " of the kernel is not set");
      }
    }
    if (next_.kernel.threadgroup_nbytes > max_threadgroup_nbytes) {
      return error(Error::InvalidArgument, "stand-in: a threadgroup of ",
                   next_.kernel.threadgroup_nbytes, " bytes: expected at most ",
                   max_threadgroup_nbytes);
    }
    ++control().num_dispatches;
    if (auto* sizes = control().group_sizes.load())
      sizes->push_back(group[0] * group[1] * group[2]);
    if (auto* places = control().arguments.load()) {
      for (const Argument& argument : next_.arguments) {
        if (argument.memory) places->push_back(argument.memory->data() + argument.offset);
      }
    }
    next_.threads = threads;
    next_.group = group;
    work_.emplace_back(next_);
    return ok();
  }
  Status copy(const MetalBuffer& to, std::size_t to_offset, const MetalBuffer& from,
              std::size_t from_offset, std::size_t nbytes) override {
    TENON_RETURN_IF_ERROR(next_call("copyFromBuffer"));
    work_.emplace_back(Copy{dynamic_cast<const Buffer&>(to).memory(), to_offset,
                            dynamic_cast<const Buffer&>(from).memory(), from_offset, nbytes});
    return ok();
  }
  Status commit() override {
    TENON_RETURN_IF_ERROR(next_call("commit"));
    ++control().num_commits;
    for (auto& each : std::exchange(work_, {})) {
      if (!failure_.ok()) break;
      if (auto* dispatched = std::get_if<Dispatch>(&each)) {
        failure_ = run(*dispatched);
      } else {
        const Copy& copy = std::get<Copy>(each);
        std::memmove(copy.to->data() + copy.to_offset, copy.from->data() + copy.from_offset,
                     copy.nbytes);
      }
    }
    return ok();
  }
  Status wait() override {
    Status status = work_.empty() ? ok() : commit();
    work_.clear();
    ++control().num_waits;
    if (status.ok()) status = next_call("waitUntilCompleted");
    if (status.ok()) return std::exchange(failure_, ok());
    failure_ = ok();
    return status;
  }

 private:
  Status run(Dispatch& dispatched) {
    std::vector<void*> addresses;
    std::vector<std::span<const std::byte>> counted;
    Work* const work = control().work.load();
    for (Argument& argument : dispatched.arguments) {
      addresses.push_back(argument.memory ? argument.memory->data() + argument.offset
                                          : argument.bytes.data());
      if (work && argument.memory) counted.push_back(argument.memory->bytes());
    }
    if (work) {
      work->threadgroup_nbytes =
          std::max(work->threadgroup_nbytes, dispatched.kernel.threadgroup_nbytes);
    }
    runner_.count(counted, work);
    return runner_.run(dispatched.kernel.run, addresses.data(), dispatched.threads,
                       dispatched.group);
  }

  GridRunner runner_;
  Dispatch next_{};
  std::vector<std::variant<Dispatch, Copy>> work_;
  Status failure_ = ok();
};

class Device final : public MetalDevice {
 public:
  std::string name() const override { return device_name; }
  std::uint64_t memory() const override { return std::uint64_t{1} << 30; }
  std::string architecture() const override { return "none, kernels are compiled as C++"; }
  Result<std::unique_ptr<MetalBuffer>> allocate(std::size_t nbytes) override {
    TENON_RETURN_IF_ERROR(next_call("newBuffer"));
    if (nbytes > memory()) {
      return error(Error::MemoryAllocationFailed, "stand-in: newBuffer of ", nbytes, " bytes");
    }
    auto memory = std::make_shared<Memory>(nbytes);
    return std::make_unique<Buffer>(std::move(memory), nbytes);
  }
  std::unique_ptr<MetalBuffer> adopt(std::byte* pages, std::size_t nbytes) override {
    if (!control().adopts || nbytes > memory() || !are_pages_of_one_region(pages, nbytes)) {
      return nullptr;
    }
    auto memory = std::make_shared<Memory>(pages, nbytes);
    return std::make_unique<Buffer>(std::move(memory), nbytes);
  }
  /// Caches compiled libraries: a test that loads a model a hundred times compiles it once.
  Result<std::unique_ptr<MetalLibrary>> compile(const char* source) override {
    TENON_RETURN_IF_ERROR(next_call("newLibrary"));
    const std::lock_guard lock(mutex_);
    const bool counts = control().work.load() != nullptr;
    auto& known = libraries_[{source, counts}];
    if (!known) {
      TENON_TRY(known, CompiledLibrary::compile(source, counts));
      ++control().num_compiled;
    }
    return std::make_unique<Library>(known);
  }
  Result<std::unique_ptr<MetalQueue>> make_queue() override {
    TENON_RETURN_IF_ERROR(next_call("newCommandQueue"));
    return std::make_unique<Queue>();
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<std::string, bool>, std::shared_ptr<CompiledLibrary>> libraries_;
};

}  // namespace
}  // namespace tenon::metal_stand_in

namespace tenon::metal_aoti {

Result<std::unique_ptr<MetalDevice>> open_metal_device() {
  if (!metal_stand_in::control().has_device) {
    return error(Error::NotFound, "stand-in: no device, as requested");
  }
  return std::make_unique<metal_stand_in::Device>();
}

}  // namespace tenon::metal_aoti
