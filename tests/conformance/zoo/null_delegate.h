// SPDX-License-Identifier: MIT
//
// A backend that needs no delegate for a blob that only adds: its `init` returns NULL.

#ifndef TENON_ZOO_NULL_DELEGATE_H
#define TENON_ZOO_NULL_DELEGATE_H

#include "good.h"

static inline tenon_status null_delegate_init(tenon_backend* backend,
                                              const tenon_init_context* context,
                                              tenon_delegate** out) {
  const tenon_status status = good_init(backend, context, out);
  if (status != TENON_STATUS_OK) return status;
  const good_model* const model = (*out)->model;
  if (model->operation == 0 && model->scale == 1.0f && model->added == 0.0f &&
      model->bias == 0.0f) {
    good_destroy(backend, *out);
    *out = NULL;
  }
  return status;
}

static inline tenon_status null_delegate_execute(tenon_backend* backend, tenon_delegate* delegate,
                                                 const tenon_execution_context* context,
                                                 tenon_value* const* args, uint32_t num_args) {
  good_model model = {.version = 1, .operation = 0, .scale = 1.0f};
  tenon_delegate local = {.model = &model};
  return good_execute(backend, delegate ? delegate : &local, context, args, num_args);
}

static inline tenon_status null_delegate_session(tenon_backend* backend, tenon_delegate* delegate,
                                                 const tenon_session_context* context,
                                                 tenon_delegate** out) {
  if (delegate || context->num_runtime_specs != 0) {
    return good_create_session(backend, delegate, context, out);
  }
  *out = NULL;
  return TENON_STATUS_OK;
}

#define ZOO_INIT null_delegate_init
#define ZOO_EXECUTE null_delegate_execute
#define ZOO_CREATE_SESSION null_delegate_session

#endif  // TENON_ZOO_NULL_DELEGATE_H
