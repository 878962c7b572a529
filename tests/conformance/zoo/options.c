// SPDX-License-Identifier: MIT
//
// Options (TN-OPT). README.md says how a section becomes a plugin.

#ifdef ZOO_good_limits
// Breaks nothing: its option has a smallest and a largest value.
#include "option_limits.h"
#endif

#ifdef ZOO_loads_value_below_limit
// Breaks TN-OPT-5 at level 5: a load takes a value that is below the declared minimum.
#define ZOO_IS_ALLOWED(value) ((value) <= 8)
#include "option_limits.h"

static tenon_status set_option(tenon_backend* backend, const tenon_option* option) {
  if (strcmp(option->key, "bias") == 0 && option->type == TENON_OPTION_INT &&
      option->as.integer < -8) {
    return good_fail(backend->host, TENON_STATUS_INVALID_ARGUMENT,
                     "option bias: expected -8 or more, found %lld", (long long)option->as.integer);
  }
  return good_set_option(backend, option);
}

#define ZOO_SET_OPTION set_option
#endif

#ifdef ZOO_session_takes_value_above_limit
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
#endif

#ifdef ZOO_takes_value_above_limit
// Breaks TN-OPT-5 at level 5: `set_option` takes a value that is above the declared maximum.
#include "option_limits.h"

static tenon_status set_option(tenon_backend* backend, const tenon_option* option) {
  if (strcmp(option->key, "bias") == 0 && option->type == TENON_OPTION_INT &&
      option->as.integer > 8) {
    atomic_store(&backend->bias, option->as.integer);
    return TENON_STATUS_OK;
  }
  return good_set_option(backend, option);
}

#define ZOO_SET_OPTION set_option
#endif

#include "good.h"

#ifdef ZOO_accepts_unknown_option
// Breaks TN-OPT-1 at level 5: an unknown option is accepted and ignored.
static tenon_status set_option(tenon_backend* backend, const tenon_option* option) {
  if (strcmp(option->key, "bias") != 0) return TENON_STATUS_OK;
  return good_set_option(backend, option);
}

#define ZOO_SET_OPTION set_option
#endif

#ifdef ZOO_accepts_wrong_type
// Breaks TN-OPT-1 at level 5: an option value of another type is accepted and ignored.
static tenon_status set_option(tenon_backend* backend, const tenon_option* option) {
  if (strcmp(option->key, "bias") == 0 && option->type != TENON_OPTION_INT) {
    return TENON_STATUS_OK;
  }
  return good_set_option(backend, option);
}

#define ZOO_SET_OPTION set_option
#endif

#ifdef ZOO_calls_sink_on_failure
// Breaks TN-OPT-2 at level 5: an unknown option is passed to the sink and then refused.
static tenon_status get_option(tenon_backend* backend, const char* key, tenon_option_sink sink,
                               void* context) {
  const tenon_status status = good_get_option(backend, key, sink, context);
  if (status != TENON_STATUS_OK) sink(context, &good_initial);
  return status;
}

#define ZOO_GET_OPTION get_option
#endif

#ifdef ZOO_calls_sink_twice
// Breaks TN-OPT-2 at level 5: the value of an option is passed to the sink twice.
static tenon_status get_option(tenon_backend* backend, const char* key, tenon_option_sink sink,
                               void* context) {
  const tenon_status status = good_get_option(backend, key, sink, context);
  return status == TENON_STATUS_OK ? good_get_option(backend, key, sink, context) : status;
}

#define ZOO_GET_OPTION get_option
#endif

#ifdef ZOO_changes_option_on_failure
// Breaks TN-OPT-1 at level 5: a value of another type is refused but changes the option.
static tenon_status set_option(tenon_backend* backend, const tenon_option* option) {
  const tenon_status status = good_set_option(backend, option);
  if (status == TENON_STATUS_INVALID_TYPE) atomic_fetch_add(&backend->bias, 1);
  return status;
}

#define ZOO_SET_OPTION set_option
#endif

#ifdef ZOO_never_calls_sink
// Breaks TN-OPT-2 at level 5: `get_option` succeeds without a value.
static void no_sink(void* context, const tenon_option* option) {
  (void)context;
  (void)option;
}

static tenon_status get_option(tenon_backend* backend, const char* key, tenon_option_sink sink,
                               void* context) {
  (void)sink;
  return good_get_option(backend, key, no_sink, context);
}

#define ZOO_GET_OPTION get_option
#endif

#ifdef ZOO_option_changes_loaded
// Breaks TN-OPT-4 at level 5: `set_option` changes the delegates that are loaded, too.
ZOO_EXECUTE_FUNCTION(execute) {
  good_model model = *delegate->model;
  good_model* const loaded = delegate->model;
  model.bias = (float)atomic_load(&backend->bias);
  delegate->model = &model;
  const tenon_status status = good_execute(backend, delegate, context, args, num_args);
  delegate->model = loaded;
  return status;
}

#define ZOO_EXECUTE execute
#endif

#ifdef ZOO_option_of_a_load_sticks
// Breaks TN-OPT-3 at level 5: an option that is given for one load is set for all later ones.
ZOO_INIT_FUNCTION(init) {
  const tenon_status status = good_init(backend, context, out);
  const uint32_t count =
      ZOO_HAS(context, tenon_init_context, num_runtime_specs) ? context->num_runtime_specs : 0;
  if (status == TENON_STATUS_OK && count > 0) {
    atomic_store(&backend->bias, (long long)(*out)->model->bias);
  }
  return status;
}

#define ZOO_INIT init
#endif

#ifdef ZOO_unknown_option_is_invalid
// Breaks TN-OPT-1 at level 5: an unknown option is refused with the wrong status.
static tenon_status set_option(tenon_backend* backend, const tenon_option* option) {
  if (strcmp(option->key, "bias") == 0) return good_set_option(backend, option);
  return good_fail(backend->host, TENON_STATUS_INVALID_ARGUMENT,
                   "option %.64s is unknown, expected bias", option->key);
}

#define ZOO_SET_OPTION set_option
#endif

#include "good_plugin.h"
