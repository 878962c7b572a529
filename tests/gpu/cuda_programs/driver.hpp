// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "tenon/core/result.hpp"

namespace gpu_programs {

/// The CUDA driver as an application beside the backend uses it, in the primary context of device
/// 0. One thread at a time.
class Driver {
 public:
  /// Loads libcuda.so.1 and retains the context. errors: NotFound without a driver or a device,
  /// NotSupported for a driver that lacks a function.
  static tenon::Result<Driver> open();

  Driver(Driver&& other) noexcept;
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  /// Releases the context.
  ~Driver();

  /// False for the stand-in of the tests (tests/stand_ins/cuda), which runs no kernels.
  [[nodiscard]] bool computes() const noexcept { return !stand_in_; }
  /// Wrong calls that the stand-in found so far; empty for none, and with a real driver.
  [[nodiscard]] std::string misuses() const;

  /// Calls a function that destroys what the driver made.
  struct Destroy {
    const Driver* driver;
    const char* function;

    void operator()(void* object) const;
  };
  /// A stream, an event or a graph. Destroyed before the driver.
  using Owned = std::unique_ptr<void, Destroy>;

  /// A stream that waits for the default one, or does not.
  [[nodiscard]] tenon::Result<Owned> create_stream(bool is_blocking) const;
  /// An event with a time.
  [[nodiscard]] tenon::Result<Owned> create_event() const;
  /// Enqueues it.
  [[nodiscard]] tenon::Status record(void* event, void* stream) const;
  /// Waits for `end`. Seconds of the device's clock between the two.
  [[nodiscard]] tenon::Result<double> seconds_between(void* begin, void* end) const;

  /// Captures what is enqueued on the stream by any thread until `end_capture`, which makes a graph
  /// to be launched of it.
  [[nodiscard]] tenon::Status begin_capture(void* stream) const;
  [[nodiscard]] tenon::Result<Owned> end_capture(void* stream) const;
  [[nodiscard]] tenon::Status launch(void* graph, void* stream) const;

  /// Bytes of the device that no process has. Absent when the driver cannot say.
  [[nodiscard]] std::optional<std::size_t> free_memory() const;

 private:
  Driver() = default;
  template <class... Arguments>
  int call(const char* name, Arguments... arguments) const;
  template <class... Arguments>
  int in_context(const char* name, Arguments... arguments) const;
  /// `call` with an error in place of a number.
  template <class... Arguments>
  [[nodiscard]] tenon::Status run(const char* name, Arguments... arguments) const;

  void* library_ = nullptr;
  void* context_ = nullptr;
  const void* stand_in_ = nullptr;
};

}  // namespace gpu_programs
