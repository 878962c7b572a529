// SPDX-License-Identifier: MIT
//
// Apple's device through metal-cpp. Autoreleased objects are in pools of this file, because a
// host's thread may not have one.
#include <Foundation/Foundation.hpp>
#include <Metal/Metal.hpp>
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/metal_device.hpp"

namespace tenon::metal_aoti {

namespace {

using Pool = NS::SharedPtr<NS::AutoreleasePool>;
Pool make_pool() { return NS::TransferPtr(NS::AutoreleasePool::alloc()->init()); }

/// Asks an object for a method that the oldest macOS that this runs on does not have: sending a
/// message without one ends the process. NS::Object's own question is protected.
struct Methods : NS::Object {
  static bool has(const NS::Object* object, const char* selector) {
    return respondsToSelector(object, sel_registerName(selector));
  }
};

std::string text_of(const NS::String* text) {
  const char* const utf8 = text ? text->utf8String() : nullptr;
  return utf8 ? utf8 : "";
}

std::string text_of(const NS::Error* failure) {
  const std::string text = failure ? text_of(failure->localizedDescription()) : "";
  return text.empty() ? "Metal gives no reason" : text;
}

class Buffer final : public MetalBuffer {
 public:
  explicit Buffer(NS::SharedPtr<MTL::Buffer> buffer) noexcept
      : MetalBuffer(static_cast<std::byte*>(buffer->contents()), buffer->length()),
        buffer_(std::move(buffer)) {}
  [[nodiscard]] const MTL::Buffer* get() const noexcept { return buffer_.get(); }

 private:
  NS::SharedPtr<MTL::Buffer> buffer_;
};

class Function final : public MetalFunction {
 public:
  explicit Function(NS::SharedPtr<MTL::ComputePipelineState> state) noexcept
      : MetalFunction(state->maxTotalThreadsPerThreadgroup(), state->threadExecutionWidth()),
        state_(std::move(state)) {}
  [[nodiscard]] const MTL::ComputePipelineState* get() const noexcept { return state_.get(); }

 private:
  NS::SharedPtr<MTL::ComputePipelineState> state_;
};

class MetalCppLibrary final : public MetalLibrary {
 public:
  MetalCppLibrary(NS::SharedPtr<MTL::Device> device, NS::SharedPtr<MTL::Library> library) noexcept
      : device_(std::move(device)), library_(std::move(library)) {}

  Result<std::unique_ptr<MetalFunction>> function(const char* name) override {
    const Pool pool = make_pool();
    const auto function = NS::TransferPtr(
        library_->newFunction(NS::String::string(name, NS::StringEncoding::UTF8StringEncoding)));
    if (!function) {
      return error(Error::NotFound, "the Metal source has no kernel '", std::string_view(name),
                   "'");
    }
    NS::Error* failure = nullptr;
    auto state = NS::TransferPtr(device_->newComputePipelineState(function.get(), &failure));
    if (!state) {
      return error(Error::Internal, "kernel '", std::string_view(name), "': ", text_of(failure));
    }
    return std::make_unique<Function>(std::move(state));
  }

 private:
  NS::SharedPtr<MTL::Device> device_;
  NS::SharedPtr<MTL::Library> library_;
};

class Event final : public MetalEvent {
 public:
  explicit Event(NS::SharedPtr<MTL::SharedEvent> event) noexcept : event_(std::move(event)) {}
  [[nodiscard]] std::uint64_t signaled_value() const override { return event_->signaledValue(); }
  void signal(std::uint64_t value) override { event_->setSignaledValue(value); }
  void wait(std::uint64_t value) override {
    constexpr std::uint64_t hour_ms = 3'600'000;
    while (!event_->waitUntilSignaledValue(value, hour_ms)) {
    }
  }
  [[nodiscard]] void* handle() const noexcept override { return event_.get(); }
  [[nodiscard]] const NS::SharedPtr<MTL::SharedEvent>& get() const noexcept { return event_; }

 private:
  NS::SharedPtr<MTL::SharedEvent> event_;
};

/// A command buffer, and the events that it uses: Metal's documentation does not say that it keeps
/// them.
struct Submitted {
  NS::SharedPtr<MTL::CommandBuffer> buffer;
  std::vector<NS::SharedPtr<MTL::SharedEvent>> events;

  [[nodiscard]] Status wait() const {
    buffer->waitUntilCompleted();
    if (buffer->status() != MTL::CommandBufferStatusError) return ok();
    const Pool pool = make_pool();
    return error(Error::Internal, "the Metal device failed: ", text_of(buffer->error()));
  }
};

class Work final : public MetalWork {
 public:
  explicit Work(std::vector<Submitted> submitted) noexcept : submitted_(std::move(submitted)) {}
  Status wait() override {
    Status first = ok();
    for (const Submitted& each : submitted_) {
      Status status = each.wait();
      if (first.ok()) first = std::move(status);
    }
    return first;
  }
  bool is_complete() const override {
    return std::ranges::all_of(submitted_, [](const Submitted& each) {
      return each.buffer->status() >= MTL::CommandBufferStatusCompleted;
    });
  }
  bool has_failed() const override {
    return std::ranges::any_of(submitted_, [](const Submitted& each) {
      return each.buffer->status() == MTL::CommandBufferStatusError;
    });
  }

 private:
  std::vector<Submitted> submitted_;
};

class Queue final : public MetalQueue {
 public:
  explicit Queue(NS::SharedPtr<MTL::CommandQueue> queue) noexcept : queue_(std::move(queue)) {}
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  ~Queue() override {
    // Metal requires that every encoder is ended, also when its work is dropped.
    end_encoding();
  }

  Status set_function(const MetalFunction& function) override {
    if (!encoder_) {
      TENON_RETURN_IF_ERROR(open_command_buffer());
      const Pool pool = make_pool();
      encoder_ = NS::RetainPtr(open_.buffer->computeCommandEncoder());
      if (!encoder_) return error(Error::OutOfResources, "Metal gives no compute encoder");
    }
    encoder_->setComputePipelineState(static_cast<const Function&>(function).get());
    return ok();
  }
  void set_buffer(unsigned index, const MetalBuffer& buffer, std::size_t offset) override {
    encoder_->setBuffer(static_cast<const Buffer&>(buffer).get(), offset, index);
  }
  void set_bytes(unsigned index, std::span<const std::byte> bytes) override {
    encoder_->setBytes(bytes.data(), bytes.size(), index);
  }
  Status dispatch(const GridSize& threads, const GridSize& group) override {
    encoder_->dispatchThreads(MTL::Size(threads[0], threads[1], threads[2]),
                              MTL::Size(group[0], group[1], group[2]));
    return ok();
  }
  Status copy(const MetalBuffer& to, std::size_t to_offset, const MetalBuffer& from,
              std::size_t from_offset, std::size_t nbytes) override {
    end_encoding();
    TENON_RETURN_IF_ERROR(open_command_buffer());
    const Pool pool = make_pool();
    MTL::BlitCommandEncoder* const encoder = open_.buffer->blitCommandEncoder();
    if (!encoder) return error(Error::OutOfResources, "Metal gives no blit encoder");
    encoder->copyFromBuffer(static_cast<const Buffer&>(from).get(), from_offset,
                            static_cast<const Buffer&>(to).get(), to_offset, nbytes);
    encoder->endEncoding();
    return ok();
  }
  Status signal(const MetalEvent& event, std::uint64_t value) override {
    TENON_RETURN_IF_ERROR(open_between_encoders(event));
    open_.buffer->encodeSignalEvent(open_.events.back().get(), value);
    return ok();
  }
  Status wait_for(const MetalEvent& event, std::uint64_t value) override {
    TENON_RETURN_IF_ERROR(open_between_encoders(event));
    open_.buffer->encodeWait(open_.events.back().get(), value);
    return ok();
  }
  Status commit() override {
    end_encoding();
    if (!open_.buffer) return ok();
    submitted_.push_back(std::exchange(open_, {}));
    submitted_.back().buffer->commit();
    return ok();
  }
  std::shared_ptr<MetalWork> take_submitted() override {
    if (submitted_.empty()) return nullptr;
    return std::make_shared<Work>(std::exchange(submitted_, {}));
  }
  Status wait() override {
    TENON_RETURN_IF_ERROR(commit());
    return Work(std::exchange(submitted_, {})).wait();
  }

 private:
  Status open_command_buffer() {
    if (open_.buffer) return ok();
    const Pool pool = make_pool();
    open_.buffer = NS::RetainPtr(queue_->commandBuffer());
    return open_.buffer ? ok() : error(Error::OutOfResources, "Metal gives no command buffer");
  }
  /// A command buffer waits and signals between its encoders alone.
  Status open_between_encoders(const MetalEvent& event) {
    end_encoding();
    TENON_RETURN_IF_ERROR(open_command_buffer());
    open_.events.push_back(static_cast<const Event&>(event).get());
    return ok();
  }
  void end_encoding() {
    if (encoder_) encoder_->endEncoding();
    encoder_ = {};
  }

  NS::SharedPtr<MTL::CommandQueue> queue_;
  Submitted open_;
  NS::SharedPtr<MTL::ComputeCommandEncoder> encoder_;
  std::vector<Submitted> submitted_;
};

class MetalCppDevice final : public MetalDevice {
 public:
  explicit MetalCppDevice(NS::SharedPtr<MTL::Device> device) noexcept
      : device_(std::move(device)) {}

  std::string name() const override {
    const Pool pool = make_pool();
    return text_of(device_->name());
  }
  std::uint64_t memory() const override { return device_->recommendedMaxWorkingSetSize(); }
  std::string architecture() const override {
    if (!Methods::has(device_.get(), "architecture")) return "";  // Before macOS 14.
    const Pool pool = make_pool();
    const MTL::Architecture* const found = device_->architecture();
    return found ? text_of(found->name()) : "";
  }
  std::uint64_t registry_id() const override { return device_->registryID(); }
  Result<std::unique_ptr<MetalBuffer>> allocate(std::size_t nbytes) override {
    auto buffer = NS::TransferPtr(device_->newBuffer(nbytes, MTL::ResourceStorageModeShared));
    if (buffer) return std::make_unique<Buffer>(std::move(buffer));
    return error(Error::MemoryAllocationFailed, "Metal gives no buffer of ", nbytes, " bytes");
  }
  std::unique_ptr<MetalBuffer> adopt(std::byte* pages, std::size_t nbytes) override {
    if (!device_->hasUnifiedMemory() || nbytes > device_->maxBufferLength()) return nullptr;
    auto buffer =
        NS::TransferPtr(device_->newBuffer(pages, nbytes, MTL::ResourceStorageModeShared, nullptr));
    return buffer ? std::make_unique<Buffer>(std::move(buffer)) : nullptr;
  }
  Result<std::unique_ptr<MetalLibrary>> compile(const char* source) override {
    const Pool pool = make_pool();
    const auto options = NS::TransferPtr(MTL::CompileOptions::alloc()->init());
    // As PyTorch compiles the same source (MetalShaderLibrary::compileLibrary): with infinities and
    // NaN, and exact functions where the source does not say. macOS 15 has an option for each.
    if (Methods::has(options.get(), "setMathMode:")) {
      options->setMathMode(MTL::MathModeSafe);
      options->setMathFloatingPointFunctions(MTL::MathFloatingPointFunctionsPrecise);
    } else {
      options->setFastMathEnabled(false);
    }
    NS::Error* failure = nullptr;
    auto library = NS::TransferPtr(
        device_->newLibrary(NS::String::string(source, NS::StringEncoding::UTF8StringEncoding),
                            options.get(), &failure));
    if (!library) {
      return error(Error::InvalidProgram, "the Metal source does not compile: ", text_of(failure));
    }
    return std::make_unique<MetalCppLibrary>(device_, std::move(library));
  }
  Result<std::unique_ptr<MetalQueue>> make_queue() override {
    auto queue = NS::TransferPtr(device_->newCommandQueue());
    if (queue) return std::make_unique<Queue>(std::move(queue));
    return error(Error::OutOfResources, "Metal gives no command queue");
  }
  Result<std::unique_ptr<MetalQueue>> use_queue(void* handle) override {
    auto queue = NS::RetainPtr(static_cast<MTL::CommandQueue*>(handle));
    if (queue->device()->registryID() == device_->registryID()) {
      return std::make_unique<Queue>(std::move(queue));
    }
    const Pool pool = make_pool();
    return error(Error::NotSupported, "expected a queue of '", text_of(device_->name()),
                 "', found one of '", text_of(queue->device()->name()), "'");
  }
  Result<std::shared_ptr<MetalEvent>> make_event() override {
    auto event = NS::TransferPtr(device_->newSharedEvent());
    if (event) return std::make_shared<Event>(std::move(event));
    return error(Error::OutOfResources, "Metal gives no shared event");
  }
  std::shared_ptr<MetalEvent> use_event(void* handle) override {
    return std::make_shared<Event>(NS::RetainPtr(static_cast<MTL::SharedEvent*>(handle)));
  }

 private:
  NS::SharedPtr<MTL::Device> device_;
};

}  // namespace

Result<std::unique_ptr<MetalDevice>> open_metal_device() {
  const Pool pool = make_pool();
  auto device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
  if (device) return std::make_unique<MetalCppDevice>(std::move(device));
  return error(Error::NotFound, "no device: Metal has none on this machine");
}

}  // namespace tenon::metal_aoti
