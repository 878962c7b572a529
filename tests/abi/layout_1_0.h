// SPDX-License-Identifier: MIT
//
// The layout of ABI 1.0 in numbers, for 64-bit platforms. Compiling this is the check: as C11 and
// as C++20, once against today's headers and once against the frozen copy (LAYOUT_OF_FROZEN).
//
// A new minor may append to a struct, so for today's headers a size is a lower bound.

#include <stddef.h>

#ifdef LAYOUT_OF_FROZEN
#include "tenon_v1_0/abi/tenon.h"
#else
#include "tenon/abi/tenon.h"
#endif

#ifdef __cplusplus
#define LAYOUT_ASSERT static_assert
#else
#define LAYOUT_ASSERT _Static_assert
#endif

#ifdef LAYOUT_OF_FROZEN
#define SIZE(type, bytes) LAYOUT_ASSERT(sizeof(type) == (bytes), #type)
#else
#define SIZE(type, bytes) LAYOUT_ASSERT(sizeof(type) >= (bytes), #type)
#endif
#define OFFSET(type, member, bytes) \
  LAYOUT_ASSERT(offsetof(type, member) == (bytes), #type "." #member)
#define VALUE(constant, number) LAYOUT_ASSERT((constant) == (number), #constant)

LAYOUT_ASSERT(sizeof(void*) == 8, "the numbers below are those of a 64-bit platform");
LAYOUT_ASSERT(sizeof(void (*)(void)) == 8, "pointers to functions are as large as those to data");
LAYOUT_ASSERT(sizeof(tenon_status) == 4, "tenon_status");
LAYOUT_ASSERT(TENON_ABI_MAJOR == 1, "TENON_ABI_MAJOR");
LAYOUT_ASSERT(TENON_ABI_MINOR >= 0, "TENON_ABI_MINOR");

// status.h
VALUE(TENON_STATUS_OK, 0);
VALUE(TENON_STATUS_INTERNAL, 1);
VALUE(TENON_STATUS_INVALID_STATE, 2);
VALUE(TENON_STATUS_END_OF_METHOD, 3);
VALUE(TENON_STATUS_ALREADY_LOADED, 4);
VALUE(TENON_STATUS_NOT_SUPPORTED, 16);
VALUE(TENON_STATUS_NOT_IMPLEMENTED, 17);
VALUE(TENON_STATUS_INVALID_ARGUMENT, 18);
VALUE(TENON_STATUS_INVALID_TYPE, 19);
VALUE(TENON_STATUS_OPERATOR_MISSING, 20);
VALUE(TENON_STATUS_REGISTRATION_EXCEEDING_MAX_KERNELS, 21);
VALUE(TENON_STATUS_REGISTRATION_ALREADY_REGISTERED, 22);
VALUE(TENON_STATUS_NOT_FOUND, 32);
VALUE(TENON_STATUS_MEMORY_ALLOCATION_FAILED, 33);
VALUE(TENON_STATUS_ACCESS_FAILED, 34);
VALUE(TENON_STATUS_INVALID_PROGRAM, 35);
VALUE(TENON_STATUS_INVALID_EXTERNAL_DATA, 36);
VALUE(TENON_STATUS_OUT_OF_RESOURCES, 37);
VALUE(TENON_STATUS_DELEGATE_INVALID_COMPATIBILITY, 48);
VALUE(TENON_STATUS_DELEGATE_MEMORY_ALLOCATION_FAILED, 49);
VALUE(TENON_STATUS_DELEGATE_INVALID_HANDLE, 50);

// tensor.h
SIZE(tenon_dl_dtype, 4);
OFFSET(tenon_dl_dtype, code, 0);
OFFSET(tenon_dl_dtype, bits, 1);
OFFSET(tenon_dl_dtype, lanes, 2);
SIZE(tenon_dl_device, 8);
OFFSET(tenon_dl_device, device_type, 0);
OFFSET(tenon_dl_device, device_id, 4);
SIZE(tenon_dl_tensor, 48);
OFFSET(tenon_dl_tensor, data, 0);
OFFSET(tenon_dl_tensor, device, 8);
OFFSET(tenon_dl_tensor, ndim, 16);
OFFSET(tenon_dl_tensor, dtype, 20);
OFFSET(tenon_dl_tensor, shape, 24);
OFFSET(tenon_dl_tensor, strides, 32);
OFFSET(tenon_dl_tensor, byte_offset, 40);
SIZE(tenon_tensor, 96);
OFFSET(tenon_tensor, struct_size, 0);
OFFSET(tenon_tensor, scalar_type, 4);
OFFSET(tenon_tensor, dl, 8);
OFFSET(tenon_tensor, dim_order, 56);
OFFSET(tenon_tensor, bounds, 64);
OFFSET(tenon_tensor, nbytes, 72);
OFFSET(tenon_tensor, capacity, 80);
OFFSET(tenon_tensor, shape_dynamism, 88);
OFFSET(tenon_tensor, flags, 92);
SIZE(tenon_span, 16);
OFFSET(tenon_span, data, 0);
OFFSET(tenon_span, size, 8);
SIZE(tenon_value, 24);
OFFSET(tenon_value, struct_size, 0);
OFFSET(tenon_value, kind, 4);
OFFSET(tenon_value, as, 8);
VALUE(TENON_DL_INT, 0);
VALUE(TENON_DL_UINT, 1);
VALUE(TENON_DL_FLOAT, 2);
VALUE(TENON_DL_OPAQUE, 3);
VALUE(TENON_DL_BFLOAT, 4);
VALUE(TENON_DL_COMPLEX, 5);
VALUE(TENON_DL_BOOL, 6);
VALUE(TENON_DL_FLOAT8_E4M3FN, 10);
VALUE(TENON_DL_FLOAT8_E4M3FNUZ, 11);
VALUE(TENON_DL_FLOAT8_E5M2, 12);
VALUE(TENON_DL_FLOAT8_E5M2FNUZ, 13);
VALUE(TENON_DL_CPU, 1);
VALUE(TENON_DL_CUDA, 2);
VALUE(TENON_DL_METAL, 8);
VALUE(TENON_SHAPE_STATIC, 0);
VALUE(TENON_SHAPE_DYNAMIC_BOUND, 1);
VALUE(TENON_SHAPE_DYNAMIC_UNBOUND, 2);
VALUE(TENON_TENSOR_CONSTANT, 1);
VALUE(TENON_TENSOR_MEMORY_PLANNED, 2);
VALUE(TENON_VALUE_NONE, 0);
VALUE(TENON_VALUE_TENSOR, 1);
VALUE(TENON_VALUE_STRING, 2);
VALUE(TENON_VALUE_DOUBLE, 3);
VALUE(TENON_VALUE_INT, 4);
VALUE(TENON_VALUE_BOOL, 5);
VALUE(TENON_VALUE_BOOL_LIST, 6);
VALUE(TENON_VALUE_DOUBLE_LIST, 7);
VALUE(TENON_VALUE_INT_LIST, 8);
VALUE(TENON_VALUE_TENSOR_LIST, 9);
VALUE(TENON_VALUE_SCALAR_LIST, 10);
VALUE(TENON_VALUE_OPTIONAL_TENSOR_LIST, 11);

// host.h
SIZE(tenon_host, 56);
OFFSET(tenon_host, struct_size, 0);
OFFSET(tenon_host, abi_major, 4);
OFFSET(tenon_host, abi_minor, 6);
OFFSET(tenon_host, name, 8);
OFFSET(tenon_host, plugin_path, 16);
OFFSET(tenon_host, set_last_error, 24);
OFFSET(tenon_host, log, 32);
OFFSET(tenon_host, resize_tensor, 40);
OFFSET(tenon_host, get_extension, 48);
SIZE(tenon_allocator, 16);
OFFSET(tenon_allocator, struct_size, 0);
OFFSET(tenon_allocator, reserved, 4);
OFFSET(tenon_allocator, allocate, 8);
SIZE(tenon_buffer, 40);
OFFSET(tenon_buffer, struct_size, 0);
OFFSET(tenon_buffer, reserved, 4);
OFFSET(tenon_buffer, data, 8);
OFFSET(tenon_buffer, nbytes, 16);
OFFSET(tenon_buffer, owner, 24);
OFFSET(tenon_buffer, release, 32);
SIZE(tenon_tensor_layout, 32);
OFFSET(tenon_tensor_layout, struct_size, 0);
OFFSET(tenon_tensor_layout, scalar_type, 4);
OFFSET(tenon_tensor_layout, rank, 8);
OFFSET(tenon_tensor_layout, reserved, 12);
OFFSET(tenon_tensor_layout, sizes, 16);
OFFSET(tenon_tensor_layout, dim_order, 24);
SIZE(tenon_named_data_map, 32);
OFFSET(tenon_named_data_map, struct_size, 0);
OFFSET(tenon_named_data_map, num_keys, 4);
OFFSET(tenon_named_data_map, get_data, 8);
OFFSET(tenon_named_data_map, get_tensor_layout, 16);
OFFSET(tenon_named_data_map, get_key, 24);
SIZE(tenon_tracer, 24);
OFFSET(tenon_tracer, struct_size, 0);
OFFSET(tenon_tracer, reserved, 4);
OFFSET(tenon_tracer, now, 8);
OFFSET(tenon_tracer, log_event, 16);
VALUE(TENON_LOG_DEBUG, 0);
VALUE(TENON_LOG_INFO, 1);
VALUE(TENON_LOG_ERROR, 2);
VALUE(TENON_LOG_FATAL, 3);

// backend.h
SIZE(tenon_compile_spec, 32);
OFFSET(tenon_compile_spec, struct_size, 0);
OFFSET(tenon_compile_spec, reserved, 4);
OFFSET(tenon_compile_spec, key, 8);
OFFSET(tenon_compile_spec, value, 16);
OFFSET(tenon_compile_spec, value_size, 24);
SIZE(tenon_option, 32);
OFFSET(tenon_option, struct_size, 0);
OFFSET(tenon_option, type, 4);
OFFSET(tenon_option, key, 8);
OFFSET(tenon_option, as, 16);
SIZE(tenon_init_context, 80);
OFFSET(tenon_init_context, struct_size, 0);
OFFSET(tenon_init_context, num_compile_specs, 4);
OFFSET(tenon_init_context, host, 8);
OFFSET(tenon_init_context, method_name, 16);
OFFSET(tenon_init_context, processed, 24);
OFFSET(tenon_init_context, compile_specs, 32);
OFFSET(tenon_init_context, runtime_allocator, 40);
OFFSET(tenon_init_context, named_data_map, 48);
OFFSET(tenon_init_context, tracer, 56);
OFFSET(tenon_init_context, runtime_specs, 64);
OFFSET(tenon_init_context, num_runtime_specs, 72);
OFFSET(tenon_init_context, reserved, 76);
SIZE(tenon_execution_context, 40);
OFFSET(tenon_execution_context, struct_size, 0);
OFFSET(tenon_execution_context, reserved, 4);
OFFSET(tenon_execution_context, host, 8);
OFFSET(tenon_execution_context, method_name, 16);
OFFSET(tenon_execution_context, temp_allocator, 24);
OFFSET(tenon_execution_context, tracer, 32);
SIZE(tenon_backend_api, 64);
OFFSET(tenon_backend_api, struct_size, 0);
OFFSET(tenon_backend_api, reserved, 4);
OFFSET(tenon_backend_api, open, 8);
OFFSET(tenon_backend_api, close, 16);
OFFSET(tenon_backend_api, is_available, 24);
OFFSET(tenon_backend_api, init, 32);
OFFSET(tenon_backend_api, execute, 40);
OFFSET(tenon_backend_api, destroy, 48);
OFFSET(tenon_backend_api, get_extension, 56);
VALUE(TENON_OPTION_BOOL, 1);
VALUE(TENON_OPTION_INT, 2);
VALUE(TENON_OPTION_DOUBLE, 3);
VALUE(TENON_OPTION_STRING, 4);
VALUE(TENON_OPTION_BYTES, 5);

// plugin.h
SIZE(tenon_plugin_head, 360);
OFFSET(tenon_plugin_head, magic, 0);
OFFSET(tenon_plugin_head, head_size, 8);
OFFSET(tenon_plugin_head, object_size, 12);
OFFSET(tenon_plugin_head, abi_major, 16);
OFFSET(tenon_plugin_head, abi_minor, 18);
OFFSET(tenon_plugin_head, min_host_abi_minor, 20);
OFFSET(tenon_plugin_head, pointer_size, 22);
OFFSET(tenon_plugin_head, little_endian, 23);
OFFSET(tenon_plugin_head, num_backends, 24);
OFFSET(tenon_plugin_head, records_offset, 28);
OFFSET(tenon_plugin_head, record_size, 32);
OFFSET(tenon_plugin_head, body_offset, 36);
OFFSET(tenon_plugin_head, name, 40);
OFFSET(tenon_plugin_head, version, 104);
OFFSET(tenon_plugin_head, vendor, 168);
OFFSET(tenon_plugin_head, sdk_version, 296);
SIZE(tenon_backend_record, 464);
OFFSET(tenon_backend_record, struct_size, 0);
OFFSET(tenon_backend_record, priority, 4);
OFFSET(tenon_backend_record, min_payload_version, 8);
OFFSET(tenon_backend_record, max_payload_version, 12);
OFFSET(tenon_backend_record, id, 16);
OFFSET(tenon_backend_record, tags, 80);
OFFSET(tenon_backend_record, cpu_features, 208);
OFFSET(tenon_backend_record, description, 336);
SIZE(tenon_plugin_body, 16);
OFFSET(tenon_plugin_body, struct_size, 0);
OFFSET(tenon_plugin_body, num_backends, 4);
OFFSET(tenon_plugin_body, backends, 8);
VALUE(TENON_ID_SIZE, 64);
VALUE(TENON_TEXT_SIZE, 128);

// extensions/check_blob.h
SIZE(tenon_check_blob_v1, 16);
OFFSET(tenon_check_blob_v1, struct_size, 0);
OFFSET(tenon_check_blob_v1, reserved, 4);
OFFSET(tenon_check_blob_v1, check_blob, 8);
VALUE(TENON_BLOB_OPTIMAL, 0);
VALUE(TENON_BLOB_USABLE, 1);
VALUE(TENON_BLOB_INCOMPATIBLE, 2);

// extensions/devices.h
SIZE(tenon_device_info, 40);
OFFSET(tenon_device_info, struct_size, 0);
OFFSET(tenon_device_info, reserved, 4);
OFFSET(tenon_device_info, device, 8);
OFFSET(tenon_device_info, name, 16);
OFFSET(tenon_device_info, description, 24);
OFFSET(tenon_device_info, memory_bytes, 32);
SIZE(tenon_devices_v1, 16);
OFFSET(tenon_devices_v1, struct_size, 0);
OFFSET(tenon_devices_v1, reserved, 4);
OFFSET(tenon_devices_v1, list_devices, 8);

// extensions/memory_info.h
SIZE(tenon_memory_info, 40);
OFFSET(tenon_memory_info, struct_size, 0);
OFFSET(tenon_memory_info, reserved, 4);
OFFSET(tenon_memory_info, host_weights, 8);
OFFSET(tenon_memory_info, host_scratch, 16);
OFFSET(tenon_memory_info, device_weights, 24);
OFFSET(tenon_memory_info, device_scratch, 32);
SIZE(tenon_memory_info_v1, 16);
OFFSET(tenon_memory_info_v1, struct_size, 0);
OFFSET(tenon_memory_info_v1, reserved, 4);
OFFSET(tenon_memory_info_v1, memory_info, 8);

// extensions/options.h
SIZE(tenon_option_spec, 48);
OFFSET(tenon_option_spec, struct_size, 0);
OFFSET(tenon_option_spec, flags, 4);
OFFSET(tenon_option_spec, description, 8);
OFFSET(tenon_option_spec, initial, 16);
SIZE(tenon_options_v1, 32);
OFFSET(tenon_options_v1, struct_size, 0);
OFFSET(tenon_options_v1, num_specs, 4);
OFFSET(tenon_options_v1, specs, 8);
OFFSET(tenon_options_v1, set_option, 16);
OFFSET(tenon_options_v1, get_option, 24);
VALUE(TENON_OPTION_AT_RUNTIME, 1);
VALUE(TENON_OPTION_AT_LOAD, 2);
