// SPDX-License-Identifier: MIT
#include "state.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <thread>
#include <utility>

namespace tenon::stand_in_cuda {

State& state() {
  static State only;
  return only;
}

std::vector<Context*>& context_stack() {
  thread_local std::vector<Context*> stack;
  return stack;
}

Result misuse(Result code, std::string text) {
  state().misuses.push_back(std::move(text));
  return code;
}

DeviceBlock* find_block(std::uint64_t address, std::size_t nbytes) {
  auto& blocks = state().blocks;
  auto after = blocks.upper_bound(address);
  if (after == blocks.begin()) return nullptr;
  DeviceBlock& block = std::prev(after)->second;
  const std::uint64_t offset = address - block.address;
  return offset <= block.nbytes && nbytes <= block.nbytes - offset ? &block : nullptr;
}

const char* problem_of(const DeviceBlock& block, When when) {
  if (when == When::call && block.is_freed) return "memory that was freed";
  if (when == When::turn && !block.is_ready && block.is_of_graph) {
    return "memory of a graph that does not have it at this point";
  }
  if (when == When::turn && !block.is_ready) {
    return "memory of another stream, which has not come to its allocation";
  }
  return nullptr;
}

std::byte* resolve(std::uint64_t address, std::size_t nbytes, const char* call, When when) {
  if (const DeviceBlock* block = find_block(address, nbytes)) {
    if (const char* const problem = problem_of(*block, when)) {
      misuse(invalid_value, std::string(call) + ": " + problem);
      return nullptr;
    }
    return block->bytes + (address - block->address);
  }
  if (address >= first_address && address < state().next_address) {
    misuse(invalid_value, std::string(call) + ": " + std::to_string(nbytes) +
                              " bytes at an address of the device that is not allocated");
    return nullptr;
  }
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address));
}

std::size_t bytes_reserved() {
  std::size_t sum = 0;
  for (const auto& [address, block] : state().blocks) sum += block.nbytes;
  for (const auto& [handle, pool] : state().memory_pools) sum += pool->cached;
  return sum;
}

namespace {

/// Null for a stream that was destroyed.
Stream* existing(Stream* handle) {
  State& all = state();
  if (all.streams.contains(handle)) return handle;
  for (auto& [device, stream] : all.legacy_streams) {
    if (&stream == handle) return handle;
  }
  for (auto& [owner, stream] : all.thread_streams) {
    if (&stream == handle) return handle;
  }
  return nullptr;
}

/// Calls `visit` with the streams of a context that are not the legacy one.
template <class Visit>
void each_stream(const Context& context, Visit visit) {
  for (auto& [handle, stream] : state().streams) {
    if (stream->context == &context) visit(*stream);
  }
  for (auto& [owner, stream] : state().thread_streams) {
    if (stream.context == &context) visit(stream);
  }
}

Stream& legacy_stream(Context& context) {
  Stream& stream = state().legacy_streams[context.device];
  stream.context = &context;
  stream.is_legacy = true;
  return stream;
}

}  // namespace

void run_until(Stream& stream, std::uint64_t count) {
  while (stream.num_done < count && !stream.queue.empty()) {
    const Item item = std::move(stream.queue.front());
    stream.queue.pop_front();
    for (const Need& need : item.needs) {
      if (Stream* const other = existing(need.stream)) run_until(*other, need.count);
    }
    item.work();
    ++stream.num_done;
  }
}

void run_all(Stream& stream) { run_until(stream, stream.num_enqueued); }

void run_everything() {
  for (auto& [device, stream] : state().legacy_streams) run_all(stream);
  for (auto& [owner, stream] : state().thread_streams) run_all(stream);
  for (auto& [handle, stream] : state().streams) run_all(*stream);
}

void shrink_pools() {
  for (auto& [handle, pool] : state().memory_pools) {
    const std::size_t kept = pool->threshold > pool->used ? pool->threshold - pool->used : 0;
    pool->cached = std::min(pool->cached, kept);
  }
}

Result refuse_during_capture(const Context& context, bool only_blocking) {
  Result out = success;
  each_stream(context, [&](Stream& stream) {
    if (!stream.is_capturing || (only_blocking && !stream.is_blocking)) return;
    stream.is_invalidated = true;
    out = only_blocking ? capture_implicit : capture_unsupported;
  });
  return out;
}

CaptureMode& thread_capture_mode() {
  thread_local CaptureMode mode = global_capture;
  return mode;
}

Result refuse_unsafe_call() {
  const CaptureMode mode = thread_capture_mode();
  if (mode == relaxed_capture) return success;
  Result out = success;
  const auto check = [&](Stream& stream) {
    const bool is_own = stream.capturer == std::this_thread::get_id();
    const bool prohibits = is_own ? stream.mode != relaxed_capture
                                  : mode == global_capture && stream.mode == global_capture;
    if (!stream.is_capturing || !prohibits) return;
    stream.is_invalidated = true;
    out = capture_unsupported;
  };
  for (auto& [handle, stream] : state().streams) check(*stream);
  for (auto& [owner, stream] : state().thread_streams) check(stream);
  return out;
}

GraphMemory::~GraphMemory() {
  for (const std::uint64_t address : addresses) erase_block(address);
}

Stream* find_stream(Stream* handle, const char* call) {
  // A call that frees something in the order of a stream needs no context.
  if (context_stack().empty()) return state().streams.contains(handle) ? handle : nullptr;
  Context* const current = context_stack().back();
  const auto number = reinterpret_cast<std::uintptr_t>(handle);
  if (number <= 1) return &legacy_stream(*current);
  if (number == 2) {
    Stream& stream = state().thread_streams[{std::this_thread::get_id(), current->device}];
    stream.context = current;
    return &stream;
  }
  const auto found = state().streams.find(handle);
  if (found == state().streams.end()) {
    misuse(invalid_handle, std::string(call) + ": a stream that does not exist");
    return nullptr;
  }
  if (handle->context != current) {
    misuse(invalid_handle, std::string(call) + ": a stream in the context of another device");
    return nullptr;
  }
  return handle;
}

Result enqueue(Stream* stream, const char* call, Work work, std::vector<Need> needs) {
  Stream* const found = find_stream(stream, call);
  if (!found) return invalid_handle;
  if (found->is_capturing) {
    found->captured.work.push_back(std::move(work));
    return success;
  }
  if (found->is_legacy) {
    const Result refused = refuse_during_capture(*found->context, true);
    if (refused != success) return refused;
    each_stream(*found->context, [&](Stream& other) {
      if (other.is_blocking) needs.push_back({&other, other.num_enqueued});
    });
  } else if (found->is_blocking) {
    Stream& legacy = legacy_stream(state().contexts[found->context->device]);
    needs.push_back({&legacy, legacy.num_enqueued});
  }
  found->queue.push_back({std::move(work), std::move(needs)});
  ++found->num_enqueued;
  return success;
}

CallScope::CallScope(const char* name, Kind kind, const void* stream, std::uint64_t nbytes,
                     const void* host)
    : lock_(state().mutex), name_(name) {
  State& all = state();
  const bool is_pinned = std::ranges::any_of(all.host_blocks, [&](const auto& block) {
    const auto* const first = static_cast<const std::byte*>(block.first);
    return std::greater_equal{}(host, block.first) && std::less{}(host, first + block.second);
  });
  all.calls.push_back(
      {name, stream, nbytes, std::hash<std::thread::id>{}(std::this_thread::get_id()), is_pinned});
  if (all.fail_index >= 0 && all.fail_index-- == 0) {
    all.failed_call = name;
    on_demand = all.fail_code;
    if (kind != gives_back) code = on_demand;
    return;
  }
  if (kind == needs_context && context_stack().empty()) {
    code = misuse(invalid_context, std::string(name) + ": no context is current");
  }
}

CallScope::~CallScope() {
  if (state().hooked != name_) return;
  state().hooked.clear();
  const std::function<void()> hook = std::exchange(state().hook, nullptr);
  lock_.unlock();
  hook();
}

}  // namespace tenon::stand_in_cuda

namespace {

using namespace tenon::stand_in_cuda;

using Guard = std::lock_guard<std::recursive_mutex>;

Live count_live() {
  const Guard lock(state().mutex);
  const State& all = state();
  Live out{};
  out.blocks = static_cast<long>(all.blocks.size());
  out.host_blocks = static_cast<long>(all.host_blocks.size() + all.external_objects.size());
  out.streams = static_cast<long>(all.streams.size());
  out.events = static_cast<long>(all.events.size());
  out.modules = static_cast<long>(all.modules.size());
  out.graphs = static_cast<long>(all.graphs.size());
  out.executables = static_cast<long>(all.executables.size());
  out.memory_pools = static_cast<long>(all.memory_pools.size());
  out.reserved = bytes_reserved();
  for (const Context& context : all.contexts) out.contexts += context.retained;
  for (const auto& [address, block] : all.blocks) out.nbytes += block.nbytes;
  out.context_depth = static_cast<long>(context_stack().size());
  return out;
}

void reset() {
  const Guard lock(state().mutex);
  state().calls.clear();
  state().given.clear();
  state().misuses.clear();
  state().fail_index = -1;
  state().failed_call = nullptr;
  state().hooked.clear();
  state().hook = nullptr;
  thread_capture_mode() = global_capture;
}

void set_machine(const Machine& machine) {
  const Guard lock(state().mutex);
  state().num_devices = machine.num_devices;
  state().memory_limit = machine.memory_limit;
  state().driver_version = machine.driver_version;
  state().capability = machine.capability;
  state().other_capability =
      machine.other_capability == 0 ? machine.capability : machine.other_capability;
  state().has_memory_pools = machine.has_memory_pools;
  state().shared_bytes = machine.shared_bytes;
}

void after_call(const char* name, void (*hook)(void* context), void* context) {
  const Guard lock(state().mutex);
  state().hooked = name;
  state().hook = [hook, context] { hook(context); };
}

void fail_at(long index, int code) {
  const Guard lock(state().mutex);
  state().fail_index = index;
  state().fail_code = code;
  state().failed_call = nullptr;
}

Block block(long index) {
  const Guard lock(state().mutex);
  const auto& found = std::next(state().blocks.begin(), index)->second;
  return {found.address, found.nbytes};
}

bool was_given(long index, std::uint64_t address) {
  const Guard lock(state().mutex);
  const auto found = state().given.find(index);
  return found != state().given.end() &&
         std::ranges::find(found->second, address) != found->second.end();
}

long num_pending(const void* stream) {
  const Guard lock(state().mutex);
  for (const auto& [handle, found] : state().streams) {
    if (handle == stream) return static_cast<long>(found->queue.size());
  }
  return 0;
}

bool peek(std::uint64_t address, void* out, std::size_t nbytes) {
  const Guard lock(state().mutex);
  const DeviceBlock* block = find_block(address, nbytes);
  if (!block) return false;
  const std::byte* from = block->bytes + (address - block->address);
  for (std::size_t i = 0; i < nbytes; ++i) static_cast<std::byte*>(out)[i] = from[i];
  return true;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const Interface* tenon_stand_in_cuda() {
  static constexpr Interface functions = {
      .reset = &reset,
      .set_machine = &set_machine,
      .fail_at = &fail_at,
      .failed_call = [] { return state().failed_call; },
      .num_calls = [] { return static_cast<long>(state().calls.size()); },
      .call = [](long index) { return state().calls.at(static_cast<std::size_t>(index)); },
      .num_misuses = [] { return static_cast<long>(state().misuses.size()); },
      .misuse =
          [](long index) { return state().misuses.at(static_cast<std::size_t>(index)).c_str(); },
      .live = &count_live,
      .peek = &peek,
      .block = &block,
      .was_given = &was_given,
      .num_pending = &num_pending,
      .after_call = &after_call,
  };
  return &functions;
}
