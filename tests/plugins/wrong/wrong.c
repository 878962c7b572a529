// SPDX-License-Identifier: MIT
//
// A plugin whose last argument becomes 2 * x + 1 of the first, a Float tensor; except for what the
// build defines as WRONG. It reports success each time, as an accelerator does that is wrong.
#include <math.h>
#include <stdlib.h>

#include "tenon/abi/plugin.h"

static tenon_status wrong_init(tenon_backend* backend, const tenon_init_context* context,
                               tenon_delegate** out);
static tenon_status wrong_execute(tenon_backend* backend, tenon_delegate* delegate,
                                  const tenon_execution_context* context, tenon_value* const* args,
                                  uint32_t num_args);
static void wrong_destroy(tenon_backend* backend, tenon_delegate* delegate);

#define ZOO_INIT wrong_init
#define ZOO_EXECUTE wrong_execute
#define ZOO_DESTROY wrong_destroy
#include "zoo_plugin.h"

enum {
  NOTHING,
  ONE_ELEMENT,
  NAN_ELEMENT,
  ZEROS,
  UNWRITTEN,
  SWAPPED,
  NEGATIVE,
  LOW_PRECISION,
  SECOND_CALL,
  ODD_SIZES,
  EVERY_TENTH_CALL,
  AFTER_1000_CALLS,
  LARGE_VALUES,
  DYING
};

/// A delegate is the number of its calls.
static tenon_status wrong_init(tenon_backend* backend, const tenon_init_context* context,
                               tenon_delegate** out) {
  (void)backend;
  (void)context;
  *out = calloc(1, sizeof(unsigned));
  return *out ? TENON_STATUS_OK : TENON_STATUS_MEMORY_ALLOCATION_FAILED;
}

static void wrong_destroy(tenon_backend* backend, tenon_delegate* delegate) {
  (void)backend;
  free(delegate);
}

static tenon_status wrong_execute(tenon_backend* backend, tenon_delegate* delegate,
                                  const tenon_execution_context* context, tenon_value* const* args,
                                  uint32_t num_args) {
  (void)context;
  const unsigned calls = ++*(unsigned*)(void*)delegate;
  if (WRONG == DYING && calls > 1) {  // As an isolated plugin says it.
    static const char text[] = "the worker died in execute of its second call";
    const tenon_host* const host = (const tenon_host*)(uintptr_t)backend;
    host->set_last_error(host, TENON_STATUS_INTERNAL, text, sizeof text - 1);
    return TENON_STATUS_INTERNAL;
  }
  if (num_args < 2 || args[0]->kind != TENON_VALUE_TENSOR) return TENON_STATUS_INVALID_ARGUMENT;
  const tenon_tensor* in = args[0]->as.tensor;
  tenon_tensor* out = args[num_args - 1]->as.tensor;
  const tenon_host* host = (const tenon_host*)(uintptr_t)backend;
  const tenon_status resized = host->resize_tensor(host, out, in->dl.shape, (uint32_t)in->dl.ndim);
  if (resized != TENON_STATUS_OK) return resized;
  const float* x = in->dl.data;
  float* y = out->dl.data;
  const uint64_t n = in->nbytes / sizeof(float);
  if (n == 0 || WRONG == UNWRITTEN) return TENON_STATUS_OK;
  const int is_now = (WRONG == SECOND_CALL && calls == 2) || (WRONG == ODD_SIZES && n % 2 == 1) ||
                     (WRONG == EVERY_TENTH_CALL && calls % 10 == 0) ||
                     (WRONG == AFTER_1000_CALLS && calls > 1000);
  for (uint64_t i = 0; i < n; ++i) {
    y[i] = 2 * x[i] + 1;
    if (WRONG == ZEROS || is_now) y[i] = 0;
    if (WRONG == NEGATIVE && x[i] < 0) y[i] = -2 * x[i] + 1;
    if (WRONG == LARGE_VALUES && x[i] > 100) y[i] = 201;
    // As with 6 bits of mantissa.
    if (WRONG == LOW_PRECISION) y[i] = floorf(y[i] * 64 + 0.5f) / 64;
  }
  if (WRONG == ONE_ELEMENT) y[n - 1] += 0.5f;
  if (WRONG == NAN_ELEMENT) y[n / 2] = NAN;
  if (WRONG == SWAPPED) {
    const float first = y[0];
    y[0] = y[n - 1];
    y[n - 1] = first;
  }
  return TENON_STATUS_OK;
}
