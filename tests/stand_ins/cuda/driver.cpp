// SPDX-License-Identifier: MIT
//
// The driver's functions that CudaBackend and its models call: initialisation, contexts, streams,
// events and graphs. Memory is in memory.cpp, modules and launches in modules.cpp. Names and
// parameters are cuda.h's.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include "state.hpp"

using namespace tenon::stand_in_cuda;

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr std::pair<Result, std::pair<const char*, const char*>> error_texts[] = {
    {success, {"CUDA_SUCCESS", "no error"}},
    {invalid_value, {"CUDA_ERROR_INVALID_VALUE", "invalid argument"}},
    {out_of_memory, {"CUDA_ERROR_OUT_OF_MEMORY", "out of memory"}},
    {no_device, {"CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"}},
    {invalid_device, {"CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"}},
    {invalid_context, {"CUDA_ERROR_INVALID_CONTEXT", "invalid device context"}},
    {invalid_handle, {"CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"}},
    {not_found, {"CUDA_ERROR_NOT_FOUND", "named symbol not found"}},
    {not_ready, {"CUDA_ERROR_NOT_READY", "device not ready"}},
    {209, {"CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution"}},
    {218, {"CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"}},
    {222, {"CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX has an unsupported version"}},
    {214, {"CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"}},
    {700, {"CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"}},
    {719, {"CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"}},
    {misaligned_address, {"CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"}},
    {not_supported, {"CUDA_ERROR_NOT_SUPPORTED", "operation not supported"}},
    {capture_unsupported,
     {"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"}},
    {capture_invalidated,
     {"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
      "operation failed due to a previous error during capture"}},
    {capture_isolation,
     {"CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "dependency created on uncaptured work"}},
    {capture_implicit,
     {"CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
      "operation would make the legacy stream depend on a capturing blocking stream"}},
    {wrong_thread,
     {"CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
      "attempt to terminate a thread-local capture sequence from another thread"}},
    {captured_event,
     {"CUDA_ERROR_CAPTURED_EVENT",
      "operation not permitted on an event last recorded in a capturing stream"}},
};

constexpr int greatest_priority = -5;  // The least is 0, as of all devices.

Result create_stream(Stream** out, unsigned flags) {
  constexpr unsigned non_blocking = 1;
  auto stream = std::make_unique<Stream>();
  stream->context = context_stack().back();
  stream->is_blocking = (flags & non_blocking) == 0;
  *out = stream.get();
  state().streams.emplace(*out, std::move(stream));
  return success;
}

Result find_text(Result code, const char** out, bool name) {
  for (const auto& [known, texts] : error_texts) {
    if (known != code) continue;
    *out = name ? texts.first : texts.second;
    return success;
  }
  *out = nullptr;
  return invalid_value;
}

template <class T>
T* find(std::map<T*, std::unique_ptr<T>>& all, T* handle, const char* call) {
  if (all.contains(handle)) return handle;
  misuse(invalid_handle, std::string(call) + ": a handle that does not exist");
  return nullptr;
}

std::shared_ptr<Event> find_event(Event* handle, const char* call) {
  const auto found = state().events.find(handle);
  if (found != state().events.end()) return found->second;
  misuse(invalid_handle, std::string(call) + ": an event that does not exist");
  return nullptr;
}

/// A call that waits must not be captured.
Result refuse_capture(Stream& stream) {
  stream.is_invalidated = true;
  return capture_unsupported;
}

}  // namespace

EXPORT Result cuGetErrorName(Result code, const char** out) { return find_text(code, out, true); }
EXPORT Result cuGetErrorString(Result code, const char** out) {
  return find_text(code, out, false);
}

EXPORT Result cuInit(unsigned) {
  const CallScope call("cuInit", CallScope::needs_nothing);
  if (call.code != success) return call.code;
  if (state().num_devices == 0) return no_device;
  state().is_initialised = true;
  return success;
}
EXPORT Result cuDriverGetVersion(int* out) {
  const CallScope call("cuDriverGetVersion", CallScope::needs_nothing);
  *out = state().driver_version;
  return call.code;
}
EXPORT Result cuDeviceGetCount(int* out) {
  const CallScope call("cuDeviceGetCount", CallScope::needs_nothing);
  if (call.code == success) *out = state().num_devices;
  return call.code;
}
EXPORT Result cuDeviceGet(int* out, int index) {
  const CallScope call("cuDeviceGet", CallScope::needs_nothing);
  if (call.code != success) return call.code;
  if (index < 0 || index >= state().num_devices) return invalid_value;
  *out = index;
  return success;
}
EXPORT Result cuDeviceGetName(char* out, int size, int) {
  const CallScope call("cuDeviceGetName", CallScope::needs_nothing);
  if (call.code == success) std::strncpy(out, "stand-in for tests", static_cast<std::size_t>(size));
  return call.code;
}
EXPORT Result cuDeviceGetUuid_v2(unsigned char* out, int device) {
  const CallScope call("cuDeviceGetUuid", CallScope::needs_nothing);
  if (call.code != success) return call.code;
  std::memset(out, 0xab, 16);
  out[15] = static_cast<unsigned char>(device);
  return success;
}
EXPORT Result cuDeviceTotalMem_v2(std::size_t* out, int) {
  const CallScope call("cuDeviceTotalMem", CallScope::needs_nothing);
  if (call.code == success) *out = std::size_t{1} << 32;
  return call.code;
}
EXPORT Result cuDeviceGetAttribute(int* out, int attribute, int device) {
  const CallScope call("cuDeviceGetAttribute", CallScope::needs_nothing);
  if (call.code != success) return call.code;
  if (device < 0 || device >= state().num_devices) {
    return misuse(invalid_device, "cuDeviceGetAttribute: a device that does not exist");
  }
  if (!out || attribute <= 0) {
    return misuse(invalid_value, "cuDeviceGetAttribute: no place or no attribute");
  }
  constexpr int major = 75;
  constexpr int minor = 76;
  constexpr int memory_pools_supported = 115;
  constexpr int shared_memory_of_block = 97;
  // Of an H100.
  constexpr int multiprocessors = 16, num_multiprocessors = 132;
  constexpr int shared_memory_of_multiprocessor = 81, shared_bytes_of_multiprocessor = 233472;
  const int capability = state().capability_of(device);
  *out = attribute == major                             ? capability / 10
         : attribute == minor                           ? capability % 10
         : attribute == memory_pools_supported          ? state().has_memory_pools
         : attribute == shared_memory_of_block          ? state().shared_bytes_of(device)
         : attribute == multiprocessors                 ? num_multiprocessors
         : attribute == shared_memory_of_multiprocessor ? shared_bytes_of_multiprocessor
                                                        : 0;
  return success;
}

EXPORT Result cuDevicePrimaryCtxRetain(Context** out, int device) {
  const CallScope call("cuDevicePrimaryCtxRetain", CallScope::needs_nothing);
  if (call.code != success) return call.code;
  if (!state().is_initialised) return misuse(invalid_context, "cuInit was not called");
  *out = &state().contexts[device];
  ++(*out)->retained;
  return success;
}
EXPORT Result cuDevicePrimaryCtxRelease_v2(int device) {
  const CallScope call("cuDevicePrimaryCtxRelease", CallScope::gives_back);
  Context& context = state().contexts[device];
  if (context.retained == 0) return misuse(invalid_context, "a context was released too often");
  --context.retained;
  return call.end(success);
}
EXPORT Result cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  const CallScope call("cuDevicePrimaryCtxGetState", CallScope::needs_nothing);
  if (call.code != success) return call.code;
  *flags = 0;
  *active = state().contexts[device].retained > 0 ? 1 : 0;
  return success;
}
EXPORT Result cuCtxPushCurrent_v2(Context* context) {
  const CallScope call("cuCtxPushCurrent", CallScope::needs_nothing);
  if (call.code != success) return call.code;
  if (context->retained == 0) return misuse(invalid_context, "a context that was released");
  context_stack().push_back(context);
  return success;
}
EXPORT Result cuCtxPopCurrent_v2(Context** out) {
  const CallScope call("cuCtxPopCurrent", CallScope::gives_back);
  if (context_stack().empty()) return misuse(invalid_context, "no context to pop");
  *out = context_stack().back();
  context_stack().pop_back();
  return call.end(success);
}
EXPORT Result cuCtxGetCurrent(Context** out) {
  const CallScope call("cuCtxGetCurrent", CallScope::needs_nothing);
  *out = context_stack().empty() ? nullptr : context_stack().back();
  return call.code;
}
EXPORT Result cuCtxSetCurrent(Context* context) {
  const CallScope call("cuCtxSetCurrent", CallScope::needs_nothing);
  if (call.code != success) return call.code;
  if (context_stack().empty()) context_stack().emplace_back();
  context_stack().back() = context;
  return success;
}
EXPORT Result cuCtxGetDevice(int* out) {
  const CallScope call("cuCtxGetDevice", CallScope::needs_context);
  if (call.code == success) *out = context_stack().back()->device;
  return call.code;
}
EXPORT Result cuCtxSynchronize() {
  const CallScope call("cuCtxSynchronize", CallScope::needs_context);
  if (call.code != success) return call.code;
  const Result refused = refuse_during_capture(*context_stack().back(), false);
  if (refused != success) return refused;
  run_everything();
  shrink_pools();
  return success;
}

EXPORT Result cuStreamCreate(Stream** out, unsigned flags) {
  const CallScope call("cuStreamCreate", CallScope::needs_context);
  if (call.code != success) return call.code;
  return create_stream(out, flags);
}
EXPORT Result cuStreamCreateWithPriority(Stream** out, unsigned flags, int priority) {
  // A number outside of the range counts as the nearest one inside.
  const int nearest = std::clamp(priority, greatest_priority, 0);
  const CallScope call("cuStreamCreateWithPriority", CallScope::needs_context, nullptr,
                       static_cast<std::uint64_t>(-nearest));
  if (call.code != success) return call.code;
  return create_stream(out, flags);
}
EXPORT Result cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  const CallScope call("cuCtxGetStreamPriorityRange", CallScope::needs_context);
  if (call.code != success) return call.code;
  if (least) *least = 0;
  if (greatest) *greatest = greatest_priority;
  return success;
}
EXPORT Result cuStreamDestroy_v2(Stream* stream) {
  const CallScope call("cuStreamDestroy", CallScope::gives_back, stream);
  if (!find(state().streams, stream, "cuStreamDestroy")) return invalid_handle;
  run_all(*stream);
  state().streams.erase(stream);
  return call.end(success);
}
EXPORT Result cuStreamSynchronize(Stream* stream) {
  const CallScope call("cuStreamSynchronize", CallScope::needs_context, stream);
  Stream* found =
      call.code == invalid_context ? nullptr : find_stream(stream, "cuStreamSynchronize");
  if (!found) return call.code != success ? call.code : invalid_handle;
  if (found->is_capturing) return refuse_capture(*found);
  if (found->is_legacy) {
    const Result refused = refuse_during_capture(*found->context, true);
    if (refused != success) return refused;
    for (auto& [handle, other] : state().streams) {
      if (other->is_blocking && other->context == found->context) run_all(*other);
    }
  }
  run_all(*found);  // Also when it fails, because failed work is complete.
  shrink_pools();
  return call.code;
}
EXPORT Result cuStreamWaitEvent(Stream* stream, Event* event, unsigned) {
  const CallScope call("cuStreamWaitEvent", CallScope::needs_context, stream);
  if (call.code != success) return call.code;
  const auto found = find_event(event, "cuStreamWaitEvent");
  Stream* const on = find_stream(stream, "cuStreamWaitEvent");
  if (!found || !on) return invalid_handle;
  if (on->is_capturing || found->captured_by) {
    if (on == found->captured_by) return success;
    on->is_invalidated = on->is_capturing;
    return capture_isolation;
  }
  return enqueue(stream, "cuStreamWaitEvent", [] {}, {found->recorded});
}
EXPORT Result cuStreamIsCapturing(Stream* stream, int* out) {
  const CallScope call("cuStreamIsCapturing", CallScope::needs_context, stream);
  if (call.code != success) return call.code;
  const Stream* const found = find_stream(stream, "cuStreamIsCapturing");
  if (!found) return invalid_handle;
  // A legacy stream that a captured one waits for has no answer, which invalidates nothing.
  for (const auto& [handle, other] : state().streams) {
    if (found->is_legacy && other->is_capturing && other->is_blocking &&
        other->context == found->context) {
      return capture_implicit;
    }
  }
  *out = !found->is_capturing ? 0 : found->is_invalidated ? 2 : 1;
  return success;
}
EXPORT Result cuThreadExchangeStreamCaptureMode(int* mode) {
  const CallScope call("cuThreadExchangeStreamCaptureMode", CallScope::needs_nothing);
  if (call.code != success) return call.code;
  if (*mode < global_capture || *mode > relaxed_capture) return invalid_value;
  *mode = std::exchange(thread_capture_mode(), static_cast<CaptureMode>(*mode));
  return success;
}
EXPORT Result cuStreamBeginCapture_v2(Stream* stream, int mode) {
  const CallScope call("cuStreamBeginCapture", CallScope::needs_context, stream);
  if (call.code != success) return call.code;
  Stream* found = find_stream(stream, "cuStreamBeginCapture");
  if (!found || found->is_legacy) return invalid_handle;
  if (found->is_capturing) return misuse(invalid_value, "a stream is captured twice");
  found->is_capturing = true;
  found->is_invalidated = false;
  found->mode = static_cast<CaptureMode>(mode);
  found->capturer = std::this_thread::get_id();
  found->captured = {};
  return success;
}
EXPORT Result cuStreamEndCapture(Stream* stream, Graph** out) {
  const CallScope call("cuStreamEndCapture", CallScope::gives_back, stream);
  *out = nullptr;
  Stream* found = find_stream(stream, "cuStreamEndCapture");
  if (!found) return invalid_handle;
  if (!found->is_capturing) return misuse(invalid_value, "a capture ends that did not begin");
  if (found->mode != relaxed_capture && found->capturer != std::this_thread::get_id()) {
    return wrong_thread;
  }
  found->is_capturing = false;
  if (found->is_invalidated) found->captured = {};
  if (found->is_invalidated) return call.end(capture_invalidated);
  if (call.end(success) != success) return call.end(success);
  auto graph = std::make_unique<Graph>(std::move(found->captured));
  found->captured = {};
  *out = graph.get();
  state().graphs.emplace(*out, std::move(graph));
  return success;
}

EXPORT Result cuGraphInstantiateWithFlags(Graph** out, Graph* graph, unsigned long long) {
  const CallScope call("cuGraphInstantiate", CallScope::needs_context);
  if (call.code != success) return call.code;
  if (!find(state().graphs, graph, "cuGraphInstantiate")) return invalid_handle;
  auto executable = std::make_unique<Graph>(*graph);
  *out = executable.get();
  state().executables.emplace(*out, std::move(executable));
  return success;
}
EXPORT Result cuGraphLaunch(Graph* executable, Stream* stream) {
  const CallScope call("cuGraphLaunch", CallScope::needs_context, stream);
  if (call.code != success) return call.code;
  if (!find(state().executables, executable, "cuGraphLaunch")) return invalid_handle;
  for (const Work& work : executable->work) {
    const Result code = enqueue(stream, "cuGraphLaunch", work);
    if (code != success) return code;
  }
  return success;
}
EXPORT Result cuGraphExecDestroy(Graph* executable) {
  const CallScope call("cuGraphExecDestroy", CallScope::gives_back);
  if (!find(state().executables, executable, "cuGraphExecDestroy")) return invalid_handle;
  state().executables.erase(executable);
  return call.end(success);
}
EXPORT Result cuGraphDestroy(Graph* graph) {
  const CallScope call("cuGraphDestroy", CallScope::gives_back);
  if (!find(state().graphs, graph, "cuGraphDestroy")) return invalid_handle;
  state().graphs.erase(graph);
  return call.end(success);
}

EXPORT Result cuEventCreate(Event** out, unsigned flags) {
  const CallScope call("cuEventCreate", CallScope::needs_context);
  if (call.code != success) return call.code;
  constexpr unsigned without_time = 2;
  auto event = std::make_shared<Event>();
  event->keeps_time = (flags & without_time) == 0;
  *out = event.get();
  state().events.emplace(*out, std::move(event));
  return success;
}

EXPORT Result cuEventDestroy_v2(Event* event) {
  const CallScope call("cuEventDestroy", CallScope::gives_back);
  if (!find_event(event, "cuEventDestroy")) return invalid_handle;
  state().events.erase(event);
  return call.end(success);
}
EXPORT Result cuEventRecord(Event* event, Stream* stream) {
  const CallScope call("cuEventRecord", CallScope::needs_context, stream);
  if (call.code != success) return call.code;
  const auto found = find_event(event, "cuEventRecord");
  Stream* const on = find_stream(stream, "cuEventRecord");
  if (!found || !on) return invalid_handle;
  found->captured_by = on->is_capturing ? on : nullptr;
  if (on->is_capturing) return success;
  found->is_done = false;
  const Result code = enqueue(stream, "cuEventRecord", [found] {
    found->is_done = true;
    found->time = std::chrono::steady_clock::now();
  });
  found->recorded = {on, on->num_enqueued};
  return code;
}
EXPORT Result cuEventQuery(Event* event) {
  const CallScope call("cuEventQuery", CallScope::needs_context);
  if (call.code != success) return call.code;
  const auto found = find_event(event, "cuEventQuery");
  if (!found) return invalid_handle;
  if (found->captured_by) return captured_event;
  return found->is_done ? success : not_ready;
}
EXPORT Result cuEventElapsedTime(float* milliseconds, Event* begin, Event* end) {
  const CallScope call("cuEventElapsedTime", CallScope::needs_context);
  if (call.code != success) return call.code;
  const auto first = find_event(begin, "cuEventElapsedTime");
  const auto last = find_event(end, "cuEventElapsedTime");
  if (!first || !last || !first->keeps_time || !last->keeps_time) return invalid_handle;
  if (!first->is_done || !last->is_done) return not_ready;
  if (!first->time || !last->time) return invalid_handle;
  *milliseconds = std::chrono::duration<float, std::milli>(*last->time - *first->time).count();
  return success;
}
EXPORT Result cuEventSynchronize(Event* event) {
  const CallScope call("cuEventSynchronize", CallScope::needs_context);
  const auto found = find_event(event, "cuEventSynchronize");
  if (!found) return call.code != success ? call.code : invalid_handle;
  if (found->captured_by) return captured_event;
  if (!found->is_done) run_until(*found->recorded.stream, found->recorded.count);
  shrink_pools();
  return call.code;
}
