// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

/// The tests' interface to the stand-in for the CUDA driver (libcuda.so.1 of this directory). It
/// computes nothing: a launched kernel is only recorded, unless another process computes it
/// (replayer.hpp). Its behaviour:
///
/// - memory of a device is apart from the host's: addresses that callers get are of pages that
///   no code may touch, so that an access of the host ends the process; freed addresses never come
///   back;
/// - streams keep work until a call waits for it, copies to and from the host included, so that a
///   wait that is missing shows as old data. The legacy default stream and blocking streams wait
///   for each other, others for nothing but events;
/// - a block that is allocated in a capture is the graph's: it is there from the turn of its
///   allocation in a launch to the turn of its free node. Nothing else may be freed in a capture;
/// - calls that are potentially unsafe in a capture (cuMemAlloc, cuMemFree, and calls for
///   pinned memory) are refused, and invalidate captures, by the modes of captures and threads;
/// - a call that waits for the device, or uses the legacy default stream, invalidates the captures
///   that the driver's documentation says it does;
/// - blocks are aligned to 256 bytes and no more; a pool's blocks exist from the turn of their
///   allocation to the turn of the call that freed them: any other use is a misuse;
/// - the parameters of a launch are read, where the kernel's own file has their sizes: an address
///   that is not of the device, or not aligned to 16 bytes as Triton's kernels expect, is a misuse,
///   when a kernel is launched and when its turn comes;
/// - memory is imported from the descriptor of a file in memory, of any size and at any offset;
/// - each call is recorded, the Nth one fails on request, and existing objects are counted;
/// - a misuse (memory that does not exist, a handle that was destroyed, a stream in the context of
///   another device) is a failure of the call and kept as a text.
namespace tenon::stand_in_cuda {

struct Call {
  const char* name;
  const void* stream;
  std::uint64_t nbytes;  ///< Of cuStreamCreateWithPriority: the priority, without its sign.
  std::uint64_t thread;
  bool is_pinned;  ///< Of a copy from the host: its source is memory of cuMemHostAlloc.
};

/// What the driver reports, and has.
struct Machine {
  int num_devices = 1;
  std::size_t memory_limit = std::size_t{1} << 32;  ///< Of all devices together, in bytes.
  int driver_version = 13000;
  int capability = 90;
  int other_capability = 0;  ///< Of all devices but the first; 0 for the first's.
  bool has_memory_pools = true;
  int shared_bytes = 0;  ///< Bytes that a block can have; 0 for what devices of the capability
                         ///< have.
};

/// The objects that exist now.
struct Live {
  long blocks;
  long host_blocks;  ///< And objects that were imported.
  long streams;
  long events;
  long modules;
  long graphs;
  long executables;
  long contexts;         ///< Primary contexts that are retained, each as often as it is.
  long context_depth;    ///< Of the calling thread.
  std::uint64_t nbytes;  ///< Of blocks on devices.
  long memory_pools;
  std::uint64_t reserved;  ///< Bytes of blocks, and bytes that pools keep.
};

/// Memory on a device.
struct Block {
  std::uint64_t address;
  std::uint64_t nbytes;
};

/// Result of the function `tenon_stand_in_cuda`, found with dlsym.
struct Interface {
  /// Clears the recorded calls and misuses, and the requested failure and hook.
  void (*reset)();
  void (*set_machine)(const Machine& machine);
  /// Makes call number `index` from now on fail with `code`; -1 for none. A call that frees an
  /// object still does so, as the driver's calls may when they report an earlier failure.
  void (*fail_at)(long index, int code);
  /// Name of the call that failed on demand; null while none has.
  const char* (*failed_call)();
  long (*num_calls)();
  Call (*call)(long index);
  long (*num_misuses)();
  const char* (*misuse)(long index);
  Live (*live)();
  /// Reads memory of a device, past the protection. False outside of its blocks.
  bool (*peek)(std::uint64_t address, void* out, std::size_t nbytes);
  /// Blocks on devices, in the order of their addresses; below `live().blocks`.
  Block (*block)(long index);
  /// True when call number `index` launched a kernel with `address` as an argument.
  bool (*was_given)(long index, std::uint64_t address);
  /// Pieces of work on a stream that was created that are enqueued and not done.
  long (*num_pending)(const void* stream);
  /// Calls `hook` once, at the end of the next call of the driver's function `name`, on the thread
  /// that made it.
  void (*after_call)(const char* name, void (*hook)(void* context), void* context);
};

}  // namespace tenon::stand_in_cuda
