// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>

/// What the stand-ins for libraries compiled by AOTInductor have in common. A stand-in defines
/// `Container` and its other functions. It has one input.

using Tensor = struct TensorObject*;
struct Container;

#define EXPORT extern "C" __attribute__((visibility("default")))

extern "C" {
std::int32_t aoti_torch_dtype_float32();
std::int32_t aoti_torch_device_type_cpu();
std::int32_t aoti_torch_device_type_cuda();
std::int32_t aoti_torch_delete_tensor_object(Tensor);
std::int32_t aoti_torch_new_tensor_handle(Tensor, Tensor*);
std::int32_t aoti_torch_get_data_ptr(Tensor, void**);
std::int32_t aoti_torch_empty_strided(std::int64_t, const std::int64_t*, const std::int64_t*,
                                      std::int32_t, std::int32_t, std::int32_t, Tensor*);
std::int32_t aoti_torch_create_tensor_from_blob_v2(void*, std::int64_t, const std::int64_t*,
                                                   const std::int64_t*, std::int64_t, std::int32_t,
                                                   std::int32_t, std::int32_t, Tensor*,
                                                   std::int32_t, const std::uint8_t*, std::int64_t);
}

namespace {

thread_local std::string last_error;  // Its destructor would keep the library in memory.

void check(std::int32_t failed, const char* what = "a call") {
  if (failed != 0) throw std::runtime_error(std::string(what) + " failed in the model");
}

template <class Body>
std::int32_t guard(Body body) {
  try {
    body();
    return 0;
  } catch (const std::exception& thrown) {
    last_error = thrown.what();
    return 1;
  }
}

struct Release {
  Tensor tensor;
  ~Release() { aoti_torch_delete_tensor_object(tensor); }
};

}  // namespace

/// A pair as `AOTInductorModelContainerUpdateUserManagedConstantBufferPairs` takes it.
struct ConstantPair {
  const char* name;
  Tensor tensor;
};

EXPORT std::int32_t AOTInductorModelContainerGetNumInputs(Container*, std::size_t* out) {
  *out = 1;
  return 0;
}
EXPORT std::int32_t AOTInductorGetLastError(const char** out) {
  *out = last_error.c_str();
  return 0;
}
