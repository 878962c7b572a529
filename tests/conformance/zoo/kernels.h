// SPDX-License-Identifier: MIT
//
// The good backend with two kernels: zoo::add.out(self, other, out) and zoo::neg.out(self, out) of
// float32, each of which returns its output.

#ifndef TENON_ZOO_KERNELS_H
#define TENON_ZOO_KERNELS_H

#include "good.h"

struct tenon_kernel {
  tenon_value* const* args;
  uint32_t num_args;
  int runs;
  void* note;  ///< State of a broken plugin; NULL at first.
};

static const char* const kernels_names[] = {"zoo::add.out", "zoo::neg.out"};
enum { kernels_count = sizeof kernels_names / sizeof kernels_names[0] };

static inline tenon_status kernels_list(tenon_backend* backend, tenon_operator_sink sink,
                                        void* context) {
  (void)backend;
  for (size_t i = 0; i < kernels_count; ++i) sink(context, kernels_names[i]);
  return TENON_STATUS_OK;
}

/// Number of arguments of `op`, or 0 for an operator without a kernel.
static inline uint32_t kernels_num_args(const char* op) {
  if (strcmp(op, "zoo::add.out") == 0) return 4;
  return strcmp(op, "zoo::neg.out") == 0 ? 3 : 0;
}

static inline tenon_status kernels_missing(tenon_backend* backend, const char* op) {
  char text[512];
  const int size = snprintf(text, sizeof text, "no kernel for %.400s, expected zoo::add.out", op);
  backend->host->set_last_error(backend->host, TENON_STATUS_OPERATOR_MISSING, text, (uint64_t)size);
  return TENON_STATUS_OPERATOR_MISSING;
}

static inline tenon_status kernels_check(tenon_backend* backend,
                                         const tenon_kernel_context* context) {
  const char* const op = context->op;
  tenon_value* const* const args = context->args;
  const uint32_t num_args = context->num_args;
  if (kernels_num_args(op) == 0) return kernels_missing(backend, op);
  if (num_args != kernels_num_args(op)) {
    return good_fail(backend->host, TENON_STATUS_INVALID_ARGUMENT,
                     "%s: expected %u arguments, found %u", op, kernels_num_args(op), num_args);
  }
  for (uint32_t i = 0; i < num_args; ++i) {
    if (args[i]->kind == TENON_VALUE_TENSOR) continue;
    return good_fail(backend->host, TENON_STATUS_INVALID_ARGUMENT,
                     "%s: argument %u: expected a tensor, found kind %u", op, i, args[i]->kind);
  }
  for (uint32_t i = 0; i < num_args; ++i) {
    if (args[i]->as.tensor->scalar_type == 6) continue;
    return good_fail(backend->host, TENON_STATUS_OPERATOR_MISSING,
                     "%s: argument %u: expected dtype 6 (Float), found dtype %d", op, i,
                     args[i]->as.tensor->scalar_type);
  }
  return TENON_STATUS_OK;
}

static inline tenon_status kernels_make(tenon_backend* backend, const tenon_kernel_context* context,
                                        tenon_kernel** out) {
  tenon_kernel* const kernel = (tenon_kernel*)calloc(1, sizeof *kernel);
  if (!kernel) {
    return good_fail(backend->host, TENON_STATUS_MEMORY_ALLOCATION_FAILED,
                     "kernel: expected %zu bytes of memory, found none", sizeof *kernel);
  }
  kernel->args = context->args;
  kernel->num_args = context->num_args;
  *out = kernel;
  return TENON_STATUS_OK;
}

static inline tenon_status kernels_create(tenon_backend* backend,
                                          const tenon_kernel_context* context, tenon_kernel** out) {
  const tenon_status status = kernels_check(backend, context);
  return status == TENON_STATUS_OK ? kernels_make(backend, context, out) : status;
}

static inline tenon_status kernels_run(tenon_kernel* kernel,
                                       const tenon_execution_context* context) {
  const tenon_host* const host = context->host;
  const uint32_t last = kernel->num_args - 1;
  tenon_tensor* const out = kernel->args[last]->as.tensor;
  const tenon_tensor* const a = kernel->args[0]->as.tensor;
  const tenon_tensor* const b = kernel->num_args == 4 ? kernel->args[1]->as.tensor : NULL;
  if (b && (a->dl.ndim != b->dl.ndim || a->nbytes != b->nbytes)) {
    return good_fail(host, TENON_STATUS_INVALID_ARGUMENT,
                     "zoo::add.out: expected equal sizes, found %llu bytes and %llu bytes",
                     (unsigned long long)a->nbytes, (unsigned long long)b->nbytes);
  }
  const tenon_status resized = host->resize_tensor(host, out, a->dl.shape, (uint32_t)a->dl.ndim);
  if (resized != TENON_STATUS_OK) {
    return good_fail(host, resized, "the output: expected room for %llu bytes, found %llu",
                     (unsigned long long)a->nbytes, (unsigned long long)out->capacity);
  }
  const float* const x = (const float*)a->dl.data;
  const float* const y = b ? (const float*)b->dl.data : NULL;
  float* const z = (float*)out->dl.data;
  for (uint64_t i = 0; i < a->nbytes / sizeof *z; ++i) z[i] = y ? x[i] + y[i] : -x[i];
  ++kernel->runs;
  return TENON_STATUS_OK;
}

static inline void kernels_destroy(tenon_backend* backend, tenon_kernel* kernel) {
  (void)backend;
  free(kernel);
}

#ifndef ZOO_FLAGS
#define ZOO_FLAGS TENON_BACKEND_OFFERS_KERNELS
#endif
#ifndef ZOO_LIST_OPERATORS
#define ZOO_LIST_OPERATORS kernels_list
#endif
#ifndef ZOO_CREATE_KERNEL
#define ZOO_CREATE_KERNEL kernels_create
#endif
#ifndef ZOO_RUN_KERNEL
#define ZOO_RUN_KERNEL kernels_run
#endif
#ifndef ZOO_DESTROY_KERNEL
#define ZOO_DESTROY_KERNEL kernels_destroy
#endif
#define ZOO_EXTENSIONS(id)                                                            \
  do {                                                                                \
    static const tenon_kernels_v1 kernels = {sizeof kernels,     0,                   \
                                             ZOO_LIST_OPERATORS, ZOO_CREATE_KERNEL,   \
                                             ZOO_RUN_KERNEL,     ZOO_DESTROY_KERNEL}; \
    if (strcmp(id, TENON_EXTENSION_KERNELS) == 0) return &kernels;                    \
  } while (0)

#endif  // TENON_ZOO_KERNELS_H
