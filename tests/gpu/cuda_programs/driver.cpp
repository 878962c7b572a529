// SPDX-License-Identifier: MIT
#include "driver.hpp"

#include <dlfcn.h>

#include <utility>

#include "../../stand_ins/cuda/stand_in.hpp"

namespace gpu_programs {

using tenon::Error;
using tenon::error;

namespace {

constexpr int not_found = -1;  // No result of the driver is negative.
constexpr unsigned non_blocking = 1;

}  // namespace

template <class... Arguments>
int Driver::call(const char* name, Arguments... arguments) const {
  void* const found = ::dlsym(library_, name);
  return found ? reinterpret_cast<int (*)(Arguments...)>(found)(arguments...) : not_found;
}

template <class... Arguments>
int Driver::in_context(const char* name, Arguments... arguments) const {
  if (const int result = call("cuCtxPushCurrent_v2", context_); result != 0) return result;
  const int result = call(name, arguments...);
  void* popped = nullptr;
  static_cast<void>(call("cuCtxPopCurrent_v2", &popped));
  return result;
}

template <class... Arguments>
tenon::Status Driver::run(const char* name, Arguments... arguments) const {
  const int result = in_context(name, arguments...);
  if (result == 0) return tenon::ok();
  return error(Error::Internal, name, " failed with ", result);
}

tenon::Result<Driver> Driver::open() {
  Driver out;
  out.library_ = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!out.library_) return error(Error::NotFound, "no CUDA driver: ", ::dlerror());
  if (void* const find = ::dlsym(out.library_, "tenon_stand_in_cuda")) {
    out.stand_in_ = reinterpret_cast<const tenon::stand_in_cuda::Interface* (*)()>(find)();
  }
  int count = 0;
  if (const int result = out.call("cuInit", 0u); result != 0) {
    return error(Error::NotFound, "cuInit failed with ", result);
  }
  if (out.call("cuDeviceGetCount", &count) != 0 || count == 0) {
    return error(Error::NotFound, "the CUDA driver has no device");
  }
  if (const int result = out.call("cuDevicePrimaryCtxRetain", &out.context_, 0); result != 0) {
    return error(Error::NotSupported, "cuDevicePrimaryCtxRetain failed with ", result);
  }
  return out;
}

Driver::Driver(Driver&& other) noexcept
    : library_(other.library_),
      context_(std::exchange(other.context_, nullptr)),
      stand_in_(other.stand_in_) {}

Driver::~Driver() {
  if (context_) static_cast<void>(call("cuDevicePrimaryCtxRelease_v2", 0));
}

std::string Driver::misuses() const {
  std::string out;
  if (!stand_in_) return out;
  const auto& found = *static_cast<const tenon::stand_in_cuda::Interface*>(stand_in_);
  for (long i = 0; i < found.num_misuses(); ++i) {
    out.append(out.empty() ? "" : "; ").append(found.misuse(i));
  }
  return out;
}

void Driver::Destroy::operator()(void* object) const {
  static_cast<void>(driver->in_context(function, object));
}

tenon::Result<Driver::Owned> Driver::create_stream(bool is_blocking) const {
  void* out = nullptr;
  TENON_RETURN_IF_ERROR(run("cuStreamCreate", &out, is_blocking ? 0u : non_blocking));
  return Owned(out, {this, "cuStreamDestroy_v2"});
}

tenon::Result<Driver::Owned> Driver::create_event() const {
  void* out = nullptr;
  TENON_RETURN_IF_ERROR(run("cuEventCreate", &out, 0u));
  return Owned(out, {this, "cuEventDestroy_v2"});
}

tenon::Status Driver::record(void* event, void* stream) const {
  return run("cuEventRecord", event, stream);
}

tenon::Result<double> Driver::seconds_between(void* begin, void* end) const {
  float milliseconds = 0;
  TENON_RETURN_IF_ERROR(run("cuEventSynchronize", end));
  TENON_RETURN_IF_ERROR(run("cuEventElapsedTime", &milliseconds, begin, end));
  return double{milliseconds} / 1e3;
}

tenon::Status Driver::begin_capture(void* stream) const {
  constexpr int relaxed = 2;
  return run("cuStreamBeginCapture_v2", stream, relaxed);
}

tenon::Result<Driver::Owned> Driver::end_capture(void* stream) const {
  void* graph = nullptr;
  TENON_RETURN_IF_ERROR(run("cuStreamEndCapture", stream, &graph));
  void* executable = nullptr;
  tenon::Status status = run("cuGraphInstantiateWithFlags", &executable, graph, 0ull);
  static_cast<void>(in_context("cuGraphDestroy", graph));
  if (!status.ok()) return status;
  return Owned(executable, {this, "cuGraphExecDestroy"});
}

tenon::Status Driver::launch(void* graph, void* stream) const {
  return run("cuGraphLaunch", graph, stream);
}

std::optional<std::size_t> Driver::free_memory() const {
  std::size_t free = 0, total = 0;
  if (in_context("cuMemGetInfo_v2", &free, &total) != 0) return std::nullopt;
  return free;
}

}  // namespace gpu_programs
