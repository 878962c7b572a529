// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "kernel_parameters.hpp"
#include "stand_in.hpp"

namespace tenon::stand_in_cuda {

using Result = int;
inline constexpr Result success = 0;
inline constexpr Result invalid_value = 1;
inline constexpr Result out_of_memory = 2;
inline constexpr Result no_device = 100;
inline constexpr Result invalid_device = 101;
inline constexpr Result invalid_context = 201;
inline constexpr Result invalid_handle = 400;
inline constexpr Result not_found = 500;
inline constexpr Result not_ready = 600;
inline constexpr Result misaligned_address = 716;
inline constexpr Result not_supported = 801;
inline constexpr Result capture_unsupported = 900;
inline constexpr Result capture_invalidated = 901;
inline constexpr Result capture_isolation = 905;
inline constexpr Result capture_implicit = 906;
inline constexpr Result captured_event = 907;
inline constexpr Result wrong_thread = 908;

/// CUstreamCaptureMode.
enum CaptureMode : int { global_capture = 0, thread_local_capture = 1, relaxed_capture = 2 };

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

/// Memory that stream-ordered allocation takes from. Freed bytes are cached, and more of them than
/// the threshold are given back when something waits.
struct MemoryPool {
  int device = 0;
  std::size_t used = 0;
  std::size_t cached = 0;
  std::uint64_t threshold = 0;
};

/// Memory of a device: `address` is the callers' view, `bytes` the stand-in's own view of it.
struct DeviceBlock {
  std::uint64_t address;
  std::size_t nbytes;
  std::size_t mapped;
  std::byte* bytes;
  int device;
  std::size_t before = 256;  ///< Bytes of the mappings in front of it.
  MemoryPool* pool = nullptr;
  bool is_ready = true;   ///< The stream of its allocation has reached that point.
  bool is_freed = false;  ///< Its stream has not come to the call that freed it.
  /// It is a graph's: there from the turn of its allocation in a launch to the turn of its free
  /// node, or of the call that frees it after the launch. Its address is the graph's for life.
  bool is_of_graph = false;
  bool is_freed_in_graph = false;
};

/// Memory that was imported from a descriptor, and how many of its blocks there are.
struct ExternalObject {
  int file;
  std::uint64_t size;
};

using Work = std::function<void()>;

/// The blocks that a graph allocates, which it and its executables have together.
struct GraphMemory {
  GraphMemory() = default;
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;
  ~GraphMemory();
  std::vector<std::uint64_t> addresses;
};

struct Graph {
  std::vector<Work> work;
  std::shared_ptr<GraphMemory> memory{};
};

struct Stream;

/// The first `count` pieces of work of a stream. A stream that was destroyed has done all of its
/// work.
struct Need {
  Stream* stream;
  std::uint64_t count;
};

struct Item {
  Work work;
  std::vector<Need> needs;
};

struct Stream {
  const Context* context = nullptr;
  bool is_blocking = true;  ///< It and the legacy default stream wait for each other.
  bool is_legacy = false;
  std::deque<Item> queue;
  std::uint64_t num_enqueued = 0;
  std::uint64_t num_done = 0;
  bool is_capturing = false;
  bool is_invalidated = false;
  CaptureMode mode = global_capture;  ///< Of its capture.
  std::thread::id capturer{};         ///< The thread that began it.
  Graph captured;
};

struct Event {
  Need recorded{};
  bool is_done = true;
  const Stream* captured_by = nullptr;
  bool keeps_time = true;
  /// When it was done last; none before it was recorded.
  std::optional<std::chrono::steady_clock::time_point> time{};
};

struct Function {
  std::string name;
  KernelLayout layout;
  std::optional<std::uint64_t> max_dynamic_bytes{};  ///< As it was set.
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
  std::map<ExternalObject*, std::unique_ptr<ExternalObject>> external_objects;
  std::map<Stream*, std::unique_ptr<Stream>> streams;
  std::map<int, Stream> legacy_streams;  ///< One for each device.
  std::map<std::pair<std::thread::id, int>, Stream> thread_streams;
  std::map<Event*, std::shared_ptr<Event>> events;
  std::map<Module*, std::unique_ptr<Module>> modules;
  std::map<Graph*, std::unique_ptr<Graph>> graphs;
  std::map<Graph*, std::unique_ptr<Graph>> executables;
  std::map<MemoryPool*, std::unique_ptr<MemoryPool>> memory_pools;
  std::uint64_t next_address = first_address;
  std::size_t memory_limit = std::size_t{1} << 32;  ///< Of all devices together.
  int driver_version = 13000;
  int capability = 90;
  int other_capability = 90;  ///< Of all devices but the first.
  [[nodiscard]] int capability_of(int device) const {
    return device == 0 ? capability : other_capability;
  }
  int shared_bytes = 0;  ///< Of a block; 0 for what devices of the capability have.
  static constexpr std::uint64_t default_shared_bytes = 48 << 10;
  /// The most that a kernel can have (CUDA C++ Programming Guide, "Compute Capabilities").
  [[nodiscard]] int shared_bytes_of(int device) const {
    if (shared_bytes != 0) return shared_bytes;
    const int number = capability_of(device);
    const int kib = number < 80                    ? 64
                    : number == 80 || number == 87 ? 163
                    : number < 90 || number >= 120 ? 99
                                                   : 227;
    return kib << 10;
  }
  bool has_memory_pools = true;
  std::string hooked;  ///< Name of a call; empty for none.
  std::function<void()> hook;

  std::vector<Call> calls;
  std::map<long, std::vector<std::uint64_t>> given;  ///< Addresses, by number of a launch.
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

/// When memory is looked at: by the call that enqueues work, or when the work's turn comes.
enum class When { call, turn };

/// Null for a block that work may use at that time; otherwise the reason why not.
const char* problem_of(const DeviceBlock& block, When when);

/// The stand-in's own view of memory of a device or of the host at `address`; null, with a misuse,
/// for freed memory of a device or bytes beyond a block.
std::byte* resolve(std::uint64_t address, std::size_t nbytes, const char* call, When when);

/// Bytes that all devices have given: blocks, and what pools keep.
std::size_t bytes_reserved();

/// Runs work of a stream, after the work of other streams that it waits for.
void run_until(Stream& stream, std::uint64_t count);
/// Runs the remaining work of a stream, or of all streams.
void run_all(Stream& stream);
void run_everything();
/// Pools give back what is above their threshold, as they do when something waits.
void shrink_pools();

/// A call that is potentially unsafe in a capture (cuda.h, cuThreadExchangeStreamCaptureMode): a
/// call that this thread is prohibited from invalidates the captures that prohibit it. Success when
/// there are none.
Result refuse_unsafe_call();
/// The mode of this thread.
CaptureMode& thread_capture_mode();

/// A call that waits for the whole context, or for the legacy stream with `only_blocking`: it
/// invalidates captures on streams that this includes. Success when there are none.
Result refuse_during_capture(const Context& context, bool only_blocking);

/// Ends the life of a block, when it is the turn of the call that frees it.
void erase_block(std::uint64_t address);

/// Enqueues on `stream`, or on the default one of the current context, or adds to its capture.
/// `needs` are in addition to the stream's own.
Result enqueue(Stream* stream, const char* call, Work work, std::vector<Need> needs = {});

/// A stream by its handle; null, with a misuse, for an unknown one. 0 and 1 are the legacy default
/// stream, 2 is the calling thread's.
Stream* find_stream(Stream* handle, const char* call);

/// One call of the driver: records it, makes it fail on request, and checks that a context is
/// current where one is needed. `gives_back` is for calls that do their work even when they fail.
class CallScope {
 public:
  enum Kind { needs_context, needs_nothing, gives_back };
  CallScope(const char* name, Kind kind, const void* stream = nullptr, std::uint64_t nbytes = 0,
            const void* host = nullptr);
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;
  /// Runs the test's hook of this call, without the lock.
  ~CallScope();

  /// Success, or the reason why the call must return at once.
  Result code = success;
  /// The final status of a call that frees something.
  [[nodiscard]] Result end(Result result) const noexcept {
    return on_demand != success ? on_demand : result;
  }

 private:
  std::unique_lock<std::recursive_mutex> lock_;
  std::string_view name_;
  Result on_demand = success;
};

}  // namespace tenon::stand_in_cuda
