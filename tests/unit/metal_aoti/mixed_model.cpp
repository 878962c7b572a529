// SPDX-License-Identifier: MIT
//
// Stands in for a library that AOTInductor compiled for Metal, where a test decides which constants
// are on the device and which in the host's memory. It loads its constants as a compiled model does
// (torch/csrc/inductor/aoti_runtime/model_base.h, load_constants), wrong offsets included.
//
// The model: input x, constants c0 to c3, all float32 [MODEL_SIZE]; y = x + c0 + c1 + ... Of
// MODEL_CONSTANTS each letter is a constant, 'd' on the device and 'h' in the host's memory.
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "unit/aoti/compiled_model.hpp"

using Library = struct LibraryObject*;
using Function = struct FunctionObject*;

extern "C" {
std::int32_t aoti_torch_device_type_mps();
std::int32_t aoti_torch_mps_malloc(void**, std::size_t);
std::int32_t aoti_torch_mps_free(void*);
std::int32_t aoti_torch_mps_memcpy(void*, std::size_t, std::size_t, std::size_t, std::uint8_t*);
std::int32_t aoti_torch_mps_create_shader_library(const char*, Library*);
std::int32_t aoti_torch_mps_delete_shader_library(Library);
std::int32_t aoti_torch_mps_get_kernel_function(Library, const char*, Function*);
std::int32_t aoti_torch_mps_start_encoding(Function);
std::int32_t aoti_torch_mps_set_arg_tensor(Function, unsigned, Tensor);
std::int32_t aoti_torch_mps_dispatch_single(Function, std::uint64_t);
}

namespace {

constexpr std::string_view places = MODEL_CONSTANTS;
constexpr std::size_t num_outputs = 1;
constexpr std::size_t num_constants = places.size();
constexpr std::int64_t size = MODEL_SIZE;
constexpr std::int64_t stride = 1;
constexpr std::size_t nbytes = MODEL_SIZE * sizeof(float);
constexpr const char* source = R"(
#include <metal_stdlib>
using namespace metal;
kernel void add(device float* out, constant float* in, constant float* more,
                uint i [[thread_position_in_grid]]) {
  out[i] = in[i] + more[i];
}
)";

}  // namespace

struct Container {
  void* device_block = nullptr;
  std::vector<std::uint8_t> host_block;
  std::vector<Tensor> constants;
  Library library = nullptr;
  Function add = nullptr;

  void clear() {
    for (const Tensor each : constants) aoti_torch_delete_tensor_object(each);
    constants.clear();
    if (device_block) aoti_torch_mps_free(device_block);
    device_block = nullptr;
  }
  ~Container() {
    clear();
    if (library) aoti_torch_mps_delete_shader_library(library);
  }
};

#include "unit/aoti/model_functions.hpp"

namespace {

std::size_t count(char place) {
  std::size_t out = 0;
  for (const char each : places) out += each == place;
  return out;
}

void load(Container& container, std::uint8_t* blob) {
  container.clear();
  // PyTorch fills these in the order of the device's constants, and reads them in the order of all
  // constants.
  std::vector<std::size_t> offsets(places.size());
  for (std::size_t i = 0; i < count('d'); ++i) offsets[i] = i * nbytes;
  check(aoti_torch_mps_malloc(&container.device_block, count('d') * nbytes), "malloc");
  container.host_block.resize(count('h') * nbytes);
  std::size_t device_index = 0;
  std::size_t host_index = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const bool on_device = places[i] == 'd';
    void* data = container.device_block;
    if (on_device) {
      check(aoti_torch_mps_memcpy(data, offsets[device_index++], i * nbytes, nbytes, blob),
            "memcpy");
    } else {
      data = container.host_block.data() + host_index++ * nbytes;
      std::memcpy(data, blob + i * nbytes, nbytes);
    }
    Tensor made = nullptr;
    check(aoti_torch_create_tensor_from_blob_v2(
              data, 1, &size, &stride, static_cast<std::int64_t>(offsets[i] / sizeof(float)),
              aoti_torch_dtype_float32(),
              on_device ? aoti_torch_device_type_mps() : aoti_torch_device_type_cpu(), 0, &made, 0,
              nullptr, 0),
          "aoti_torch_create_tensor_from_blob_v2");
    container.constants.push_back(made);
  }
}

}  // namespace

EXPORT std::int32_t AOTInductorModelContainerCreateWithDevice(Container** out, std::size_t,
                                                              const char*, const char*) {
  return guard([&] { *out = new Container; });
}
EXPORT std::int32_t AOTInductorModelContainerGetConstantName(Container*, std::size_t index,
                                                             const char** out) {
  static constexpr const char* names[] = {"c0", "c1", "c2", "c3"};
  *out = names[index];
  return 0;
}
EXPORT std::int32_t AOTInductorModelContainerGetConstantOriginalFQN(Container* container,
                                                                    std::size_t index,
                                                                    const char** out) {
  return AOTInductorModelContainerGetConstantName(container, index, out);
}
EXPORT std::int32_t AOTInductorModelContainerGetConstantType(Container*, std::size_t,
                                                             std::int32_t* out) {
  *out = 1;  // A parameter.
  return 0;
}
EXPORT std::int32_t AOTInductorModelUpdateConstantsFromBlob(Container* container,
                                                            std::uint8_t* blob) {
  return guard([&] { load(*container, blob); });
}
EXPORT std::int32_t AOTInductorModelContainerRunSingleThreaded(Container* container, Tensor* inputs,
                                                               std::size_t, Tensor* outputs,
                                                               std::size_t, void*, void*) {
  return guard([&] {
    const Release x{inputs[0]};
    inputs[0] = nullptr;
    if (!container->library) {
      check(aoti_torch_mps_create_shader_library(source, &container->library), "shader library");
      check(aoti_torch_mps_get_kernel_function(container->library, "add", &container->add), "add");
    }
    check(aoti_torch_empty_strided(1, &size, &stride, aoti_torch_dtype_float32(),
                                   aoti_torch_device_type_mps(), 0, outputs),
          "aoti_torch_empty_strided");
    Tensor sum = x.tensor;
    for (const Tensor each : container->constants) {
      aoti_torch_mps_start_encoding(container->add);
      aoti_torch_mps_set_arg_tensor(container->add, 0, outputs[0]);
      aoti_torch_mps_set_arg_tensor(container->add, 1, sum);
      aoti_torch_mps_set_arg_tensor(container->add, 2, each);
      aoti_torch_mps_dispatch_single(container->add, MODEL_SIZE);
      sum = outputs[0];
    }
  });
}
