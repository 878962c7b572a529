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
#include <vector>

#include "command_queue.hpp"
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

  Status run(GridRunner& runner) {
    std::vector<void*> addresses;
    std::vector<std::span<const std::byte>> counted;
    Work* const work = control().work.load();
    for (Argument& argument : arguments) {
      addresses.push_back(argument.memory ? argument.memory->data() + argument.offset
                                          : argument.bytes.data());
      if (work && argument.memory) counted.push_back(argument.memory->bytes());
    }
    if (work) {
      work->threadgroup_nbytes = std::max(work->threadgroup_nbytes, kernel.threadgroup_nbytes);
    }
    runner.count(counted, work);
    return runner.run(kernel.run, addresses.data(), threads, group);
  }
};

class Event final : public MetalEvent {
 public:
  explicit Event(std::shared_ptr<SharedEvent> event) noexcept : event_(std::move(event)) {
    ++control().num_events;
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() override { --control().num_events; }
  std::uint64_t signaled_value() const override { return event_->signaled_value(); }
  void signal(std::uint64_t value) override { event_->signal(value); }
  void wait(std::uint64_t value) override {
    ++control().num_waits;
    laziness().wake();
    event_->wait(value);
  }
  void* handle() const noexcept override { return event_.get(); }
  [[nodiscard]] const std::shared_ptr<SharedEvent>& event() const noexcept { return event_; }

 private:
  std::shared_ptr<SharedEvent> event_;
};

class SubmittedWork final : public MetalWork {
 public:
  explicit SubmittedWork(std::vector<std::shared_ptr<CommandBuffer>> buffers) noexcept
      : buffers_(std::move(buffers)) {}
  Status wait() override {
    ++control().num_waits;
    laziness().wake();
    Status first = ok();
    for (const auto& each : buffers_) {
      Status status = each->wait_until_completed();
      if (first.ok()) first = std::move(status);
    }
    return first;
  }
  bool is_complete() const override {
    return std::ranges::all_of(buffers_, &CommandBuffer::is_completed,
                               &std::shared_ptr<CommandBuffer>::operator*);
  }
  bool has_failed() const override {
    return std::ranges::any_of(buffers_, &CommandBuffer::has_failed,
                               &std::shared_ptr<CommandBuffer>::operator*);
  }

 private:
  std::vector<std::shared_ptr<CommandBuffer>> buffers_;
};

/// Submits nothing before it is committed, so that a missing commit or wait shows.
class Queue final : public MetalQueue {
 public:
  explicit Queue(std::shared_ptr<CommandQueue> queue) noexcept : queue_(std::move(queue)) {}

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
    add([dispatched = next_](GridRunner& runner) mutable {
      if (control().fails_next_dispatch.exchange(false)) {
        return error(Error::Internal, "stand-in: the kernel failed, as requested");
      }
      return dispatched.run(runner);
    });
    return ok();
  }
  Status copy(const MetalBuffer& to, std::size_t to_offset, const MetalBuffer& from,
              std::size_t from_offset, std::size_t nbytes) override {
    TENON_RETURN_IF_ERROR(next_call("copyFromBuffer"));
    add([target = dynamic_cast<const Buffer&>(to).memory(), to_offset,
         source = dynamic_cast<const Buffer&>(from).memory(), from_offset, nbytes](GridRunner&) {
      std::memmove(target->data() + to_offset, source->data() + from_offset, nbytes);
      return ok();
    });
    return ok();
  }
  Status signal(const MetalEvent& event, std::uint64_t value) override {
    TENON_RETURN_IF_ERROR(next_call("encodeSignalEvent"));
    add([shared = dynamic_cast<const Event&>(event).event(), value](GridRunner&) {
      shared->signal(value);
      return ok();
    });
    return ok();
  }
  Status wait_for(const MetalEvent& event, std::uint64_t value) override {
    TENON_RETURN_IF_ERROR(next_call("encodeWaitForEvent"));
    add([shared = dynamic_cast<const Event&>(event).event(), value](GridRunner&) {
      shared->wait(value);
      return ok();
    });
    return ok();
  }
  Status commit() override {
    TENON_RETURN_IF_ERROR(next_call("commit"));
    if (!open_) return ok();
    ++control().num_commits;
    submitted_.push_back(open_);
    queue_->commit(std::exchange(open_, nullptr));
    return ok();
  }
  std::shared_ptr<MetalWork> take_submitted() override {
    if (submitted_.empty()) return nullptr;
    return std::make_shared<SubmittedWork>(std::exchange(submitted_, {}));
  }
  Status wait() override {
    Status status = open_ ? commit() : ok();
    open_.reset();
    Status done = SubmittedWork(std::exchange(submitted_, {})).wait();
    if (status.ok()) status = next_call("waitUntilCompleted");
    return status.ok() ? std::move(done) : std::move(status);
  }

 private:
  void add(Command command) {
    if (!open_) open_ = std::make_shared<CommandBuffer>();
    open_->add(std::move(command));
  }

  std::shared_ptr<CommandQueue> queue_;
  Dispatch next_{};
  std::shared_ptr<CommandBuffer> open_;
  std::vector<std::shared_ptr<CommandBuffer>> submitted_;
};

class Device final : public MetalDevice {
 public:
  std::string name() const override { return device_name; }
  std::uint64_t memory() const override { return std::uint64_t{1} << 30; }
  std::string architecture() const override { return "none, kernels are compiled as C++"; }
  std::uint64_t registry_id() const override { return 17; }
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
    return std::make_unique<Queue>(std::make_shared<CommandQueue>());
  }
  Result<std::unique_ptr<MetalQueue>> use_queue(void* handle) override {
    if (handle == control().queue_of_other_device) {
      return error(Error::NotSupported, "stand-in: a queue of another device");
    }
    return std::make_unique<Queue>(static_cast<CommandQueue*>(handle)->shared_from_this());
  }
  Result<std::shared_ptr<MetalEvent>> make_event() override {
    TENON_RETURN_IF_ERROR(next_call("newSharedEvent"));
    return std::make_shared<Event>(std::make_shared<SharedEvent>());
  }
  std::shared_ptr<MetalEvent> use_event(void* handle) override {
    return std::make_shared<Event>(static_cast<SharedEvent*>(handle)->shared_from_this());
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
