// SPDX-License-Identifier: MIT
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "cuda_host.hpp"

/// An application beside the backend: its own calls of the driver, its streams, and a method with
/// its memory.
namespace tenon::test {

/// The driver as an application uses it, in the context of a device.
class AppDriver {
 public:
  explicit AppDriver(int device = 0)
      : library_(::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)), device_(device) {
    REQUIRE(call("cuInit", 0u) == 0);
    REQUIRE(call("cuDevicePrimaryCtxRetain", &context_, device) == 0);
  }
  AppDriver(const AppDriver&) = delete;
  AppDriver& operator=(const AppDriver&) = delete;
  ~AppDriver() { static_cast<void>(call("cuDevicePrimaryCtxRelease_v2", device_)); }

  /// Whether anything uses the context of a device.
  [[nodiscard]] bool is_open(int device) const {
    unsigned flags = 0;
    int active = 0;
    REQUIRE(call("cuDevicePrimaryCtxGetState", device, &flags, &active) == 0);
    return active != 0;
  }

  /// Makes the context current, and what was before.
  void enter() const { REQUIRE(call("cuCtxPushCurrent_v2", context_) == 0); }
  void leave() const {
    void* popped = nullptr;
    static_cast<void>(call("cuCtxPopCurrent_v2", &popped));
  }

  /// Calls a function with the context current.
  template <class... Arguments>
  int in_context(const char* name, Arguments... arguments) const {
    enter();
    const int result = call(name, arguments...);
    leave();
    return result;
  }

  /// Enqueues a copy between blocks on the device.
  void copy_on(void* stream, std::span<std::byte> to, std::span<const std::byte> from) const {
    const auto address = [](const std::byte* bytes) {
      return static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(bytes));
    };
    REQUIRE(in_context("cuMemcpyDtoDAsync_v2", address(to.data()), address(from.data()), to.size(),
                       stream) == 0);
  }

 private:
  template <class... Arguments>
  int call(const char* name, Arguments... arguments) const {
    return reinterpret_cast<int (*)(Arguments...)>(::dlsym(library_, name))(arguments...);
  }

  void* library_;
  int device_;
  void* context_ = nullptr;
};

/// A stream of the application that does not wait for the default one.
class AppStream {
 public:
  AppStream() { REQUIRE(driver_.in_context("cuStreamCreate", &stream_, 1u) == 0); }
  AppStream(const AppStream&) = delete;
  AppStream& operator=(const AppStream&) = delete;
  ~AppStream() { static_cast<void>(driver_.in_context("cuStreamDestroy_v2", stream_)); }
  [[nodiscard]] void* get() const noexcept { return stream_; }

 private:
  AppDriver driver_;
  void* stream_ = nullptr;
};

/// A method with all its tensors on the device, in blocks of the application.
struct Resident {
  explicit Resident(CudaHost& host, bool host_input = false)
      : x(host.backend(), 1), weight(host.backend(), 0), state(host.backend(), 0) {
    auto loaded = host.load({.input_on_device = !host_input, .outputs_on_device = true});
    INFO(loaded.text());
    REQUIRE(loaded.ok());
    method = *std::move(loaded);
    if (!host_input) REQUIRE(method->set_input(0, x.input(size)).ok());
    REQUIRE(method->set_output(0, weight.bytes(), AppBlock::device).ok());
    REQUIRE(method->set_output(1, state.bytes(), AppBlock::device).ok());
  }
  void execute() const {
    const Status status = method->execute();
    INFO(status.text() << misuses());
    REQUIRE(status.ok());
  }

  static constexpr std::int64_t size = 16;
  AppBlock x;
  AppBlock weight;
  AppBlock state;
  std::unique_ptr<host::Method> method;
};

/// A method like that, on a stream of the application.
struct OnStream {
  explicit OnStream(bool host_input = false) : model(host, host_input) {
    REQUIRE(model.method->set_stream("CudaBackend", stream.get()).ok());
  }

  CudaHost host;
  AppStream stream;
  Resident model;
};

}  // namespace tenon::test
