// SPDX-License-Identifier: MIT
//
// The good backend with two intermediate results: handle 0 is the first argument times the scale,
// handle 1 is the output. A plugin of the zoo includes this in place of good.h, and replaces what
// it breaks.

#ifndef TENON_ZOO_GOOD_INTERMEDIATES_H
#define TENON_ZOO_GOOD_INTERMEDIATES_H

#include "good.h"

/// The request that a delegate keeps as its `note`.
typedef struct zoo_asked {
  int wants[2];
  const tenon_intermediate_sink* sink;
  float* kept;  ///< Of a broken plugin.
  uint64_t kept_bytes;
} zoo_asked;

#ifndef ZOO_NAMES
#define ZOO_NAMES {0, 1}
#endif
#ifndef ZOO_KNOWS_HANDLE
#define ZOO_KNOWS_HANDLE(handle) ((handle) == 0 || (handle) == 1)
#endif
/// The size that the scaled tensor of `size` elements in its last dimension is given with.
#ifndef ZOO_LAST_SIZE
#define ZOO_LAST_SIZE(size) (size)
#endif
/// Called with the scaled elements before they are given.
#ifndef ZOO_BEFORE_GIVING
#define ZOO_BEFORE_GIVING(delegate, asked, elements, nbytes) (void)0
#endif
/// Called with the output of a run that gave something.
#ifndef ZOO_AFTER_GIVING
#define ZOO_AFTER_GIVING(output) (void)0
#endif

static tenon_status zoo_list(tenon_backend* backend, tenon_delegate* delegate,
                             const tenon_intermediate_list* to) {
  (void)backend;
  (void)delegate;
  static const int64_t handles[] = ZOO_NAMES;
  for (size_t i = 0; i < sizeof handles / sizeof handles[0]; ++i) {
    const tenon_intermediate one = {
        .struct_size = sizeof one, .handle = handles[i], .name = "step", .name_size = 4};
    const tenon_status status = to->add(to, &one);
    if (status != TENON_STATUS_OK) return status;
  }
  return TENON_STATUS_OK;
}

static tenon_status zoo_record(tenon_backend* backend, tenon_delegate* delegate,
                               const int64_t* handles, uint64_t num_handles,
                               const tenon_intermediate_sink* sink) {
  for (uint64_t i = 0; i < num_handles; ++i) {
    if (ZOO_KNOWS_HANDLE(handles[i])) continue;
    return good_fail(backend->host, TENON_STATUS_NOT_FOUND,
                     "record: expected handle 0 or 1, found %lld", (long long)handles[i]);
  }
  if (!delegate->note) delegate->note = calloc(1, sizeof(zoo_asked));
  zoo_asked* const asked = (zoo_asked*)delegate->note;
  if (!asked) {
    return good_fail(backend->host, TENON_STATUS_MEMORY_ALLOCATION_FAILED,
                     "record: expected %zu bytes of memory, found none", sizeof *asked);
  }
  asked->wants[0] = 0;
  asked->wants[1] = 0;
  asked->sink = sink;
  for (uint64_t i = 0; i < num_handles; ++i) asked->wants[handles[i] & 1] = 1;
  return TENON_STATUS_OK;
}

static void zoo_destroy(tenon_backend* backend, tenon_delegate* delegate) {
  if (delegate && delegate->note) {
    free(((zoo_asked*)delegate->note)->kept);
    free(delegate->note);
  }
  good_destroy(backend, delegate);
}

/// Gives the elements of `of` times `scale`.
static tenon_status zoo_give_scaled(tenon_delegate* delegate, const tenon_intermediate_sink* sink,
                                    const tenon_tensor* of, float* elements) {
  tenon_tensor scaled = *of;
  int64_t shape[good_max_rank];
  int64_t strides[good_max_rank];
  uint8_t order[good_max_rank];
  int64_t stride = 1;
  for (int32_t d = of->dl.ndim; d-- > 0;) {
    shape[d] = of->dl.shape[d];
    order[d] = (uint8_t)d;
    strides[d] = stride;
    stride *= shape[d];
  }
  if (of->dl.ndim > 0) shape[of->dl.ndim - 1] = ZOO_LAST_SIZE(shape[of->dl.ndim - 1]);
  zoo_asked* const asked = (zoo_asked*)delegate->note;
  (void)asked;
  ZOO_BEFORE_GIVING(delegate, asked, elements, of->nbytes);
  scaled.flags = 0;
  scaled.dl.data = elements;
  scaled.dl.byte_offset = 0;
  scaled.dl.shape = shape;
  scaled.dl.strides = strides;
  scaled.dim_order = order;
  scaled.bounds = shape;
  return sink->take(sink, 0, &scaled);
}

static tenon_status zoo_execute(tenon_backend* backend, tenon_delegate* delegate,
                                const tenon_execution_context* context, tenon_value* const* args,
                                uint32_t num_args) {
  const zoo_asked* const asked = (const zoo_asked*)delegate->note;
  if (!asked || !asked->sink) return good_execute(backend, delegate, context, args, num_args);
  float* elements = NULL;
  if (asked->wants[0] && num_args > 0 && good_check(backend->host, 0, args[0]) == 0) {
    // Before the output, which may share the memory of the argument, is written.
    const tenon_tensor* const a = args[0]->as.tensor;
    elements = (float*)context->temp_allocator->allocate(context->temp_allocator, a->nbytes + 1,
                                                         _Alignof(float));
    if (!elements) {
      return good_fail(backend->host, TENON_STATUS_MEMORY_ALLOCATION_FAILED,
                       "execute: expected %llu bytes of the temp allocator, found none",
                       (unsigned long long)a->nbytes);
    }
    const int64_t numel = good_check_data(backend->host, 0, a) == 0 ? good_numel(a) : 0;
    for (int64_t i = 0; i < numel; ++i) {
      elements[i] = *good_element(a, i) * delegate->model->scale;
    }
  }
  tenon_status status = good_execute(backend, delegate, context, args, num_args);
  if (status == TENON_STATUS_OK && elements) {
    status = zoo_give_scaled(delegate, asked->sink, args[0]->as.tensor, elements);
  }
  if (status == TENON_STATUS_OK && asked->wants[1]) {
    status = asked->sink->take(asked->sink, 1, args[num_args - 1]->as.tensor);
  }
  if (status == TENON_STATUS_OK) ZOO_AFTER_GIVING(good_output(args, num_args));
  return status;
}

static const tenon_intermediates_v1 zoo_intermediates = {
    .struct_size = sizeof(tenon_intermediates_v1),
    .list = zoo_list,
    .record = zoo_record,
};

#define ZOO_EXTENSIONS(id) \
  if (strcmp(id, TENON_EXTENSION_INTERMEDIATES) == 0) return &zoo_intermediates
#define ZOO_EXECUTE zoo_execute
#define ZOO_DESTROY zoo_destroy
#include "good_plugin.h"

#endif  // TENON_ZOO_GOOD_INTERMEDIATES_H
