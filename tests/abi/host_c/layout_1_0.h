// SPDX-License-Identifier: MIT
//
// The layout of the C interface 1.0 in numbers, for 64-bit platforms. Compiling this is the check,
// as C11 and as C++20. A later minor may append to a struct, so a size is a lower bound.

#include "tenon/host/c/tenon_host.h"

#include <stddef.h>

#ifdef __cplusplus
#define LAYOUT_ASSERT static_assert
#else
#define LAYOUT_ASSERT _Static_assert
#endif
#define SIZE(type, bytes) LAYOUT_ASSERT(sizeof(type) >= (bytes), #type)
#define OFFSET(type, member, bytes) \
  LAYOUT_ASSERT(offsetof(type, member) == (bytes), #type "." #member)
#define VALUE(constant, number) LAYOUT_ASSERT((constant) == (number), #constant)

LAYOUT_ASSERT(sizeof(void*) == 8, "the numbers below are those of a 64-bit platform");
LAYOUT_ASSERT(TENON_C_MAJOR == 1, "TENON_C_MAJOR");

SIZE(tenon_registry_options, 32);
OFFSET(tenon_registry_options, struct_size, 0);
OFFSET(tenon_registry_options, reserved, 4);
OFFSET(tenon_registry_options, name, 8);
OFFSET(tenon_registry_options, log, 16);
OFFSET(tenon_registry_options, log_data, 24);

SIZE(tenon_discovery_options, 24);
OFFSET(tenon_discovery_options, struct_size, 0);
OFFSET(tenon_discovery_options, flags, 4);
OFFSET(tenon_discovery_options, paths, 8);
OFFSET(tenon_discovery_options, num_paths, 16);
OFFSET(tenon_discovery_options, reserved, 20);

SIZE(tenon_backend_info, 80);
OFFSET(tenon_backend_info, struct_size, 0);
OFFSET(tenon_backend_info, state, 4);
OFFSET(tenon_backend_info, id, 8);
OFFSET(tenon_backend_info, origin, 16);
OFFSET(tenon_backend_info, reason, 24);
OFFSET(tenon_backend_info, description, 32);
OFFSET(tenon_backend_info, tags, 40);
OFFSET(tenon_backend_info, name, 48);
OFFSET(tenon_backend_info, version, 56);
OFFSET(tenon_backend_info, vendor, 64);
OFFSET(tenon_backend_info, priority, 72);
OFFSET(tenon_backend_info, num_users, 76);

SIZE(tenon_program_options, 16);
OFFSET(tenon_program_options, struct_size, 0);
OFFSET(tenon_program_options, num_limits, 4);
OFFSET(tenon_program_options, limits, 8);

SIZE(tenon_value_meta, 72);
OFFSET(tenon_value_meta, struct_size, 0);
OFFSET(tenon_value_meta, kind, 4);
OFFSET(tenon_value_meta, scalar_type, 8);
OFFSET(tenon_value_meta, rank, 12);
OFFSET(tenon_value_meta, dtype, 16);
OFFSET(tenon_value_meta, shape_dynamism, 20);
OFFSET(tenon_value_meta, sizes, 24);
OFFSET(tenon_value_meta, dim_order, 32);
OFFSET(tenon_value_meta, nbytes, 40);
OFFSET(tenon_value_meta, device, 48);
OFFSET(tenon_value_meta, is_memory_planned, 56);
OFFSET(tenon_value_meta, name_size, 60);
OFFSET(tenon_value_meta, name, 64);

SIZE(tenon_backend_options, 24);
OFFSET(tenon_backend_options, struct_size, 0);
OFFSET(tenon_backend_options, num_options, 4);
OFFSET(tenon_backend_options, backend_id, 8);
OFFSET(tenon_backend_options, options, 16);

SIZE(tenon_device_bytes, 24);
OFFSET(tenon_device_bytes, struct_size, 0);
OFFSET(tenon_device_bytes, reserved, 4);
OFFSET(tenon_device_bytes, device, 8);
OFFSET(tenon_device_bytes, nbytes, 16);

SIZE(tenon_method_options, 96);
OFFSET(tenon_method_options, struct_size, 0);
OFFSET(tenon_method_options, flags, 4);
OFFSET(tenon_method_options, registry, 8);
OFFSET(tenon_method_options, executor, 16);
OFFSET(tenon_method_options, backend_options, 24);
OFFSET(tenon_method_options, data_files, 32);
OFFSET(tenon_method_options, limits, 40);
OFFSET(tenon_method_options, budget, 48);
OFFSET(tenon_method_options, num_backend_options, 56);
OFFSET(tenon_method_options, num_data_files, 60);
OFFSET(tenon_method_options, num_limits, 64);
OFFSET(tenon_method_options, num_budget, 68);
OFFSET(tenon_method_options, variant, 72);
OFFSET(tenon_method_options, embedded_code, 80);
OFFSET(tenon_method_options, scheduling, 88);

SIZE(tenon_dl_managed_tensor, 80);
OFFSET(tenon_dl_managed_tensor, major, 0);
OFFSET(tenon_dl_managed_tensor, minor, 4);
OFFSET(tenon_dl_managed_tensor, manager_ctx, 8);
OFFSET(tenon_dl_managed_tensor, deleter, 16);
OFFSET(tenon_dl_managed_tensor, flags, 24);
OFFSET(tenon_dl_managed_tensor, dl_tensor, 32);

SIZE(tenon_method_memory, 48);
OFFSET(tenon_method_memory, struct_size, 0);
OFFSET(tenon_method_memory, num_delegates, 4);
OFFSET(tenon_method_memory, host, 8);
OFFSET(tenon_method_memory, planned_host, 16);
OFFSET(tenon_method_memory, planned_device, 24);
OFFSET(tenon_method_memory, tables, 32);
OFFSET(tenon_method_memory, temp, 40);

SIZE(tenon_delegate_memory, 48);
OFFSET(tenon_delegate_memory, struct_size, 0);
OFFSET(tenon_delegate_memory, is_reported, 4);
OFFSET(tenon_delegate_memory, lent, 8);
OFFSET(tenon_delegate_memory, host_weights, 16);
OFFSET(tenon_delegate_memory, host_scratch, 24);
OFFSET(tenon_delegate_memory, device_weights, 32);
OFFSET(tenon_delegate_memory, device_scratch, 40);

VALUE(TENON_DISCOVERY_NO_ENVIRONMENT, 1);
VALUE(TENON_DISCOVERY_NO_INSTALLED, 2);
VALUE(TENON_BACKEND_STATE_KNOWN, 0);
VALUE(TENON_BACKEND_STATE_LOADED, 1);
VALUE(TENON_BACKEND_STATE_SHADOWED, 2);
VALUE(TENON_BACKEND_STATE_DUPLICATE, 3);
VALUE(TENON_BACKEND_STATE_DISABLED, 4);
VALUE(TENON_BACKEND_STATE_UNSUPPORTED, 5);
VALUE(TENON_BACKEND_STATE_REFUSED, 6);
VALUE(TENON_METHOD_CANCELLABLE, 1);
