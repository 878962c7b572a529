// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
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

  /// A stream that waits for the default one, or does not. The caller destroys it.
  [[nodiscard]] tenon::Result<void*> create_stream(bool is_blocking) const;
  void destroy_stream(void* stream) const;

  /// Bytes of the device that no process has. Absent when the driver cannot say.
  [[nodiscard]] std::optional<std::size_t> free_memory() const;

 private:
  Driver() = default;
  template <class... Arguments>
  int call(const char* name, Arguments... arguments) const;
  template <class... Arguments>
  int in_context(const char* name, Arguments... arguments) const;

  void* library_ = nullptr;
  void* context_ = nullptr;
  const void* stand_in_ = nullptr;
};

}  // namespace gpu_programs
