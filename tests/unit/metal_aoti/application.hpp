// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "command_queue.hpp"
#include "stand_in_device.hpp"
#include "sum_model.hpp"
#include "tenon/abi/extensions/events.h"
#include "tenon/host/layers/devices/device_memory.hpp"

/// An application beside the backend: its queue, its events, and its memory on the device.
namespace metal_test {

using metal_stand_in::laziness;

/// While this lives, the device does nothing until the CPU waits.
struct LazyDevice {
  LazyDevice() { laziness().set(true); }
  LazyDevice(const LazyDevice&) = delete;
  LazyDevice& operator=(const LazyDevice&) = delete;
  ~LazyDevice() { laziness().wake(); }
};

/// How often the CPU waited since this was made.
class Waits {
 public:
  [[nodiscard]] int count() const { return metal_stand_in::control().num_waits - before_; }

 private:
  int before_ = metal_stand_in::control().num_waits;
};

/// The application's MTLCommandQueue.
class AppQueue {
 public:
  [[nodiscard]] void* handle() const { return queue_.get(); }
  [[nodiscard]] NativeStream stream() const { return {TENON_KIND_METAL_COMMAND_QUEUE, handle()}; }
  /// Submits a copy of one number.
  void copy(std::byte* to, const std::byte* from) const {
    submit([to, from] {
      std::memcpy(to, from, sizeof(float));
      return ok();
    });
  }
  template <class Body>
  std::shared_ptr<metal_stand_in::CommandBuffer> submit(Body body) const {
    auto buffer = std::make_shared<metal_stand_in::CommandBuffer>();
    buffer->add([body](metal_stand_in::GridRunner&) { return body(); });
    queue_->commit(buffer);
    return buffer;
  }

 private:
  std::shared_ptr<metal_stand_in::CommandQueue> queue_ =
      std::make_shared<metal_stand_in::CommandQueue>();
};

inline constexpr tenon_dl_device metal_device{TENON_DL_METAL, 0};

/// Memory on the device for one argument of a SumModel, all of whose elements are `value`.
class Block {
 public:
  Block(SumModel& model, float value)
      : memory_(*host::DeviceMemory::of(model.backend(), metal_device)) {
    auto made = memory_.allocate(SumModel::nbytes, 256);
    REQUIRE(made.ok());
    data_ = static_cast<std::byte*>(*made);
    fill(value);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() { memory_.free(data_); }

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] const host::DeviceMemory& memory() const { return memory_; }
  void fill(float value) const {
    const std::vector<float> all(SumModel::size, value);
    REQUIRE(memory_.copy_to_device(data_, all.data(), SumModel::nbytes).ok());
  }
  /// Its last number, as a host reads it.
  [[nodiscard]] float read() const {
    float out = 0;
    const Status status = memory_.copy_to_host(&out, last(), sizeof out);
    INFO(status.text());
    CHECK(status.ok());
    return out;
  }
  /// Its last number as it is now, without waiting for anything.
  [[nodiscard]] float now() const {
    float out = 0;
    std::memcpy(&out, last(), sizeof out);
    return out;
  }

 private:
  [[nodiscard]] const std::byte* last() const { return data_ + SumModel::nbytes - sizeof(float); }

  host::DeviceMemory memory_;
  std::byte* data_ = nullptr;
};

/// A SumModel whose arguments are on the device. No program can name a device of Metal, so its
/// tensors are changed here, as a host with tensors of its own makes them.
struct ResidentSum : SumModel {
  explicit ResidentSum(float value, bool on_device = true) : x(*this, value), y(*this, 0) {
    load();
    put_input(value, on_device);
    put(*method->output(0).as.tensor, y);
  }
  ResidentSum(const ResidentSum&) = delete;
  ResidentSum& operator=(const ResidentSum&) = delete;
  ~ResidentSum() { method.reset(); }  // Before its blocks.
  /// The input, on the device or in the heap.
  void put_input(float value, bool on_device) {
    set_input(heap.data(), value);
    if (on_device) put(*method->input(0).as.tensor, x);
  }
  static void put(tenon_tensor& tensor, const Block& block) {
    tensor.dl.device = metal_device;
    tensor.dl.data = block.data();
  }
  void execute() const {
    const Status status = method->execute();
    INFO(status.text());
    REQUIRE(status.ok());
  }

  std::vector<std::byte> heap = std::vector<std::byte>(nbytes);
  Block x;
  Block y;
};

}  // namespace metal_test
