// SPDX-License-Identifier: MIT
// Breaks TN-OPT-5 at level 5: a session takes values outside of the declared limits.
#include "option_limits.h"

static tenon_status read_biases(const tenon_host* host, const tenon_session_context* context,
                                float* bias) {
  const char* at = (const char*)context->runtime_specs;
  for (uint32_t i = 0; i < context->num_runtime_specs; ++i) {
    const tenon_option* const option = (const tenon_option*)(const void*)at;
    at += ZOO_STEP(context->runtime_specs);
    if (strcmp(option->key, "bias") != 0) return good_unknown_option(host, option->key);
    if (option->type != TENON_OPTION_INT) {
      return good_fail(host, TENON_STATUS_INVALID_TYPE,
                       "option bias: expected an integer (type %d), found type %u",
                       TENON_OPTION_INT, option->type);
    }
    *bias = (float)option->as.integer;
  }
  return TENON_STATUS_OK;
}

static tenon_status create_session(tenon_backend* backend, tenon_delegate* delegate,
                                   const tenon_session_context* context, tenon_delegate** out) {
  good_model* const model =
      (good_model*)ZOO_ALLOCATE(context->runtime_allocator, sizeof *model, _Alignof(good_model));
  if (!model) {
    return good_fail(backend->host, TENON_STATUS_MEMORY_ALLOCATION_FAILED,
                     "session: expected %zu bytes of the runtime allocator, found none",
                     sizeof *model);
  }
  *model = *delegate->model;
  tenon_status status = read_biases(backend->host, context, &model->bias);
  if (status != TENON_STATUS_OK) return status;
  tenon_session_context without = *context;
  without.num_runtime_specs = 0;
  status = good_create_session(backend, delegate, &without, out);
  if (status == TENON_STATUS_OK) (*out)->model = model;
  return status;
}

#define ZOO_CREATE_SESSION create_session
#include "good_plugin.h"
