// SPDX-License-Identifier: MIT
//
// The ahead-of-time half of the good backend: it takes each addition of two float32 tensors of one
// shape, and compiles it to the blob that good.h describes. A plugin of the zoo includes this,
// replaces one of its functions, and then includes good_plugin.h.

#ifndef TENON_ZOO_GOOD_COMPILER_H
#define TENON_ZOO_GOOD_COMPILER_H

#include "good.h"

/// Element `index` of an array of structs, with the size that the first one states.
#define ZOO_AT(type, first, index) \
  ((const type*)(const void*)((const char*)(first) + (size_t)(index) * (first)->struct_size))

static inline const tenon_edge_value* good_argument(const tenon_edge_program* program,
                                                    const tenon_edge_node* node, const char* name) {
  for (uint32_t i = 0; i < node->num_arguments; ++i) {
    const tenon_edge_argument* const argument = ZOO_AT(tenon_edge_argument, node->arguments, i);
    if (strcmp(argument->name, name) != 0 || argument->kind != TENON_EDGE_ARG_VALUE) continue;
    return ZOO_AT(tenon_edge_value, program->values, argument->as.value);
  }
  return NULL;
}

static inline int good_same_shape(const tenon_edge_value* a, const tenon_edge_value* b) {
  if (a->rank != b->rank || a->rank > 8) return 0;
  for (uint32_t i = 0; i < a->rank; ++i) {
    const tenon_edge_size* const x = ZOO_AT(tenon_edge_size, a->sizes, i);
    const tenon_edge_size* const y = ZOO_AT(tenon_edge_size, b->sizes, i);
    if (x->min != y->min || x->max != y->max) return 0;
    if (x->min != x->max && strcmp(x->expression, y->expression) != 0) return 0;
    if (a->dim_order[i] != i || b->dim_order[i] != i) return 0;
  }
  return 1;
}

static inline int good_is_float(const tenon_edge_value* value) {
  return value && value->kind == TENON_EDGE_TENSOR && value->scalar_type == 6 && !value->fqn;
}

/// Whether node number `index` is an addition that the backend can run.
static inline int good_takes(const tenon_edge_program* program, uint32_t index) {
  const tenon_edge_node* const node = ZOO_AT(tenon_edge_node, program->nodes, index);
  if (strcmp(node->target, "aten.add.Tensor") != 0 || node->num_arguments != 2) return 0;
  const tenon_edge_value* const a = good_argument(program, node, "self");
  const tenon_edge_value* const b = good_argument(program, node, "other");
  return good_is_float(a) && good_is_float(b) && a != b && good_same_shape(a, b);
}

/// Each addition is a partition of its own, named after the node.
static inline tenon_status good_partition(tenon_backend* backend, const tenon_edge_program* program,
                                          const tenon_compile_spec* options, uint32_t num_options,
                                          const tenon_partition_sink* sink) {
  (void)backend;
  for (uint32_t i = 0; i < program->num_nodes; ++i) {
    if (!good_takes(program, i)) continue;
    const char* const tag = ZOO_AT(tenon_edge_node, program->nodes, i)->name;
    tenon_status status = sink->add_partition(sink->context, tag, options, num_options);
    if (status != TENON_STATUS_OK) return status;
    status = sink->tag_node(sink->context, i, tag);
    if (status != TENON_STATUS_OK) return status;
  }
  return TENON_STATUS_OK;
}

#ifndef ZOO_COMPILED_VERSION
#define ZOO_COMPILED_VERSION 1
#endif

/// The blob of an addition, for partition number `index` of the call.
static inline tenon_status good_send_blob(uint32_t index, const tenon_preprocess_sink* sink) {
  const unsigned char blob[16] = {'Z', 'O', 'O', '1', ZOO_COMPILED_VERSION};
  return sink->set_processed(sink->context, index, blob, sizeof blob);
}

/// A failure when the program is not one addition.
static inline tenon_status good_check_part(tenon_backend* backend,
                                           const tenon_edge_program* program) {
  for (uint32_t i = 0; i < program->num_nodes; ++i) {
    if (good_takes(program, i) && program->num_nodes == 1) continue;
    const tenon_edge_node* const node = ZOO_AT(tenon_edge_node, program->nodes, i);
    return good_fail(backend->host, TENON_STATUS_NOT_SUPPORTED,
                     "node %.64s: expected one addition of two float32 tensors, found %.64s of %u",
                     node->name, node->target, program->num_nodes);
  }
  if (program->num_nodes != 0) return TENON_STATUS_OK;
  return good_fail(backend->host, TENON_STATUS_NOT_SUPPORTED,
                   "method %.64s: expected one addition, found 0 nodes", program->method_name);
}

static inline tenon_status good_preprocess(tenon_backend* backend,
                                           const tenon_partition* partitions, uint32_t count,
                                           const tenon_preprocess_sink* sink) {
  for (uint32_t i = 0; i < count; ++i) {
    tenon_status status = good_check_part(backend, ZOO_AT(tenon_partition, partitions, i)->program);
    if (status == TENON_STATUS_OK) status = good_send_blob(i, sink);
    if (status != TENON_STATUS_OK) return status;
  }
  return TENON_STATUS_OK;
}

#ifndef ZOO_PARTITION
#define ZOO_PARTITION good_partition
#endif
#ifndef ZOO_PREPROCESS
#define ZOO_PREPROCESS good_preprocess
#endif
#define ZOO_EXTENSIONS(id)                                                                \
  do {                                                                                    \
    static const tenon_preprocess_v1 compiler = {sizeof compiler, 0, ZOO_PARTITION, NULL, \
                                                 ZOO_PREPROCESS};                         \
    if (strcmp(id, TENON_EXTENSION_PREPROCESS) == 0) return &compiler;                    \
  } while (0)

#endif  // TENON_ZOO_GOOD_COMPILER_H
