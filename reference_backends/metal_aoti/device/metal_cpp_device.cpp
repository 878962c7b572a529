// SPDX-License-Identifier: MIT
//
// Apple's device through metal-cpp. Autoreleased objects are in pools of this file, because a
// host's thread may not have one.
#include <Foundation/Foundation.hpp>
#include <Metal/Metal.hpp>
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

class Queue final : public MetalQueue {
 public:
  explicit Queue(NS::SharedPtr<MTL::CommandQueue> queue) noexcept : queue_(std::move(queue)) {}
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  ~Queue() override {
    // Metal requires that every encoder is ended, also one whose work is dropped.
    end_encoding();
  }

  Status set_function(const MetalFunction& function) override {
    if (!encoder_) {
      TENON_RETURN_IF_ERROR(open_command_buffer());
      const Pool pool = make_pool();
      encoder_ = NS::RetainPtr(open_->computeCommandEncoder());
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
    MTL::BlitCommandEncoder* const encoder = open_->blitCommandEncoder();
    if (!encoder) return error(Error::OutOfResources, "Metal gives no blit encoder");
    encoder->copyFromBuffer(static_cast<const Buffer&>(from).get(), from_offset,
                            static_cast<const Buffer&>(to).get(), to_offset, nbytes);
    encoder->endEncoding();
    return ok();
  }
  Status commit() override {
    end_encoding();
    if (!open_) return ok();
    open_->commit();
    committed_.push_back(std::exchange(open_, {}));
    return ok();
  }
  Status wait() override {
    TENON_RETURN_IF_ERROR(commit());
    const Pool pool = make_pool();
    Status status = ok();
    for (const auto& each : committed_) {
      each->waitUntilCompleted();
      if (status.ok() && each->status() == MTL::CommandBufferStatusError) {
        status = error(Error::Internal, "the Metal device failed: ", text_of(each->error()));
      }
    }
    committed_.clear();
    return status;
  }

 private:
  Status open_command_buffer() {
    if (open_) return ok();
    const Pool pool = make_pool();
    open_ = NS::RetainPtr(queue_->commandBuffer());
    return open_ ? ok() : error(Error::OutOfResources, "Metal gives no command buffer");
  }
  void end_encoding() {
    if (encoder_) encoder_->endEncoding();
    encoder_ = {};
  }

  NS::SharedPtr<MTL::CommandQueue> queue_;
  NS::SharedPtr<MTL::CommandBuffer> open_;
  NS::SharedPtr<MTL::ComputeCommandEncoder> encoder_;
  std::vector<NS::SharedPtr<MTL::CommandBuffer>> committed_;
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
