// SPDX-License-Identifier: MIT
//
// The part of OpenVINO's C API that the plugin calls, declared after its public headers
// (openvino/c/ov_*.h of 2026.4; the functions have been there since 2023). Nothing of OpenVINO is
// needed to build: `Library` finds the functions by name.
#pragma once

#include <cstddef>
#include <cstdint>

namespace openvino_backend {

struct ov_core;
struct ov_model;
struct ov_compiled_model;
struct ov_infer_request;
struct ov_tensor;
struct ov_output_const_port;

using ov_status = std::int32_t;
inline constexpr ov_status ov_ok = 0;
inline constexpr ov_status ov_infer_cancelled = -13;

/// Numbers of `ov_element_type_e`.
enum class ElementType : std::int32_t {
  dynamic = 0,
  boolean = 1,
  bf16 = 2,
  f16 = 3,
  f32 = 4,
  f64 = 5,
  i8 = 7,
  i16 = 8,
  i32 = 9,
  i64 = 10,
  u8 = 16,
  u16 = 17,
  u32 = 18,
  u64 = 19,
};

struct ov_shape {
  std::int64_t rank;
  std::int64_t* dims;
};

/// Both ends are included; `max` is -1 when there is no upper end.
struct ov_dimension {
  std::int64_t min;
  std::int64_t max;
};

struct ov_partial_shape {
  ov_dimension rank;
  ov_dimension* dims;
};

struct ov_version {
  const char* build_number;
  const char* description;
};

struct ov_profiling_info {
  std::int32_t status;     ///< 2: the node was executed.
  std::int64_t real_time;  ///< Microseconds.
  std::int64_t cpu_time;
  const char* node_name;
  const char* exec_type;
  const char* node_type;
};

struct ov_profiling_info_list {
  ov_profiling_info* infos;
  std::size_t size;
};

/// One line for each function: name without "ov_", result, parameters.
#define OPENVINO_BACKEND_FUNCTIONS(X)                                                        \
  X(get_last_err_msg, const char*, ())                                                       \
  X(free, void, (const char*))                                                               \
  X(get_openvino_version, ov_status, (ov_version*))                                          \
  X(version_free, void, (ov_version*))                                                       \
  X(core_create, ov_status, (ov_core**))                                                     \
  X(core_free, void, (ov_core*))                                                             \
  X(core_set_property, ov_status, (const ov_core*, const char*, ...))                        \
  X(core_get_property, ov_status, (const ov_core*, const char*, const char*, char**))        \
  X(core_read_model_from_memory_buffer, ov_status,                                           \
    (const ov_core*, const char*, std::size_t, const ov_tensor*, ov_model**))                \
  X(core_compile_model, ov_status,                                                           \
    (const ov_core*, const ov_model*, const char*, std::size_t, ov_compiled_model**, ...))   \
  X(core_import_model, ov_status,                                                            \
    (const ov_core*, const char*, std::size_t, const char*, ov_compiled_model**))            \
  X(model_free, void, (ov_model*))                                                           \
  X(compiled_model_inputs_size, ov_status, (const ov_compiled_model*, std::size_t*))         \
  X(compiled_model_outputs_size, ov_status, (const ov_compiled_model*, std::size_t*))        \
  X(compiled_model_input_by_index, ov_status,                                                \
    (const ov_compiled_model*, std::size_t, ov_output_const_port**))                         \
  X(compiled_model_output_by_index, ov_status,                                               \
    (const ov_compiled_model*, std::size_t, ov_output_const_port**))                         \
  X(compiled_model_create_infer_request, ov_status,                                          \
    (const ov_compiled_model*, ov_infer_request**))                                          \
  X(compiled_model_export_model, ov_status, (const ov_compiled_model*, const char*))         \
  X(compiled_model_get_property, ov_status, (const ov_compiled_model*, const char*, char**)) \
  X(compiled_model_free, void, (ov_compiled_model*))                                         \
  X(port_get_element_type, ov_status, (const ov_output_const_port*, ElementType*))           \
  X(port_get_partial_shape, ov_status, (const ov_output_const_port*, ov_partial_shape*))     \
  X(output_const_port_free, void, (ov_output_const_port*))                                   \
  X(partial_shape_free, void, (ov_partial_shape*))                                           \
  X(shape_free, ov_status, (ov_shape*))                                                      \
  X(tensor_create_from_host_ptr, ov_status, (ElementType, ov_shape, void*, ov_tensor**))     \
  X(tensor_get_shape, ov_status, (const ov_tensor*, ov_shape*))                              \
  X(tensor_free, void, (ov_tensor*))                                                         \
  X(infer_request_set_input_tensor_by_index, ov_status,                                      \
    (ov_infer_request*, std::size_t, const ov_tensor*))                                      \
  X(infer_request_set_output_tensor_by_index, ov_status,                                     \
    (ov_infer_request*, std::size_t, const ov_tensor*))                                      \
  X(infer_request_infer, ov_status, (ov_infer_request*))                                     \
  X(infer_request_start_async, ov_status, (ov_infer_request*))                               \
  X(infer_request_wait, ov_status, (ov_infer_request*))                                      \
  X(infer_request_cancel, ov_status, (ov_infer_request*))                                    \
  X(infer_request_get_profiling_info, ov_status,                                             \
    (const ov_infer_request*, ov_profiling_info_list*))                                      \
  X(profiling_info_list_free, void, (ov_profiling_info_list*))                               \
  X(infer_request_free, void, (ov_infer_request*))

/// The functions of one library. All are set once `Library` was loaded.
struct Api {
#define OPENVINO_BACKEND_MEMBER(name, result, parameters) result(*name) parameters = nullptr;
  OPENVINO_BACKEND_FUNCTIONS(OPENVINO_BACKEND_MEMBER)
#undef OPENVINO_BACKEND_MEMBER
};

}  // namespace openvino_backend
