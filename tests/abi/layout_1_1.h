// SPDX-License-Identifier: MIT
//
// The additions of ABI 1.1, in numbers, for today's headers. There is no frozen copy until 1.1 is
// released.

#include "layout_1_0.h"

LAYOUT_ASSERT(TENON_ABI_MINOR >= 1, "TENON_ABI_MINOR");

// backend.h
SIZE(tenon_init_context, 96);
OFFSET(tenon_init_context, permit_code, 80);
OFFSET(tenon_init_context, scheduling, 88);

// host.h
SIZE(tenon_tracer, 32);
OFFSET(tenon_tracer, log_counter, 24);

// extensions/cancel.h
SIZE(tenon_cancel_flag_v1, 16);
OFFSET(tenon_cancel_flag_v1, struct_size, 0);
OFFSET(tenon_cancel_flag_v1, reserved, 4);
OFFSET(tenon_cancel_flag_v1, get_cancel_flag, 8);
SIZE(tenon_cancel_v1, 16);
OFFSET(tenon_cancel_v1, struct_size, 0);
OFFSET(tenon_cancel_v1, reserved, 4);
OFFSET(tenon_cancel_v1, cancel, 8);

// extensions/intermediates.h
SIZE(tenon_intermediate, 32);
OFFSET(tenon_intermediate, struct_size, 0);
OFFSET(tenon_intermediate, reserved, 4);
OFFSET(tenon_intermediate, handle, 8);
OFFSET(tenon_intermediate, name, 16);
OFFSET(tenon_intermediate, name_size, 24);
SIZE(tenon_intermediate_list, 16);
OFFSET(tenon_intermediate_list, struct_size, 0);
OFFSET(tenon_intermediate_list, reserved, 4);
OFFSET(tenon_intermediate_list, add, 8);
SIZE(tenon_intermediate_sink, 16);
OFFSET(tenon_intermediate_sink, struct_size, 0);
OFFSET(tenon_intermediate_sink, reserved, 4);
OFFSET(tenon_intermediate_sink, take, 8);
SIZE(tenon_intermediates_v1, 24);
OFFSET(tenon_intermediates_v1, struct_size, 0);
OFFSET(tenon_intermediates_v1, reserved, 4);
OFFSET(tenon_intermediates_v1, list, 8);
OFFSET(tenon_intermediates_v1, record, 16);

// extensions/sequence.h
SIZE(tenon_state_part, 40);
OFFSET(tenon_state_part, struct_size, 0);
OFFSET(tenon_state_part, reserved, 4);
OFFSET(tenon_state_part, name, 8);
OFFSET(tenon_state_part, name_size, 16);
OFFSET(tenon_state_part, data, 24);
OFFSET(tenon_state_part, nbytes, 32);
SIZE(tenon_state_list, 16);
OFFSET(tenon_state_list, struct_size, 0);
OFFSET(tenon_state_list, reserved, 4);
OFFSET(tenon_state_list, add, 8);
SIZE(tenon_sequence_v1, 40);
OFFSET(tenon_sequence_v1, struct_size, 0);
OFFSET(tenon_sequence_v1, reserved, 4);
OFFSET(tenon_sequence_v1, list, 8);
OFFSET(tenon_sequence_v1, read, 16);
OFFSET(tenon_sequence_v1, write, 24);
OFFSET(tenon_sequence_v1, written, 32);

// extensions/changes.h
SIZE(tenon_changes, 16);
OFFSET(tenon_changes, struct_size, 0);
OFFSET(tenon_changes, counted, 4);
OFFSET(tenon_changes, count, 8);
SIZE(tenon_changes_v1, 16);
OFFSET(tenon_changes_v1, struct_size, 0);
OFFSET(tenon_changes_v1, reserved, 4);
OFFSET(tenon_changes_v1, get_changes, 8);

// extensions/device_memory.h
SIZE(tenon_device_memory_v1, 48);
OFFSET(tenon_device_memory_v1, struct_size, 0);
OFFSET(tenon_device_memory_v1, reserved, 4);
OFFSET(tenon_device_memory_v1, allocate, 8);
OFFSET(tenon_device_memory_v1, free, 16);
OFFSET(tenon_device_memory_v1, copy_to_device, 24);
OFFSET(tenon_device_memory_v1, copy_to_host, 32);
OFFSET(tenon_device_memory_v1, copy_on, 40);

// extensions/external_memory.h
SIZE(tenon_external_memory, 72);
OFFSET(tenon_external_memory, struct_size, 0);
OFFSET(tenon_external_memory, kind, 4);
OFFSET(tenon_external_memory, descriptor, 8);
OFFSET(tenon_external_memory, handle, 16);
OFFSET(tenon_external_memory, object_size, 24);
OFFSET(tenon_external_memory, offset, 32);
OFFSET(tenon_external_memory, nbytes, 40);
OFFSET(tenon_external_memory, access, 48);
OFFSET(tenon_external_memory, flags, 52);
OFFSET(tenon_external_memory, device, 56);
OFFSET(tenon_external_memory, reserved, 64);
SIZE(tenon_external_fence, 40);
OFFSET(tenon_external_fence, struct_size, 0);
OFFSET(tenon_external_fence, kind, 4);
OFFSET(tenon_external_fence, descriptor, 8);
OFFSET(tenon_external_fence, handle, 16);
OFFSET(tenon_external_fence, value, 24);
OFFSET(tenon_external_fence, reserved, 32);
SIZE(tenon_external_memory_v1, 56);
OFFSET(tenon_external_memory_v1, struct_size, 0);
OFFSET(tenon_external_memory_v1, reserved, 4);
OFFSET(tenon_external_memory_v1, memory_kinds, 8);
OFFSET(tenon_external_memory_v1, fence_kinds, 16);
OFFSET(tenon_external_memory_v1, import_memory, 24);
OFFSET(tenon_external_memory_v1, release_memory, 32);
OFFSET(tenon_external_memory_v1, wait_fence, 40);
OFFSET(tenon_external_memory_v1, signal_fence, 48);
VALUE(TENON_EXTERNAL_MEMFD, 1);
VALUE(TENON_EXTERNAL_DMA_BUF, 2);
VALUE(TENON_EXTERNAL_OPAQUE_FD, 3);
VALUE(TENON_EXTERNAL_OPAQUE_WIN32, 4);
VALUE(TENON_EXTERNAL_CUDA_IPC, 5);
VALUE(TENON_EXTERNAL_CL_MEM, 6);
VALUE(TENON_EXTERNAL_HARDWARE_BUFFER, 7);
VALUE(TENON_EXTERNAL_IO_SURFACE, 8);
VALUE(TENON_EXTERNAL_HOST_MEMORY, 9);
VALUE(TENON_EXTERNAL_READ, 1);
VALUE(TENON_EXTERNAL_WRITE, 2);
VALUE(TENON_EXTERNAL_DEDICATED, 1);
VALUE(TENON_FENCE_SYNC_FILE, 1);
VALUE(TENON_FENCE_EVENT_FD, 2);
VALUE(TENON_FENCE_SEMAPHORE_FD, 3);
VALUE(TENON_FENCE_SEMAPHORE_WIN32, 4);

// extensions/estimate.h
SIZE(tenon_memory_need, 24);
OFFSET(tenon_memory_need, struct_size, 0);
OFFSET(tenon_memory_need, kind, 4);
OFFSET(tenon_memory_need, device, 8);
OFFSET(tenon_memory_need, nbytes, 16);
SIZE(tenon_estimate_v1, 24);
OFFSET(tenon_estimate_v1, struct_size, 0);
OFFSET(tenon_estimate_v1, reserved, 4);
OFFSET(tenon_estimate_v1, estimate, 8);
OFFSET(tenon_estimate_v1, free_memory, 16);
VALUE(TENON_MEMORY_WEIGHTS, 0);
VALUE(TENON_MEMORY_WORKSPACE, 1);
VALUE(TENON_MEMORY_SESSION, 2);
VALUE(TENON_MEMORY_UNKNOWN, UINT64_MAX);

// extensions/events.h
SIZE(tenon_metal_event, 16);
OFFSET(tenon_metal_event, shared_event, 0);
OFFSET(tenon_metal_event, value, 8);
SIZE(tenon_events_v1, 88);
OFFSET(tenon_events_v1, struct_size, 0);
OFFSET(tenon_events_v1, reserved, 4);
OFFSET(tenon_events_v1, kind, 8);
OFFSET(tenon_events_v1, create_event, 16);
OFFSET(tenon_events_v1, start, 24);
OFFSET(tenon_events_v1, record, 32);
OFFSET(tenon_events_v1, wait, 40);
OFFSET(tenon_events_v1, query, 48);
OFFSET(tenon_events_v1, wait_on, 56);
OFFSET(tenon_events_v1, export_handle, 64);
OFFSET(tenon_events_v1, import_handle, 72);
OFFSET(tenon_events_v1, destroy_event, 80);

// extensions/kernel_lookup.h
SIZE(tenon_kernel_lookup_v1, 48);
OFFSET(tenon_kernel_lookup_v1, struct_size, 0);
OFFSET(tenon_kernel_lookup_v1, reserved, 4);
OFFSET(tenon_kernel_lookup_v1, find_kernel, 8);
OFFSET(tenon_kernel_lookup_v1, clone_kernel, 16);
OFFSET(tenon_kernel_lookup_v1, run_kernel, 24);
OFFSET(tenon_kernel_lookup_v1, destroy_kernel, 32);
OFFSET(tenon_kernel_lookup_v1, last_failure, 40);

// extensions/kernels.h
SIZE(tenon_kernels_v1, 40);
OFFSET(tenon_kernels_v1, struct_size, 0);
OFFSET(tenon_kernels_v1, reserved, 4);
OFFSET(tenon_kernels_v1, list_operators, 8);
OFFSET(tenon_kernels_v1, create_kernel, 16);
OFFSET(tenon_kernels_v1, run_kernel, 24);
OFFSET(tenon_kernels_v1, destroy_kernel, 32);

// extensions/scheduling.h
SIZE(tenon_scheduling, 16);
OFFSET(tenon_scheduling, struct_size, 0);
OFFSET(tenon_scheduling, priority, 4);
OFFSET(tenon_scheduling, goal, 8);
OFFSET(tenon_scheduling, power, 12);
SIZE(tenon_scheduling_v1, 40);
OFFSET(tenon_scheduling_v1, struct_size, 0);
OFFSET(tenon_scheduling_v1, reserved, 4);
OFFSET(tenon_scheduling_v1, priority, 8);
OFFSET(tenon_scheduling_v1, goal, 16);
OFFSET(tenon_scheduling_v1, power, 24);
OFFSET(tenon_scheduling_v1, set_scheduling, 32);
VALUE(TENON_PRIORITY_LOW, 1);
VALUE(TENON_PRIORITY_NORMAL, 2);
VALUE(TENON_PRIORITY_HIGH, 3);
VALUE(TENON_GOAL_LATENCY, 1);
VALUE(TENON_GOAL_THROUGHPUT, 2);
VALUE(TENON_POWER_LOW, 1);
VALUE(TENON_POWER_BALANCED, 2);
VALUE(TENON_POWER_HIGH, 3);

// extensions/sessions.h
SIZE(tenon_sessions_v1, 16);
OFFSET(tenon_sessions_v1, struct_size, 0);
OFFSET(tenon_sessions_v1, reserved, 4);
OFFSET(tenon_sessions_v1, create_session, 8);

// extensions/streams.h
SIZE(tenon_streams_v1, 16);
OFFSET(tenon_streams_v1, struct_size, 0);
OFFSET(tenon_streams_v1, reserved, 4);
OFFSET(tenon_streams_v1, set_stream, 8);

// extensions/prepare.h
SIZE(tenon_prepared, 40);
OFFSET(tenon_prepared, struct_size, 0);
OFFSET(tenon_prepared, reserved, 4);
OFFSET(tenon_prepared, data, 8);
OFFSET(tenon_prepared, nbytes, 16);
OFFSET(tenon_prepared, store, 24);
OFFSET(tenon_prepared, release, 32);
SIZE(tenon_prepare_v1, 16);
OFFSET(tenon_prepare_v1, struct_size, 0);
OFFSET(tenon_prepare_v1, reserved, 4);
OFFSET(tenon_prepare_v1, open, 8);

// extensions/threads.h
SIZE(tenon_thread_pool, 32);
OFFSET(tenon_thread_pool, struct_size, 0);
OFFSET(tenon_thread_pool, num_threads, 4);
OFFSET(tenon_thread_pool, processors, 8);
OFFSET(tenon_thread_pool, num_processors, 16);
OFFSET(tenon_thread_pool, reserved, 20);
OFFSET(tenon_thread_pool, parallel_for, 24);
SIZE(tenon_threads_v1, 24);
OFFSET(tenon_threads_v1, struct_size, 0);
OFFSET(tenon_threads_v1, reserved, 4);
OFFSET(tenon_threads_v1, get_pool, 8);
OFFSET(tenon_threads_v1, get_pool_of_init, 16);

// plugin.h
SIZE(tenon_backend_record, 472);
OFFSET(tenon_backend_record, flags, 464);
OFFSET(tenon_backend_record, reserved, 468);
VALUE(TENON_BACKEND_RUNS_EMBEDDED_CODE, 1);
VALUE(TENON_BACKEND_OFFERS_KERNELS, 2);
