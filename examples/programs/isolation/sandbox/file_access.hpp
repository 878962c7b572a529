// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "tenon/core/result.hpp"

namespace tenon::isolated {

/// Which files a process may open, and how. A path that does not exist counts for nothing.
struct FileAccess {
  /// Files, and directories with all that is below them.
  std::vector<std::string> readable;
  /// Directories whose entries are listed, without what is in them.
  std::vector<std::string> listable;
  std::vector<std::string> writable;
  /// Read, written, and asked by ioctl.
  std::vector<std::string> devices;
  /// Files that may be written and cut, or directories of them, in which none is made.
  std::vector<std::string> overwritable;
  /// Programs, or directories of them, that may be executed.
  std::vector<std::string> programs;
  /// Signals and abstract sockets reach only processes that are restricted alike; all files stay
  /// open when `any_file` is set.
  bool any_file = false;
};

/// Version of Landlock that the running kernel has; 0 when it has none.
[[nodiscard]] int landlock_version() noexcept;
/// The first version that keeps signals to other processes back, by a number or a descriptor.
inline constexpr int landlock_with_signals = 6;

/// Restricts the calling thread, and those that it makes, to `access` for ever, by Landlock.
/// Returns what the kernel's version of Landlock cannot hold, one text each. NotSupported: there is
/// no Landlock.
[[nodiscard]] Result<std::vector<std::string>> restrict_files(const FileAccess& access);

/// Where a dynamic loader finds the libraries of the system, and files that the C library reads.
[[nodiscard]] std::vector<std::string> loader_paths();

/// Dynamic loaders, which the kernel starts for a program.
[[nodiscard]] std::vector<std::string> program_loaders();

/// Paths that describe processors, memory and the process itself, and give random numbers. Not all
/// of /proc/self, which lists the connections of the machine.
[[nodiscard]] std::vector<std::string> processor_paths();

/// Directories of the process itself: its threads and descriptors.
[[nodiscard]] std::vector<std::string> process_directories();

/// Where a driver writes the names of its threads. CUDA's does not start unless it can
/// (CUDA_ERROR_OPERATING_SYSTEM of cuInit, version 580).
[[nodiscard]] std::vector<std::string> thread_directories();

/// Paths that drivers of devices read in addition.
[[nodiscard]] std::vector<std::string> driver_paths();

/// Devices of accelerators that this machine has: /dev/dri, /dev/nvidia*, /dev/kfd, /dev/accel.
[[nodiscard]] std::vector<std::string> accelerator_devices();

}  // namespace tenon::isolated
