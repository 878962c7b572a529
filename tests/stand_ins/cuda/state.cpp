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

std::byte* resolve(std::uint64_t address, std::size_t nbytes, const char* call) {
  if (const DeviceBlock* block = find_block(address, nbytes)) {
    return block->bytes + (address - block->address);
  }
  if (address >= first_address && address < state().next_address) {
    misuse(invalid_value, std::string(call) + ": " + std::to_string(nbytes) +
                              " bytes at an address of the device that is not allocated");
    return nullptr;
  }
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address));
}

void run_all(Stream& stream) {
  while (!stream.queue.empty()) {
    const Work work = std::move(stream.queue.front());
    stream.queue.pop_front();
    work();
  }
}

void run_everything() {
  for (auto& [device, stream] : state().default_streams) run_all(stream);
  for (auto& [handle, stream] : state().streams) run_all(*stream);
}

Stream* find_stream(Stream* handle, const char* call) {
  if (context_stack().empty()) return nullptr;
  Context* const current = context_stack().back();
  if (!handle) {
    Stream& stream = state().default_streams[current->device];
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

Result enqueue(Stream* stream, const char* call, Work work) {
  Stream* const found = find_stream(stream, call);
  if (!found) return invalid_handle;
  if (found->is_capturing) {
    found->captured.work.push_back(std::move(work));
  } else {
    found->queue.push_back(std::move(work));
  }
  return success;
}

CallScope::CallScope(const char* name, Kind kind, const void* stream, std::uint64_t nbytes)
    : lock_(state().mutex) {
  State& all = state();
  all.calls.push_back(
      {name, stream, nbytes, std::hash<std::thread::id>{}(std::this_thread::get_id())});
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

}  // namespace tenon::stand_in_cuda

namespace {

using namespace tenon::stand_in_cuda;

using Guard = std::lock_guard<std::recursive_mutex>;

Live count_live() {
  const Guard lock(state().mutex);
  const State& all = state();
  Live out{};
  out.blocks = static_cast<long>(all.blocks.size());
  out.host_blocks = static_cast<long>(all.host_blocks.size());
  out.streams = static_cast<long>(all.streams.size());
  out.events = static_cast<long>(all.events.size());
  out.modules = static_cast<long>(all.modules.size());
  out.graphs = static_cast<long>(all.graphs.size());
  out.executables = static_cast<long>(all.executables.size());
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
}

void set_num_devices(int count) {
  const Guard lock(state().mutex);
  state().num_devices = count;
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
      .set_num_devices = &set_num_devices,
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
  };
  return &functions;
}
