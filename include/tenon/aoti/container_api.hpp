// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "tenon/aoti/library/model_library.hpp"
#include "tenon/aoti/tensors/model_tensor.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

/// A model container inside a compiled library (AOTInductorModelContainerHandle).
struct ContainerObject;

/// Result of the functions of a compiled library: 0 for success (AOTIRuntimeError).
using RuntimeError = std::int32_t;

/// Kind of a constant (torch/csrc/inductor/aoti_runtime/constant_type.h).
enum class ConstantType : std::int32_t {
  unknown = 0,
  parameter = 1,
  buffer = 2,
  tensor_constant = 3,
  folded_constant = 4,
};

/// A constant for the model to use (AOTInductorConstantMapEntry).
struct ConstantEntry {
  const char* name;  ///< In the compiled code.
  ModelTensor* tensor;
};

// The functions that a compiled library exports, as torch/csrc/inductor/aoti_runtime/interface.h
// declares them: member, name without "AOTInductorModel", parameters. Only the first list is in
// every library; the second grew over PyTorch's releases.
#define TENON_AOTI_REQUIRED_FUNCTIONS(X)                                                         \
  X(create, ContainerCreateWithDevice,                                                           \
    (ContainerObject * *out, std::size_t num_models, const char* device, const char* cubin_dir)) \
  X(destroy, ContainerDelete, (ContainerObject*))                                                \
  X(run, ContainerRun,                                                                           \
    (ContainerObject*, ModelTensor * *inputs, std::size_t num_inputs, ModelTensor** outputs,     \
     std::size_t num_outputs, void* stream, void* proxy_executor))                               \
  X(get_num_inputs, ContainerGetNumInputs, (ContainerObject*, std::size_t*))                     \
  X(get_num_outputs, ContainerGetNumOutputs, (ContainerObject*, std::size_t*))

#define TENON_AOTI_OPTIONAL_FUNCTIONS(X)                                                           \
  X(run_single_threaded, ContainerRunSingleThreaded,                                               \
    (ContainerObject*, ModelTensor * *inputs, std::size_t num_inputs, ModelTensor** outputs,       \
     std::size_t num_outputs, void* stream, void* proxy_executor))                                 \
  X(get_num_constants, ContainerGetNumConstants, (ContainerObject*, std::size_t*))                 \
  X(get_constant_name, ContainerGetConstantName, (ContainerObject*, std::size_t, const char**))    \
  X(get_constant_original_fqn, ContainerGetConstantOriginalFQN,                                    \
    (ContainerObject*, std::size_t, const char**))                                                 \
  X(get_constant_from_folded, ContainerGetConstantFromFolded,                                      \
    (ContainerObject*, std::size_t, bool*))                                                        \
  X(get_constant_type, ContainerGetConstantType, (ContainerObject*, std::size_t, std::int32_t*))   \
  X(get_constant_data_size, ContainerGetConstantDataSize,                                          \
    (ContainerObject*, std::size_t, std::size_t*))                                                 \
  X(get_constant_dtype, ContainerGetConstantDtype, (ContainerObject*, std::size_t, std::int32_t*)) \
  X(get_constants_blob_size, ContainerGetConstantsBlobSize, (ContainerObject*, std::uint64_t*))    \
  X(update_constants_from_blob, UpdateConstantsFromBlob, (ContainerObject*, const std::uint8_t*))  \
  X(update_user_managed_constants, ContainerUpdateUserManagedConstantBufferPairs,                  \
    (ContainerObject*, const ConstantEntry* entries, std::size_t num_entries, bool use_inactive,   \
     bool validate_full_update))

/// The functions of one library. Functions of the optional list may be null.
struct ContainerApi {
#define TENON_AOTI_MEMBER(member, name, parameters) RuntimeError(*member) parameters = nullptr;
  TENON_AOTI_REQUIRED_FUNCTIONS(TENON_AOTI_MEMBER)
  TENON_AOTI_OPTIONAL_FUNCTIONS(TENON_AOTI_MEMBER)
#undef TENON_AOTI_MEMBER
  RuntimeError (*get_last_error)(const char**) = nullptr;
  /// From the image with checks (model_checks.hpp), or null: runs a container of this library.
  decltype(run) run_with_checks = nullptr;
  decltype(get_last_error) get_last_error_of_checks = nullptr;
  /// Number of inputs whose device is checked, which is the last check of each.
  std::size_t num_device_checks = 0;

  /// Takes the functions that run containers with checks from the other image of this library.
  void use_checks(const ModelLibrary& image, std::size_t device_checks) {
    num_device_checks = device_checks;
    // One model and one thread at a time: the locks of `run` would guard nothing.
    const char* const name = run_single_threaded ? "AOTInductorModelContainerRunSingleThreaded"
                                                 : "AOTInductorModelContainerRun";
    run_with_checks = image.function<std::remove_pointer_t<decltype(run)>>(name);
    get_last_error_of_checks =
        image.function<RuntimeError(const char**)>("AOTInductorGetLastError");
  }

  /// Finds the functions. Fails with InvalidProgram when a required one is missing.
  [[nodiscard]] static Result<ContainerApi> find(const ModelLibrary& library) {
    ContainerApi api;
    std::string_view missing;
#define TENON_AOTI_FIND(member, name, parameters) \
  api.member = library.function<RuntimeError parameters>("AOTInductorModel" #name);
#define TENON_AOTI_REQUIRE(member, name, parameters) \
  TENON_AOTI_FIND(member, name, parameters)          \
  if (!api.member) missing = "AOTInductorModel" #name;
    TENON_AOTI_REQUIRED_FUNCTIONS(TENON_AOTI_REQUIRE)
    TENON_AOTI_OPTIONAL_FUNCTIONS(TENON_AOTI_FIND)
#undef TENON_AOTI_REQUIRE
#undef TENON_AOTI_FIND
    api.get_last_error = library.function<RuntimeError(const char**)>("AOTInductorGetLastError");
    if (missing.empty()) return api;
    return error(Error::InvalidProgram, "the library is not a model of AOTInductor: missing ",
                 missing);
  }
};

}}}  // namespace tenon::TENON_RELEASE::aoti
