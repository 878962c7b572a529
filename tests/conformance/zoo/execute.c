// SPDX-License-Identifier: MIT
//
// `execute` (TN-EXE). README.md says how a section becomes a plugin.

#ifdef ZOO_accepts_foreign_device
// Breaks TN-EXE-5 at level 4: a tensor on a device is read and written like one on the CPU.
#define ZOO_IS_DEVICE(device) ((device).device_type >= 0)
#include "good.h"
#endif

#ifdef ZOO_accepts_lanes
// Breaks TN-EXE-5 at level 4: elements of two lanes are taken for elements of one lane.
#define ZOO_IS_FLOAT(tensor)                                                  \
  ((tensor)->scalar_type == 6 && (tensor)->dl.dtype.code == TENON_DL_FLOAT && \
   (tensor)->dl.dtype.bits == 32)
#define ZOO_ELEMENT_BYTES(tensor) ((uint64_t)4 * (tensor)->dl.dtype.lanes)
#include "good.h"
#endif

#ifdef ZOO_accepts_wrong_dtype
// Breaks TN-EXE-5 at level 4: any dtype of at least four bytes is treated as float32.
#define ZOO_IS_FLOAT(tensor) ((tensor)->dl.dtype.bits >= 32)
#endif

#include "good.h"

#ifdef ZOO_accepts_wrong_count
// Breaks TN-EXE-5 at level 4: arguments after the expected ones are ignored.
ZOO_EXECUTE_FUNCTION(execute) {
  const int adds = delegate->model->operation == 0;
  return good_execute(backend, delegate, context, args, adds && num_args > 3 ? 3 : num_args);
}

#define ZOO_EXECUTE execute
#endif

#ifdef ZOO_accepts_wrong_kind
// Breaks TN-EXE-5 at level 4: a run with an integer in place of a tensor succeeds and does nothing.
#define ZOO_BEFORE_RUN \
  if (num_args > 0 && args[0]->kind == TENON_VALUE_INT) return TENON_STATUS_OK
#endif

#ifdef ZOO_accepts_wrong_rank
// Breaks TN-EXE-5 at level 4: a run with tensors of different ranks succeeds and does nothing.
ZOO_EXECUTE_FUNCTION(execute) {
  for (uint32_t i = 0; i < num_args && args[i]->kind == TENON_VALUE_TENSOR; ++i) {
    if (args[i]->as.tensor->dl.ndim != args[0]->as.tensor->dl.ndim) return TENON_STATUS_OK;
  }
  return good_execute(backend, delegate, context, args, num_args);
}

#define ZOO_EXECUTE execute
#endif

#ifdef ZOO_accepts_wrong_size
// Breaks TN-EXE-5 at level 4: a run with tensors of different sizes succeeds and does nothing.
ZOO_EXECUTE_FUNCTION(execute) {
  for (uint32_t i = 0; i < num_args && args[i]->kind == TENON_VALUE_TENSOR; ++i) {
    const tenon_tensor* const tensor = args[i]->as.tensor;
    const tenon_tensor* const first = args[0]->as.tensor;
    // Resizes an output of dynamic shape.
    if (i + 1 == num_args && tensor->shape_dynamism != TENON_SHAPE_STATIC) break;
    if (tensor->dl.ndim != first->dl.ndim) break;
    if (good_mismatch(tensor, first) < first->dl.ndim) return TENON_STATUS_OK;
  }
  return good_execute(backend, delegate, context, args, num_args);
}

#define ZOO_EXECUTE execute
#endif

#ifdef ZOO_broken_after_failure
// Breaks TN-EXE-3 at level 4: after a failed run, every later run of the delegate fails.
ZOO_EXECUTE_FUNCTION(execute) {
  if (delegate->note) {
    return good_fail(backend->host, TENON_STATUS_INVALID_STATE,
                     "execute: expected 0 failures before, found 1");
  }
  const tenon_status status = good_execute(backend, delegate, context, args, num_args);
  if (status != TENON_STATUS_OK) delegate->note = delegate;
  return status;
}

#define ZOO_EXECUTE execute
#endif

#ifdef ZOO_completes_later
// Breaks TN-EXE-4: the first element of the output is written after `execute` returned.
#include <pthread.h>
#include <time.h>

typedef struct later {
  pthread_t thread;
  float* address;
  float element;
} later;

static void* write_later(void* argument) {
  const later* const work = (const later*)argument;
  nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
  *work->address = work->element;
  return NULL;
}

static void wait_for(tenon_delegate* delegate) {
  later* const work = delegate ? (later*)delegate->note : NULL;
  if (!work) return;
  pthread_join(work->thread, NULL);
  delegate->note = NULL;
  free(work);
}

ZOO_EXECUTE_FUNCTION(execute) {
  wait_for(delegate);
  const tenon_tensor* const result = good_output(args, num_args);
  const float before = result ? *good_data(result) : 0.0f;
  const tenon_status status = good_execute(backend, delegate, context, args, num_args);
  later* const work = status == TENON_STATUS_OK && result ? (later*)malloc(sizeof *work) : NULL;
  if (!work) return status;
  *work = (later){.address = good_data(result), .element = *good_data(result)};
  *work->address = before;
  if (pthread_create(&work->thread, NULL, write_later, work) == 0) {
    delegate->note = work;
  } else {
    *work->address = work->element;
    free(work);
  }
  return status;
}

static void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  wait_for(delegate);
  good_destroy(backend, delegate);
}

#define ZOO_EXECUTE execute
#define ZOO_DESTROY destroy
#endif

#ifdef ZOO_gives_nan
// Breaks TN-EXE-12: an element of the output is no number.
#include <math.h>

#define ZOO_AFTER_RUN *good_element(out, good_numel(out) - 1) = NAN
#endif

#ifdef ZOO_gives_zeros
// Breaks TN-EXE-12: the outputs of several elements are zero, as of an accelerator that did
// nothing.
static void after_run(const tenon_tensor* out) {
  if (good_numel(out) == 1) return;  // One element that is 0 is a wrong number (TN-EXE-7).
  for (int64_t i = 0; i < good_numel(out); ++i) *good_element(out, i) = 0.0f;
}

#define ZOO_AFTER_RUN after_run(out)
#endif

#ifdef ZOO_leaks_a_descriptor_each_run
// Breaks TN-EXE-9 at level 6: each run opens a descriptor that stays open until `destroy`.
#include <unistd.h>
typedef struct descriptor {
  struct descriptor* next;
  int number;
} descriptor;

static void before_run(tenon_delegate* delegate) {
  descriptor* const kept = (descriptor*)malloc(sizeof *kept);
  if (kept) {
    *kept = (descriptor){(descriptor*)delegate->note, dup(0)};
    delegate->note = kept;
  }
}

static void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  while (delegate && delegate->note) {
    descriptor* const kept = (descriptor*)delegate->note;
    delegate->note = kept->next;
    if (kept->number >= 0) close(kept->number);
    free(kept);
  }
  good_destroy(backend, delegate);
}

#define ZOO_BEFORE_RUN before_run(delegate)
#define ZOO_DESTROY destroy
#endif

#ifdef ZOO_leaks_each_run
// Breaks TN-EXE-9 at level 6: each run allocates memory that is kept until `destroy`.
#include "keep.h"

static void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  if (delegate) free_kept(&delegate->note);
  good_destroy(backend, delegate);
}

#define ZOO_BEFORE_RUN keep_memory(&delegate->note)
#define ZOO_DESTROY destroy
#endif

#ifdef ZOO_leaves_last_element
// Breaks TN-EXE-6 at level 4: the last element of the output is not written.
ZOO_EXECUTE_FUNCTION(execute) {
  const tenon_tensor* const result = good_output(args, num_args);
  float* const last = result ? good_data(result) + result->nbytes / sizeof(float) - 1 : NULL;
  const float before = last ? *last : 0.0f;
  const tenon_status status = good_execute(backend, delegate, context, args, num_args);
  if (last && status == TENON_STATUS_OK) *last = before;
  return status;
}

#define ZOO_EXECUTE execute
#endif

#ifdef ZOO_random_numbers
// Breaks TN-EXE-8 at level 4: the last bits of the first element differ between runs.
static atomic_uint num_runs;

static void after_run(const tenon_tensor* out) {
  uint32_t bits;
  memcpy(&bits, good_data(out), sizeof bits);
  // Five consecutive runs give five numbers, whichever delegates they use.
  bits ^= atomic_fetch_add(&num_runs, 1) % 5;
  memcpy(good_data(out), &bits, sizeof bits);
}

#define ZOO_AFTER_RUN after_run(out)
#endif

#ifdef ZOO_refuses_smaller_size
// Breaks TN-EXE-10: a size below the bounds is refused.
ZOO_EXECUTE_FUNCTION(execute) {
  const tenon_tensor* const first =
      num_args > 0 && args[0]->kind == TENON_VALUE_TENSOR ? args[0]->as.tensor : NULL;
  for (int32_t d = 0; first && d < first->dl.ndim; ++d) {
    if (first->dl.shape[d] < first->bounds[d]) {
      return good_fail(backend->host, TENON_STATUS_NOT_SUPPORTED,
                       "argument 0: expected size %lld in dimension %d, found %lld",
                       (long long)first->bounds[d], d, (long long)first->dl.shape[d]);
    }
  }
  return good_execute(backend, delegate, context, args, num_args);
}

#define ZOO_EXECUTE execute
#endif

#ifdef ZOO_refuses_zero_size
// Breaks TN-EXE-10: a tensor without elements is refused.
ZOO_EXECUTE_FUNCTION(execute) {
  if (num_args > 0 && args[0]->kind == TENON_VALUE_TENSOR && args[0]->as.tensor->nbytes == 0) {
    return good_fail(backend->host, TENON_STATUS_NOT_SUPPORTED,
                     "argument 0: expected one element or more, found 0");
  }
  return good_execute(backend, delegate, context, args, num_args);
}

#define ZOO_EXECUTE execute
#endif

#ifdef ZOO_runs_once
// Breaks TN-EXE-1: a second run of a delegate is refused.
ZOO_EXECUTE_FUNCTION(execute) {
  if (delegate->runs > 0) {
    return good_fail(backend->host, TENON_STATUS_INVALID_STATE,
                     "execute: expected no run before this one, found %lld",
                     (long long)delegate->runs);
  }
  return good_execute(backend, delegate, context, args, num_args);
}

#define ZOO_EXECUTE execute
#endif

#ifdef ZOO_stale_after_bounds
// Breaks TN-EXE-11 at level 5: once it ran at the largest sizes, smaller ones give other numbers.
static void after_run(tenon_delegate* delegate, const tenon_tensor* out) {
  int is_dynamic = 0, is_largest = 1;
  for (int32_t d = 0; d < out->dl.ndim; ++d) {
    is_dynamic |= out->shape_dynamism != TENON_SHAPE_STATIC;
    is_largest &= out->dl.shape[d] == out->bounds[d];
  }
  // A flag on the delegate: it ran at its bounds.
  if (is_dynamic && is_largest) delegate->note = delegate;
  if (delegate->note && !is_largest) *good_element(out, 0) += 1.0f;
}

#define ZOO_AFTER_RUN after_run(delegate, out)
#endif

#ifdef ZOO_writes_past_output
// Breaks TN-EXE-6 at level 4: `execute` writes one element beyond the end of the output.
#define ZOO_AFTER_RUN good_data(out)[out->nbytes / sizeof(float)] = 0.0f
#endif

#ifdef ZOO_writes_to_input
// Breaks TN-EXE-2 at level 4: `execute` changes the first element of its first input.
ZOO_EXECUTE_FUNCTION(execute) {
  const tenon_status status = good_execute(backend, delegate, context, args, num_args);
  if (status == TENON_STATUS_OK && args[0]->as.tensor->nbytes > 0) {
    *good_data(args[0]->as.tensor) += 1.0f;
  }
  return status;
}

#define ZOO_EXECUTE execute
#endif

#ifdef ZOO_wrong_numbers
// Breaks TN-EXE-7: the first element of the output is too large.
#define ZOO_AFTER_RUN *good_data(out) += 0.5f
#endif

#include "good_plugin.h"
