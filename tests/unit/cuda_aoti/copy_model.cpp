// SPDX-License-Identifier: MIT
//
// Stands in for a library that AOTInductor compiled for CUDA, for tests that check numbers: it
// computes only by copying, which the stand-in driver supports.
//
// The model: input x, weight w and state s, all float32 [16]; y0 = w, y1 = s, and then s = x.
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

#include "unit/aoti/compiled_model.hpp"

using Guard = struct GuardObject*;

extern "C" {
std::int32_t aoti_torch_get_numel(Tensor, std::int64_t*);
std::int32_t aoti_torch_create_cuda_stream_guard(void*, std::int32_t, Guard*);
std::int32_t aoti_torch_delete_cuda_stream_guard(Guard);
std::int32_t aoti_torch_get_current_cuda_stream(std::int32_t, void**);
int cudaMalloc(void**, std::size_t);
int cudaFree(void*);
int cudaMemcpy(void*, const void*, std::size_t, int);
int cudaMemcpyAsync(void*, const void*, std::size_t, int, void* stream);
int cudaStreamSynchronize(void* stream);
int cudaGetDevice(int*);
int cudaSetDevice(int);
#if defined(MODEL_ASKS_THE_RUNTIME)
int cudaRuntimeGetVersion(int*);
#endif
#if defined(MODEL_SORTS)
std::int32_t aoti_torch_cuda_sort_stable(Tensor, std::int32_t*, std::int64_t, std::int32_t, Tensor*,
                                         Tensor*);
#endif
#if defined(MODEL_MULTIPLIES)
std::int32_t aoti_torch_dtype_bfloat16();
std::int32_t aoti_torch_dtype_int8();
std::int32_t aoti_torch_cuda_int8_plain_mm(Tensor, Tensor, Tensor, Tensor, std::int64_t, Tensor*);
#endif
}

namespace {

constexpr std::size_t num_outputs = 2;
constexpr std::size_t num_constants = 2;
constexpr std::size_t nbytes = 64;
constexpr std::int64_t size = 16;
constexpr std::int64_t stride = 1;

}  // namespace

struct Container {
  int device = 0;
  void* blob = nullptr;
  Tensor constants[2] = {};
  float num_runs[16] = {};  // One number for all, for MODEL_COUNTS.

  void set(std::size_t index, Tensor tensor) {
    if (constants[index]) aoti_torch_delete_tensor_object(constants[index]);
    constants[index] = tensor;
  }
  ~Container() {
    set(0, nullptr);
    set(1, nullptr);
    if (blob) cudaFree(blob);
  }
};

#include "unit/aoti/model_functions.hpp"

namespace {

void* data(Tensor tensor) {
  void* out = nullptr;
  check(aoti_torch_get_data_ptr(tensor, &out), "aoti_torch_get_data_ptr");
  return out;
}

#if defined(MODEL_MULTIPLIES)
/// A product of 256 rows, 2048 columns and as many weights of a column, of no particular numbers.
void multiply(int device) {
  const auto made = [&](std::int64_t rows, std::int64_t columns, std::int32_t type) {
    const std::int64_t sizes[] = {rows, columns};
    const std::int64_t strides[] = {columns, 1};
    Tensor out = nullptr;
    check(aoti_torch_empty_strided(2, sizes, strides, type, aoti_torch_device_type_cuda(), device,
                                   &out),
          "aoti_torch_empty_strided");
    return out;
  };
  const Tensor self = made(256, 2048, aoti_torch_dtype_bfloat16());
  const Tensor weight = made(2048, 2048, aoti_torch_dtype_int8());
  const Tensor scale = made(2048, 16, aoti_torch_dtype_bfloat16());
  const Tensor zero = made(2048, 16, aoti_torch_dtype_int8());
  Tensor product = nullptr;
  const std::int32_t failed =
      aoti_torch_cuda_int8_plain_mm(self, weight, scale, zero, 128, &product);
  for (Tensor tensor : {self, weight, scale, zero}) aoti_torch_delete_tensor_object(tensor);
  check(failed, "int8_plain_mm");
  aoti_torch_delete_tensor_object(product);
}
#endif

struct StreamGuard {
  StreamGuard(void* stream, int device) {
    check(aoti_torch_create_cuda_stream_guard(stream, device, &handle), "stream guard");
  }
  ~StreamGuard() { aoti_torch_delete_cuda_stream_guard(handle); }
  Guard handle = nullptr;
};

}  // namespace

EXPORT std::int32_t AOTInductorModelContainerCreateWithDevice(Container** out, std::size_t,
                                                              const char* device, const char*) {
  return guard([&] {
    const int index = device[5] - '0';  // "cuda:1"
    check(cudaSetDevice(index), "cudaSetDevice");
#if defined(MODEL_ASKS_THE_RUNTIME)
    int version = 0;
    check(cudaRuntimeGetVersion(&version), "cudaRuntimeGetVersion");
#endif
    *out = new Container{.device = index};
  });
}
EXPORT std::int32_t AOTInductorModelContainerGetConstantName(Container*, std::size_t index,
                                                             const char** out) {
  *out = index == 0 ? "model_w" : "model_s";
  return 0;
}
EXPORT std::int32_t AOTInductorModelContainerGetConstantOriginalFQN(Container*, std::size_t index,
                                                                    const char** out) {
  *out = index == 0 ? "model.w" : "model.s";
  return 0;
}
EXPORT std::int32_t AOTInductorModelContainerGetConstantType(Container*, std::size_t index,
                                                             std::int32_t* out) {
  *out = index == 0 ? 1 : 2;  // A parameter and a buffer.
  return 0;
}
EXPORT std::int32_t AOTInductorModelUpdateConstantsFromBlob(Container* container,
                                                            const std::uint8_t* blob) {
  return guard([&] {
    check(cudaMalloc(&container->blob, 2 * nbytes), "cudaMalloc");
    for (std::size_t i = 0; i < 2; ++i) {
      auto* place = static_cast<std::uint8_t*>(container->blob) + i * nbytes;
      check(cudaMemcpy(place, blob + i * nbytes, nbytes, 1), "cudaMemcpy");
      Tensor tensor = nullptr;
      check(aoti_torch_create_tensor_from_blob_v2(
                place, 1, &size, &stride, 0, aoti_torch_dtype_float32(),
                aoti_torch_device_type_cuda(), container->device, &tensor, 0, nullptr, 0),
            "aoti_torch_create_tensor_from_blob_v2");
      container->set(i, tensor);
    }
  });
}

EXPORT std::int32_t AOTInductorModelContainerUpdateUserManagedConstantBufferPairs(
    Container* container, const ConstantPair* pairs, std::size_t count, bool, bool) {
  return guard([&] {
    for (std::size_t i = 0; i < count; ++i) {
      Tensor mine = nullptr;
      check(aoti_torch_new_tensor_handle(pairs[i].tensor, &mine), "new handle");
      container->set(std::strcmp(pairs[i].name, "model_w") == 0 ? 0 : 1, mine);
    }
  });
}

EXPORT std::int32_t AOTInductorModelContainerRunSingleThreaded(Container* container, Tensor* inputs,
                                                               std::size_t, Tensor* outputs,
                                                               std::size_t, void* stream, void*) {
  return guard([&] {
    const Tensor x = inputs[0];
    inputs[0] = nullptr;
    const Release release{x};
    const StreamGuard scope(stream, container->device);
    void* current = nullptr;
    check(aoti_torch_get_current_cuda_stream(container->device, &current), "current stream");
    if (current != stream) throw std::runtime_error("the current stream is not the guard's");
    std::int64_t numel = 0;
    check(aoti_torch_get_numel(x, &numel), "aoti_torch_get_numel");
    if (numel > size) throw std::runtime_error("expected at most 16 numbers");
#if defined(MODEL_SORTS)
    Tensor sorted[2] = {};
    check(aoti_torch_cuda_sort_stable(x, nullptr, 0, 0, &sorted[0], &sorted[1]), "sort");
    for (Tensor tensor : sorted) aoti_torch_delete_tensor_object(tensor);
#endif
#if defined(MODEL_MULTIPLIES)
    multiply(container->device);
#endif
#if defined(MODEL_SCRATCH)
    // A MiB for each number, as models whose working memory grows with a prompt.
    const std::int64_t scratch_size = numel << 18;
    Tensor scratch = nullptr;
    check(aoti_torch_empty_strided(1, &scratch_size, &stride, aoti_torch_dtype_float32(),
                                   aoti_torch_device_type_cuda(), container->device, &scratch),
          "aoti_torch_empty_strided");
    aoti_torch_delete_tensor_object(scratch);
#endif
#if defined(MODEL_WAITS)
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
#endif
    const auto bytes = static_cast<std::size_t>(numel) * sizeof(float);
#if defined(MODEL_COUNTS)
    // Work of the host, which a graph does not repeat.
    for (float& number : container->num_runs) number += 1;
    check(cudaMemcpyAsync(data(container->constants[0]), container->num_runs, bytes, 1, stream),
          "cudaMemcpyAsync");
#endif
    for (std::size_t i = 0; i < 2; ++i) {
      check(aoti_torch_empty_strided(1, &numel, &stride, aoti_torch_dtype_float32(),
                                     aoti_torch_device_type_cuda(), container->device, &outputs[i]),
            "aoti_torch_empty_strided");
      check(cudaMemcpyAsync(data(outputs[i]), data(container->constants[i]), bytes, 3, stream),
            "cudaMemcpyAsync");
    }
    check(cudaMemcpyAsync(data(container->constants[1]), data(x), bytes, 3, stream),
          "cudaMemcpyAsync");
  });
}
