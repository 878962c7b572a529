// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

/// When a kernel ran, in nanoseconds of the driver, and the queue that it was enqueued on.
struct WatchedKernel {
  const void* queue;
  std::uint64_t start;
  std::uint64_t end;
};

/// The result of `opencl_watch` of the library watch_opencl.cpp, which a plugin loads in place of
/// libOpenCL.so.1: it counts the calls, passes them on, and can make them fail. Names are OpenCL's
/// functions, also of its extension for command buffers. Threads: any.
struct OpenClWatch {
  /// Calls so far; -1 for another name.
  long (*count)(const char* name);
  /// Calls fail with `code` from now on, 0: they work again. A failing call does nothing.
  void (*fail)(const char* name, int code);
  /// The functions of extensions are not found, or are again.
  void (*hide_extensions)(bool hidden);
  /// Sources of programs are not OpenCL C.
  void (*break_sources)(bool broken);
  /// Queues that are made from now on measure when their kernels run.
  void (*measure)(bool measured);
  /// Copies up to `most` of the measured kernels, which must be done, and forgets all; their
  /// number.
  std::size_t (*take_kernels)(WatchedKernel* to, std::size_t most);
  /// A function of the watched library.
  void* (*find)(const char* name);
};

inline constexpr const char* opencl_watch_symbol = "opencl_watch";
