// SPDX-License-Identifier: MIT
//
// The extensions of the good backend: options, memory, sessions, checking a blob. Included by
// good.h.

#ifndef TENON_ZOO_GOOD_EXTENSIONS_H
#define TENON_ZOO_GOOD_EXTENSIONS_H

// What a plugin may replace before it includes good.h: limits of the option, what it takes, and the
// kind of memory that a delegate reports.
#ifndef ZOO_LIMITS
#define ZOO_LIMITS .minimum = NULL, .maximum = NULL
#endif
#ifndef ZOO_IS_ALLOWED
#define ZOO_IS_ALLOWED(value) 1
#endif
#ifndef ZOO_MEMORY_KIND
#define ZOO_MEMORY_KIND TENON_MEMORY_WORKSPACE
#endif

static const tenon_option good_initial = {
    .struct_size = sizeof(tenon_option),
    .type = TENON_OPTION_INT,
    .key = "bias",
};
static const tenon_option_spec good_specs[] = {{
    .struct_size = sizeof(tenon_option_spec),
    .flags = TENON_OPTION_AT_RUNTIME | TENON_OPTION_AT_LOAD,
    .description = "Is added to every element",
    .initial = &good_initial,
    ZOO_LIMITS,
}};

static inline tenon_status good_unknown_option(const tenon_host* host, const char* key) {
  return good_fail(host, TENON_STATUS_NOT_FOUND, "option %.64s is unknown, expected bias", key);
}

/// The value of `option`, which must be "bias" and an integer.
static inline tenon_status good_read_option(const tenon_host* host, const tenon_option* option,
                                            int64_t* out) {
  if (strcmp(option->key, "bias") != 0) return good_unknown_option(host, option->key);
  if (option->type != TENON_OPTION_INT) {
    return good_fail(host, TENON_STATUS_INVALID_TYPE,
                     "option bias: expected an integer (type %d), found type %u", TENON_OPTION_INT,
                     option->type);
  }
  if (!ZOO_IS_ALLOWED(option->as.integer)) {
    return good_fail(host, TENON_STATUS_INVALID_ARGUMENT,
                     "option bias: expected a value within its limits, found %lld",
                     (long long)option->as.integer);
  }
  *out = option->as.integer;
  return TENON_STATUS_OK;
}

static inline tenon_status good_set_option(tenon_backend* backend, const tenon_option* option) {
  int64_t bias = 0;
  const tenon_status status = good_read_option(backend->host, option, &bias);
  if (status == TENON_STATUS_OK) atomic_store(&backend->bias, bias);
  return status;
}

static inline tenon_status good_get_option(tenon_backend* backend, const char* key,
                                           tenon_option_sink sink, void* context) {
  if (strcmp(key, "bias") != 0) return good_unknown_option(backend->host, key);
  tenon_option option = good_initial;
  option.as.integer = atomic_load(&backend->bias);
  sink(context, &option);
  return TENON_STATUS_OK;
}

/// The bias of a load: the backend's, or the bias given for this load.
static inline tenon_status good_read_bias(tenon_backend* backend, const tenon_init_context* context,
                                          float* out) {
  int64_t bias = atomic_load(&backend->bias);
  const uint32_t count =
      ZOO_HAS(context, tenon_init_context, num_runtime_specs) ? context->num_runtime_specs : 0;
  const char* at = count ? (const char*)context->runtime_specs : NULL;
  for (uint32_t i = 0; i < count; ++i, at += ZOO_STEP(context->runtime_specs)) {
    const tenon_status status =
        good_read_option(backend->host, (const tenon_option*)(const void*)at, &bias);
    if (status != TENON_STATUS_OK) return status;
  }
  *out = (float)bias;
  return TENON_STATUS_OK;
}

/// All that it holds are its delegates.
static inline tenon_status good_memory_info(tenon_backend* backend, tenon_delegate* delegate,
                                            tenon_memory_sink sink, void* sink_context) {
  (void)backend;
  if (!delegate) return TENON_STATUS_OK;
  const tenon_memory_use use = {
      .struct_size = sizeof use,
      .device = {.device_type = TENON_DL_CPU},
      .nbytes = sizeof(tenon_delegate),
      .kind = ZOO_MEMORY_KIND,
  };
  sink(sink_context, &use);
  return TENON_STATUS_OK;
}

static inline tenon_status good_create_session(tenon_backend* backend, tenon_delegate* delegate,
                                               const tenon_session_context* context,
                                               tenon_delegate** out) {
  if (context->num_runtime_specs != 0) {
    int64_t bias = 0;
    const tenon_status status = good_read_option(backend->host, context->runtime_specs, &bias);
    if (status != TENON_STATUS_OK) return status;
    return good_fail(backend->host, TENON_STATUS_NOT_SUPPORTED,
                     "option bias: expected no value for a session, found %lld", (long long)bias);
  }
  const tenon_status status = good_new_delegate(backend, delegate->model, out);
  if (status == TENON_STATUS_OK && context->state) (*out)->runs = context->state->runs;
  return status;
}

static inline tenon_status good_check_blob(tenon_backend* backend,
                                           const tenon_init_context* context, uint32_t* verdict) {
  good_blob blob = {.version = 0};
  const tenon_status status = good_read_blob(backend->host, context->processed, &blob);
  *verdict = status == TENON_STATUS_OK ? TENON_BLOB_OPTIMAL : TENON_BLOB_INCOMPATIBLE;
  return TENON_STATUS_OK;
}

#endif  // TENON_ZOO_GOOD_EXTENSIONS_H
