// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>

#include "harness.hpp"

/// The peer: the runtime of the stock ExecuTorch wheel. No type of ExecuTorch is named here, so
/// that its headers, macros and flags stay in one translation unit.
///
/// The id that the benchmark programs name is registered first, so the wheel's linear look-up finds
/// it at once. XNNPACK and the wheel's kernels are registered, too, and the no-op plugin as
/// "NoopAdapted" through our adapter; other names fill the registry.
namespace tenon::bench::stock {

/// How the bytes of a segment get into memory.
enum class Loader {
  File,    ///< FileDataLoader: one `pread` and one `malloc` for each segment.
  Map,     ///< MmapDataLoader without mlock: one `mmap` for each segment.
  Memory,  ///< BufferDataLoader over bytes that were read before: neither.
};

/// Program::Verification of ExecuTorch.
enum class Verification { Minimal, InternalConsistency };

/// Which registered name is looked up.
enum class Name { First, Last, Missing };

/// False when the benchmark was built without the wheel; every other function throws then.
[[nodiscard]] bool present();

/// Keeps what this thread runs meanwhile, on either side, from using the wheel's pool of threads.
/// A method remembers what it was loaded with.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  bool before_;
};

/// Runs "forward", loaded once and with its inputs set.
[[nodiscard]] Work execute(const std::string& program);

/// Loads "forward" of a program that is open already, and destroys it.
[[nodiscard]] Work load(const std::string& program, Loader loader);

/// Opens a program through MmapDataLoader without mlock, and closes it.
[[nodiscard]] Work open(const std::string& program, Verification verification);

/// Looks a backend up with the registry full.
[[nodiscard]] Work look_up(Name name);

/// Backends that the registry holds when it is full.
[[nodiscard]] std::size_t registry_size();

/// Registers the backends of a plugin in ExecuTorch through our adapter, for good.
void register_adapted(const std::string& plugin);

}  // namespace tenon::bench::stock
