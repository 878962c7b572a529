// SPDX-License-Identifier: MIT
//
// Stands in for a library compiled by AOTInductor, for tests that no exporter can make: it fails
// where the test requests. It has the parts that make real ones hard to load and unload: static
// initialisers that call back, unique symbols, and thread-local objects with destructors.
//
// The model: input x [n], weight w [16] and state s [16], all float32; y = x * w[0] + s[0], and
// s[0] grows by 1 with each run. With MODEL_CALLS_AN_OPERATOR x is first replaced by what its call
// 0 makes of x and the integer 0, the first of two results. With MODEL_IS_FROZEN s is constant and
// named as Inductor names what it folds. With MODEL_MAKES_TWO_IN_TURNS -y is a second output, which
// every other run makes before the first.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

// As a compiler with aot_inductor.shim_symbol_prefix names them.
#if defined(MODEL_HAS_PRIVATE_PREFIX)
#define aoti_torch_dtype_float32 executorch_aoti_torch_dtype_float32
#define aoti_torch_device_type_cpu executorch_aoti_torch_device_type_cpu
#define aoti_torch_device_type_cuda executorch_aoti_torch_device_type_cuda
#define aoti_torch_delete_tensor_object executorch_aoti_torch_delete_tensor_object
#define aoti_torch_new_tensor_handle executorch_aoti_torch_new_tensor_handle
#define aoti_torch_get_data_ptr executorch_aoti_torch_get_data_ptr
#define aoti_torch_get_sizes executorch_aoti_torch_get_sizes
#define aoti_torch_get_strides executorch_aoti_torch_get_strides
#define aoti_torch_get_dim executorch_aoti_torch_get_dim
#define aoti_torch_get_dtype executorch_aoti_torch_get_dtype
#define aoti_torch_empty_strided executorch_aoti_torch_empty_strided
#define aoti_torch_create_tensor_from_blob_v2 executorch_aoti_torch_create_tensor_from_blob_v2
#define aoti_torch_cpu_that_nobody_has executorch_aoti_torch_cpu_that_nobody_has
#define aoti_torch_check executorch_aoti_torch_check
#define aoti_torch_new_uninitialized_tensor executorch_aoti_torch_new_uninitialized_tensor
#define aoti_torch_proxy_executor_call_function executorch_aoti_torch_proxy_executor_call_function
#endif

#include "unit/aoti/compiled_model.hpp"

namespace {

/// Says that it ran, in a variable that a test has set.
[[gnu::constructor]] void say_that_it_was_loaded() {
  if (std::getenv("TENON_TEST_MODEL_WAS_LOADED")) ::setenv("TENON_TEST_MODEL_WAS_LOADED", "yes", 1);
}

}  // namespace

extern "C" {
std::int32_t aoti_torch_get_sizes(Tensor, std::int64_t**);
std::int32_t aoti_torch_get_strides(Tensor, std::int64_t**);
std::int32_t aoti_torch_get_dim(Tensor, std::int64_t*);
std::int32_t aoti_torch_get_dtype(Tensor, std::int32_t*);
void aoti_torch_check(bool, const char*, const char*, std::uint32_t, const char*);
#if defined(MODEL_ASKS_FOR_NOTHING)
std::int32_t aoti_torch_cpu_that_nobody_has(Tensor);
#endif
#if defined(MODEL_CALLS_AN_OPERATOR)
std::int32_t aoti_torch_new_uninitialized_tensor(Tensor*);
std::int32_t aoti_torch_proxy_executor_call_function(void*, std::int32_t, std::int32_t,
                                                     std::int64_t*, std::int32_t, Tensor*);
#endif
}

namespace {

const std::int32_t float32 = aoti_torch_dtype_float32();
constexpr std::size_t constant_nbytes = 64;

// The device that its tensors claim to be on; its "kernel" is the same loop.
std::int32_t device_type() {
#if defined(MODEL_IS_ON_DEVICE)
  return aoti_torch_device_type_cuda();
#else
  return aoti_torch_device_type_cpu();
#endif
}

}  // namespace

struct Container {
  void* blob = nullptr;
  Tensor weight = nullptr;
  Tensor state = nullptr;
  int num_runs = 0;

  ~Container() {
    if (weight) aoti_torch_delete_tensor_object(weight);
    if (state) aoti_torch_delete_tensor_object(state);
    std::free(blob);
  }
};

namespace {

// A template's static member is STB_GNU_UNIQUE, as in the real libraries.
template <class T>
struct Unique {
  static inline int count = 0;
};

float* data(Tensor tensor) {
  void* out = nullptr;
  check(aoti_torch_get_data_ptr(tensor, &out));
  return static_cast<float*>(out);
}

Tensor constant(void* place) {
  const std::int64_t size = 16;
  const std::int64_t stride = 1;
  Tensor out = nullptr;
  check(aoti_torch_create_tensor_from_blob_v2(place, 1, &size, &stride, 0, float32, device_type(),
                                              0, &out, 0, nullptr, 0));
  return out;
}

// The size is not known to the compiler, as in the real runtime, so that `memcpy` is called.
void copy(void* to, const void* from, std::size_t nbytes) {
  const volatile std::size_t size = nbytes;
  std::memcpy(to, from, size);
}

}  // namespace

EXPORT std::int32_t AOTInductorModelContainerCreateWithDevice(Container** out, std::size_t,
                                                              const char*, const char*) {
  return guard([&] {
#if defined(MODEL_FAILS_TO_CREATE)
    throw std::runtime_error("no model today");
#endif
    ++Unique<Container>::count;
    *out = new Container;
  });
}
EXPORT std::int32_t AOTInductorModelContainerDelete(Container* container) {
  return guard([&] { delete container; });
}
#if !defined(MODEL_HAS_NO_OUTPUTS_FUNCTION)
EXPORT std::int32_t AOTInductorModelContainerGetNumOutputs(Container*, std::size_t* out) {
#if defined(MODEL_MAKES_TWO_IN_TURNS)
  *out = 2;
#else
  *out = 1;
#endif
  return 0;
}
#endif
EXPORT std::int32_t AOTInductorModelContainerGetNumConstants(Container*, std::size_t* out) {
  *out = 2;
  return 0;
}
EXPORT std::int32_t AOTInductorModelContainerGetConstantType(Container*, std::size_t index,
                                                             std::int32_t* out) {
#if defined(MODEL_HAS_NO_STATE)
  const std::int32_t second = 1;
#else
  const std::int32_t second = 2;
#endif
  *out = index == 0 ? 1 : second;  // A parameter and a buffer.
  return 0;
}
#if defined(MODEL_IS_FROZEN)
EXPORT std::int32_t AOTInductorModelContainerGetConstantName(Container*, std::size_t index,
                                                             const char** out) {
  *out = index == 0 ? "layer_weight" : MODEL_IS_FROZEN;
  return 0;
}
EXPORT std::int32_t AOTInductorModelContainerGetConstantOriginalFQN(Container*, std::size_t index,
                                                                    const char** out) {
  *out = index == 0 ? "layer.weight" : "_frozen_param7";
  return 0;
}
EXPORT std::int32_t AOTInductorModelContainerGetConstantDtype(Container*, std::size_t,
                                                              std::int32_t* out) {
  *out = float32;
  return 0;
}
EXPORT std::int32_t AOTInductorModelContainerUpdateUserManagedConstantBufferPairs(
    Container* container, const ConstantPair* pairs, std::size_t count, bool, bool) {
  return guard([&] {
    for (std::size_t i = 0; i < count; ++i) {
      const bool is_weight = std::strcmp(pairs[i].name, "layer_weight") == 0;
      check(aoti_torch_new_tensor_handle(pairs[i].tensor,
                                         is_weight ? &container->weight : &container->state));
    }
  });
}
#endif
EXPORT std::int32_t AOTInductorModelContainerGetConstantDataSize(Container*, std::size_t,
                                                                 std::size_t* out) {
  *out = constant_nbytes;
  return 0;
}
EXPORT std::int32_t AOTInductorModelUpdateConstantsFromBlob(Container* container,
                                                            const std::uint8_t* blob) {
  return guard([&] {
#if defined(MODEL_FAILS_TO_LOAD_WEIGHTS)
    throw std::runtime_error("these weights are not mine");
#endif
    container->blob = std::malloc(2 * constant_nbytes);
    auto* place = static_cast<std::uint8_t*>(container->blob);
    copy(place, blob, constant_nbytes);
    container->weight = constant(place);
    copy(place + constant_nbytes, blob + constant_nbytes, constant_nbytes);
    container->state = constant(place + constant_nbytes);
  });
}
EXPORT std::int32_t AOTInductorModelContainerRun(Container* container, Tensor* inputs, std::size_t,
                                                 Tensor* outputs, std::size_t, void*,
                                                 [[maybe_unused]] void* proxy) {
  return guard([&] {
    Tensor x = inputs[0];
    inputs[0] = nullptr;
    const Release release{x};
#if defined(MODEL_CALLS_AN_OPERATOR)
    Release first{nullptr}, second{nullptr};
    check(aoti_torch_new_uninitialized_tensor(&first.tensor));
    check(aoti_torch_new_uninitialized_tensor(&second.tensor));
    Tensor tensors[] = {x, first.tensor, second.tensor};
    std::int64_t zero = 0;
    check(aoti_torch_proxy_executor_call_function(proxy, 0, 1, &zero, 3, tensors));
    x = first.tensor;
#endif
#if defined(MODEL_FAILS_TO_RUN)
    throw std::runtime_error("not in the mood");
#endif
    std::int64_t* sizes = nullptr;
    std::int64_t* strides = nullptr;
    std::int64_t rank = 0;
    std::int32_t dtype = 0;
    check(aoti_torch_get_dim(x, &rank));
    check(aoti_torch_get_dtype(x, &dtype));
    check(aoti_torch_get_sizes(x, &sizes));
    check(aoti_torch_get_strides(x, &strides));
    aoti_torch_check(rank == 1 && dtype == float32, __func__, __FILE__, __LINE__,
                     "expected one dimension of float32");
#if defined(MODEL_ASKS_FOR_NOTHING)
    check(aoti_torch_cpu_that_nobody_has(x));
#endif
#if defined(MODEL_ASKS_FOR_TOO_MUCH)
    const std::int64_t size = std::int64_t{1} << 58;
#else
    const std::int64_t size = sizes[0];
#endif
    const std::int64_t one = 1;
    const auto make = [&](std::size_t index) {
      check(aoti_torch_empty_strided(1, &size, &one, float32, device_type(), 0, &outputs[index]));
    };
#if defined(MODEL_MAKES_TWO_IN_TURNS)
    const std::size_t first_made = container->num_runs++ % 2 == 0 ? 0 : 1;
    make(first_made);
    make(1 - first_made);
#else
    make(0);
#endif
    const Tensor y = outputs[0];
    for (std::int64_t i = 0; i < size; ++i) {
      data(y)[i] = data(x)[i * strides[0]] * data(container->weight)[0] + data(container->state)[0];
#if defined(MODEL_MAKES_TWO_IN_TURNS)
      data(outputs[1])[i] = -data(y)[i];
#endif
    }
#if !defined(MODEL_HAS_NO_STATE) && !defined(MODEL_IS_FROZEN)
    data(container->state)[0] += 1;
#endif
  });
}
