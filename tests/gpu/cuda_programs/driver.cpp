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

tenon::Result<void*> Driver::create_stream(bool is_blocking) const {
  void* out = nullptr;
  const int result = in_context("cuStreamCreate", &out, is_blocking ? 0u : non_blocking);
  if (result != 0) return error(Error::Internal, "cuStreamCreate failed with ", result);
  return out;
}

void Driver::destroy_stream(void* stream) const {
  static_cast<void>(in_context("cuStreamDestroy_v2", stream));
}

std::optional<std::size_t> Driver::free_memory() const {
  std::size_t free = 0, total = 0;
  if (in_context("cuMemGetInfo_v2", &free, &total) != 0) return std::nullopt;
  return free;
}

}  // namespace gpu_programs
