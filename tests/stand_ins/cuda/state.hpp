// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "kernel_parameters.hpp"
#include "stand_in.hpp"

namespace tenon::stand_in_cuda {

using Result = int;
inline constexpr Result success = 0;
inline constexpr Result invalid_value = 1;
inline constexpr Result out_of_memory = 2;
inline constexpr Result no_device = 100;
inline constexpr Result invalid_context = 201;
inline constexpr Result invalid_handle = 400;
inline constexpr Result not_found = 500;
inline constexpr Result not_ready = 600;
inline constexpr Result capture_unsupported = 900;
inline constexpr Result capture_invalidated = 901;

/// Addresses of devices begin here, where neither the system nor a sanitizer puts anything. The
/// thread sanitizer reserves most of the others.
#if defined(__SANITIZE_THREAD__)
#define TENON_STAND_IN_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TENON_STAND_IN_TSAN 1
#endif
#endif
#if defined(TENON_STAND_IN_TSAN)
inline constexpr std::uint64_t first_address = 0x4000000000;
#else
inline constexpr std::uint64_t first_address = 0x200000000000;
#endif

struct Context {
  int device;
  long retained = 0;
};

/// Memory of a device: `address` is the callers' view, `bytes` the stand-in's own view of it.
struct DeviceBlock {
  std::uint64_t address;
  std::size_t nbytes;
  std::size_t mapped;
  std::byte* bytes;
  int device;
};

using Work = std::function<void()>;

struct Graph {
  std::vector<Work> work;
};

struct Stream {
  const Context* context = nullptr;
  std::deque<Work> queue;
  bool is_capturing = false;
  bool is_invalidated = false;
  Graph captured;
};

struct Event {
  Stream* stream = nullptr;
  bool is_done = true;
  bool exists = true;  ///< Work may refer to an event that was destroyed since.
};

struct Function {
  std::string name;
  std::vector<std::uint32_t> parameter_sizes;
};

struct Module {
  KernelParameters kernels;
  std::map<std::string, std::unique_ptr<Function>> functions;
};

/// The whole state, protected by one lock.
struct State {
  std::recursive_mutex mutex;
  int num_devices = 1;
  bool is_initialised = false;
  Context contexts[8] = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}};
  std::map<std::uint64_t, DeviceBlock> blocks;  ///< By address.
  std::map<const void*, std::size_t> host_blocks;
  std::map<Stream*, std::unique_ptr<Stream>> streams;
  std::map<int, Stream> default_streams;  ///< One for each device.
  std::map<Event*, std::shared_ptr<Event>> events;
  std::map<Module*, std::unique_ptr<Module>> modules;
  std::map<Graph*, std::unique_ptr<Graph>> graphs;
  std::map<Graph*, std::unique_ptr<Graph>> executables;
  std::uint64_t next_address = first_address;

  std::vector<Call> calls;
  std::map<long, std::vector<std::uint64_t>>
      given;  ///< Addresses of blocks, by number of a launch.
  std::deque<std::string> misuses;
  long fail_index = -1;
  Result fail_code = success;
  const char* failed_call = nullptr;
};

State& state();

/// Contexts of this thread, the current one last.
std::vector<Context*>& context_stack();

Result misuse(Result code, std::string text);

/// The block that holds all of `nbytes` bytes at `address`, or null.
DeviceBlock* find_block(std::uint64_t address, std::size_t nbytes);

/// The stand-in's own view of memory of a device or of the host at `address`; null, with a misuse,
/// for freed memory of a device or bytes beyond a block.
std::byte* resolve(std::uint64_t address, std::size_t nbytes, const char* call);

/// Runs the remaining work of a stream, or of all streams.
void run_all(Stream& stream);
void run_everything();

/// Enqueues on `stream`, or on the default one of the current context, or adds to its capture.
Result enqueue(Stream* stream, const char* call, Work work);

/// A stream by its handle; null, with a misuse, for an unknown one.
Stream* find_stream(Stream* handle, const char* call);

/// One call of the driver: records it, makes it fail on request, and checks that a context is
/// current where one is needed. `gives_back` is for calls that do their work even when they fail.
class CallScope {
 public:
  enum Kind { needs_context, needs_nothing, gives_back };
  CallScope(const char* name, Kind kind, const void* stream = nullptr, std::uint64_t nbytes = 0);

  /// Success, or the reason why the call must return at once.
  Result code = success;
  /// The final status of a call that frees something.
  [[nodiscard]] Result end(Result result) const noexcept {
    return on_demand != success ? on_demand : result;
  }

 private:
  std::unique_lock<std::recursive_mutex> lock_;
  Result on_demand = success;
};

}  // namespace tenon::stand_in_cuda
