// SPDX-License-Identifier: MIT
//
// The ahead-of-time half (TN-AOT). README.md says how a section becomes a plugin.

#ifdef ZOO_compiles_another_operation
// Breaks TN-AOT-4 at level 5: what it compiles an addition to adds one more.
#define ZOO_COMPILED_VERSION 7
#define ZOO_KNOWS_VERSION(version) ((version) == 1 || (version) == 7)
#include "good_compiler.h"

ZOO_INIT_FUNCTION(init) {
  const tenon_status status = good_init(backend, context, out);
  if (status == TENON_STATUS_OK && (*out)->model->version == 7) (*out)->model->bias += 1.0f;
  return status;
}

#define ZOO_INIT init
#endif

#ifdef ZOO_refuses_its_own_blobs
// Breaks TN-AOT-3 at level 5: it compiles to a version of its blob that `init` refuses.
#define ZOO_COMPILED_VERSION 2
#include "good_compiler.h"
#endif

#include "good_compiler.h"

#ifdef ZOO_compiles_differently
// Breaks TN-AOT-2 at level 5: each compilation adds different named data.
static tenon_status preprocess(tenon_backend* backend, const tenon_partition* partitions,
                               uint32_t count, const tenon_preprocess_sink* sink) {
  static atomic_uint calls;
  const unsigned char call = (unsigned char)atomic_fetch_add(&calls, 1);
  const tenon_named_data data = {
      .struct_size = sizeof data, .alignment = 1, .key = "call", .data = &call, .nbytes = 1};
  tenon_status status = good_preprocess(backend, partitions, count, sink);
  for (uint32_t i = 0; i < count && status == TENON_STATUS_OK; ++i) {
    status = sink->add_named_data(sink->context, i, &data);
  }
  return status;
}

#undef ZOO_PREPROCESS
#define ZOO_PREPROCESS preprocess
#endif

#ifdef ZOO_compiles_on_device_alone
// Breaks TN-AOT-1 at level 5: it compiles only on a machine with its device.
static tenon_status is_available(tenon_backend* backend) {
  return good_fail(backend->host, TENON_STATUS_NOT_FOUND, "device: expected 1 keeper, found 0");
}

static tenon_status preprocess(tenon_backend* backend, const tenon_partition* partitions,
                               uint32_t count, const tenon_preprocess_sink* sink) {
  const tenon_status status = is_available(backend);
  return status == TENON_STATUS_OK ? good_preprocess(backend, partitions, count, sink) : status;
}

ZOO_INIT_FUNCTION(init) {
  const tenon_status status = is_available(backend);
  return status == TENON_STATUS_OK ? good_init(backend, context, out) : status;
}

#undef ZOO_PREPROCESS
#define ZOO_PREPROCESS preprocess
#define ZOO_IS_AVAILABLE is_available
#define ZOO_INIT init
#endif

#ifdef ZOO_good_compiler
// Breaks nothing: a backend with an ahead-of-time half.
#include "good_compiler.h"
#endif

#ifdef ZOO_leaves_nodes_out
// Breaks TN-AOT-4 at level 5: it compiles any program as an addition.
static tenon_status preprocess(tenon_backend* backend, const tenon_partition* partitions,
                               uint32_t count, const tenon_preprocess_sink* sink) {
  (void)backend;
  (void)partitions;
  tenon_status status = TENON_STATUS_OK;
  for (uint32_t i = 0; i < count && status == TENON_STATUS_OK; ++i) {
    status = good_send_blob(i, sink);
  }
  return status;
}

#undef ZOO_PREPROCESS
#define ZOO_PREPROCESS preprocess
#endif

#ifdef ZOO_names_no_node
// Breaks TN-AOT-4 at level 5: it refuses a program without naming the unsupported node.
static tenon_status preprocess(tenon_backend* backend, const tenon_partition* partitions,
                               uint32_t count, const tenon_preprocess_sink* sink) {
  for (uint32_t i = 0; i < count; ++i) {
    if (!good_takes(ZOO_AT(tenon_partition, partitions, i)->program, 0)) {
      return good_fail(backend->host, TENON_STATUS_NOT_SUPPORTED,
                       "expected additions, found something else in partition %u", i);
    }
  }
  return good_preprocess(backend, partitions, count, sink);
}

#undef ZOO_PREPROCESS
#define ZOO_PREPROCESS preprocess
#endif

#ifdef ZOO_takes_too_much
// Breaks TN-AOT-5 at level 5: it chooses every node, and then refuses all but additions.
static tenon_status partition(tenon_backend* backend, const tenon_edge_program* program,
                              const tenon_compile_spec* options, uint32_t num_options,
                              const tenon_partition_sink* sink) {
  (void)backend;
  tenon_status status = TENON_STATUS_OK;
  for (uint32_t i = 0; i < program->num_nodes && status == TENON_STATUS_OK; ++i) {
    const char* const tag = ZOO_AT(tenon_edge_node, program->nodes, i)->name;
    status = sink->add_partition(sink->context, tag, options, num_options);
    if (status == TENON_STATUS_OK) status = sink->tag_node(sink->context, i, tag);
  }
  return status;
}

#undef ZOO_PARTITION
#define ZOO_PARTITION partition
#endif

#ifdef ZOO_writes_to_the_program
// Breaks TN-AOT-6 at level 5: it renames the nodes of the program that it compiles.
static tenon_status preprocess(tenon_backend* backend, const tenon_partition* partitions,
                               uint32_t count, const tenon_preprocess_sink* sink) {
  const tenon_status status = good_preprocess(backend, partitions, count, sink);
  for (uint32_t i = 0; i < count; ++i) {
    const tenon_edge_program* const program = ZOO_AT(tenon_partition, partitions, i)->program;
    for (uint32_t j = 0; j < program->num_nodes; ++j) {
      *(char*)(uintptr_t)ZOO_AT(tenon_edge_node, program->nodes, j)->name = '_';
    }
  }
  return status;
}

#undef ZOO_PREPROCESS
#define ZOO_PREPROCESS preprocess
#endif

#ifdef ZOO_writes_to_weights
// Breaks TN-AOT-6 at level 5: it rounds the weights of its caller in place.
static tenon_status partition(tenon_backend* backend, const tenon_edge_program* program,
                              const tenon_compile_spec* options, uint32_t num_options,
                              const tenon_partition_sink* sink) {
  for (uint32_t i = 0; i < program->num_values; ++i) {
    const tenon_edge_value* const value = ZOO_AT(tenon_edge_value, program->values, i);
    float* const weights = (float*)(uintptr_t)value->data.data;
    for (uint64_t j = 0; j < value->data.size / sizeof(float); ++j) weights[j] += 0.5f;
  }
  return good_partition(backend, program, options, num_options, sink);
}

#undef ZOO_PARTITION
#define ZOO_PARTITION partition
#endif

#include "good_plugin.h"
