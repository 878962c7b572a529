// SPDX-License-Identifier: MIT
//
// The extensions of the backend: a table for each, found by its id.

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "scale_bias.h"

// Options and sessions.

#define GAIN_OPTION(value)              \
  {.struct_size = sizeof(tenon_option), \
   .type = TENON_OPTION_DOUBLE,         \
   .key = "gain",                       \
   .as.real = value}

static const tenon_option initial = GAIN_OPTION(INITIAL_GAIN);
static const tenon_option smallest = GAIN_OPTION(-1e6);
static const tenon_option largest = GAIN_OPTION(1e6);
static const tenon_option_spec spec = {
    .struct_size = sizeof(tenon_option_spec),
    .flags = TENON_OPTION_AT_RUNTIME | TENON_OPTION_AT_LOAD,
    .description = "factor of the outputs",
    .initial = &initial,
    .minimum = &smallest,
    .maximum = &largest,
};

static tenon_status check_key(const tenon_host* host, const char* key) {
  if (strcmp(key, initial.key) == 0) return TENON_STATUS_OK;
  return fail(host, TENON_STATUS_NOT_FOUND, "option: expected gain, found %.64s", key);
}

static tenon_status read_option(const tenon_host* host, const tenon_option* option, double* gain) {
  const tenon_status status = check_key(host, option->key);
  if (status != TENON_STATUS_OK) return status;
  if (option->type != TENON_OPTION_DOUBLE) {
    return fail(host, TENON_STATUS_INVALID_TYPE, "option gain: expected type %d, found %" PRIu32,
                TENON_OPTION_DOUBLE, option->type);
  }
  const double value = option->as.real;
  if (!(value >= smallest.as.real && value <= largest.as.real)) {  // NaN is in no range
    return fail(host, TENON_STATUS_INVALID_ARGUMENT, "option gain: expected %g to %g, found %g",
                smallest.as.real, largest.as.real, value);
  }
  *gain = value;
  return TENON_STATUS_OK;
}

// [step]
tenon_status read_gain(const tenon_host* host, const tenon_option* options, uint32_t num_options,
                       double* gain) {
  const char* at = (const char*)options;
  for (uint32_t i = 0; i < num_options; ++i) {
    const tenon_status status = read_option(host, (const tenon_option*)(const void*)at, gain);
    if (status != TENON_STATUS_OK) return status;
    at += options->struct_size;  // the host's elements may be longer than this header's
  }
  return TENON_STATUS_OK;
}
// [step]

static tenon_status TENON_CALL set_option(tenon_backend* backend, const tenon_option* option) {
  double gain;
  const tenon_status status = read_option(backend->host, option, &gain);
  if (status == TENON_STATUS_OK) atomic_store(&backend->gain, gain);
  return status;
}

static tenon_status TENON_CALL get_option(tenon_backend* backend, const char* key,
                                          tenon_option_sink sink, void* context) {
  const tenon_status status = check_key(backend->host, key);
  if (status != TENON_STATUS_OK) return status;
  tenon_option option = initial;
  option.as.real = atomic_load(&backend->gain);
  sink(context, &option);
  return TENON_STATUS_OK;
}

static tenon_status TENON_CALL create_session(tenon_backend* backend, tenon_delegate* delegate,
                                              const tenon_session_context* context,
                                              tenon_delegate** out) {
  double gain = (double)delegate->gain;
  const tenon_status status =
      read_gain(backend->host, context->runtime_specs, context->num_runtime_specs, &gain);
  if (status != TENON_STATUS_OK) return status;
  tenon_delegate* session = new_delegate(delegate->blob, (float)gain, TENON_MEMORY_SESSION);
  if (!session) {
    return fail(backend->host, TENON_STATUS_MEMORY_ALLOCATION_FAILED,
                "session: expected %" PRIu64 " bytes, found none",
                delegate_bytes(delegate->blob.count));
  }
  if (context->state) {
    memcpy(session->sums, context->state->sums, delegate->blob.count * sizeof(float));
  }
  *out = session;
  return TENON_STATUS_OK;
}

// The bytes of a state.

static tenon_status TENON_CALL list_state(tenon_backend* backend, tenon_delegate* delegate,
                                          const tenon_state_list* to) {
  (void)backend;
  static const char name[] = "sums";
  const tenon_state_part part = {
      .struct_size = sizeof(part),
      .name = name,
      .name_size = sizeof(name) - 1,
      .data = delegate->sums,
      .nbytes = delegate->blob.count * sizeof(float),
  };
  return to->add(to, &part);
}

// Before a load, and the memory of one.

static tenon_status TENON_CALL check_blob(tenon_backend* backend, const tenon_init_context* context,
                                          uint32_t* verdict) {
  double gain;
  const tenon_status status =
      read_gain(backend->host, context->runtime_specs, context->num_runtime_specs, &gain);
  if (status != TENON_STATUS_OK) return status;
  Blob blob;
  *verdict = read_blob(backend->host, context->processed, &blob) == TENON_STATUS_OK
                 ? TENON_BLOB_OPTIMAL
                 : TENON_BLOB_INCOMPATIBLE;  // the reason was given to `set_last_error`
  return TENON_STATUS_OK;
}

static void report(tenon_memory_sink sink, void* sink_context, const char* kind, uint64_t nbytes) {
  const tenon_memory_use use = {
      .struct_size = sizeof(use),
      .device = {TENON_DL_CPU, 0},
      .nbytes = nbytes,
      .kind = kind,
  };
  sink(sink_context, &use);
}

static tenon_status TENON_CALL estimate(tenon_backend* backend, const tenon_init_context* context,
                                        tenon_memory_sink sink, void* sink_context) {
  Blob blob;
  const tenon_status status = read_blob(backend->host, context->processed, &blob);
  if (status != TENON_STATUS_OK) return status;
  report(sink, sink_context, TENON_MEMORY_WORKSPACE, delegate_bytes(blob.count));
  report(sink, sink_context, TENON_MEMORY_SESSION, delegate_bytes(blob.count));
  return TENON_STATUS_OK;
}

static tenon_status TENON_CALL memory_info(tenon_backend* backend, tenon_delegate* delegate,
                                           tenon_memory_sink sink, void* sink_context) {
  (void)backend;
  if (delegate) {
    report(sink, sink_context, delegate->memory_kind, delegate_bytes(delegate->blob.count));
  } else {
    report(sink, sink_context, TENON_MEMORY_WORKSPACE, sizeof(tenon_backend));
  }
  return TENON_STATUS_OK;
}

// Tables.

static const tenon_options_v1 options_table = {
    sizeof(tenon_options_v1), 1, &spec, set_option, get_option,
};
static const tenon_sessions_v1 sessions_table = {sizeof(tenon_sessions_v1), 0, create_session};
static const tenon_sequence_v1 sequence_table = {
    .struct_size = sizeof(tenon_sequence_v1),
    .list = list_state,  // the parts have addresses, and nothing is derived from them
};
static const tenon_check_blob_v1 check_blob_table = {sizeof(tenon_check_blob_v1), 0, check_blob};
static const tenon_estimate_v1 estimate_table = {sizeof(tenon_estimate_v1), 0, estimate, NULL};
static const tenon_memory_info_v1 memory_info_table = {
    sizeof(tenon_memory_info_v1),
    0,
    memory_info,
};

const void* TENON_CALL get_extension(tenon_backend* backend, const char* id) {
  (void)backend;
  if (strcmp(id, TENON_EXTENSION_OPTIONS) == 0) return &options_table;
  if (strcmp(id, TENON_EXTENSION_SESSIONS) == 0) return &sessions_table;
  if (strcmp(id, TENON_EXTENSION_SEQUENCE) == 0) return &sequence_table;
  if (strcmp(id, TENON_EXTENSION_CHECK_BLOB) == 0) return &check_blob_table;
  if (strcmp(id, TENON_EXTENSION_ESTIMATE) == 0) return &estimate_table;
  if (strcmp(id, TENON_EXTENSION_MEMORY_INFO) == 0) return &memory_info_table;
  return NULL;
}
