// SPDX-License-Identifier: MIT
//
// A plugin in C11. Its backend "ScaleBias" keeps a sum for each element of its float32 input:
//
//   sum += x;  y = gain * (a * sum + b)
//
// `a` and `b` are in the blob, `gain` is an option.

#include "scale_bias.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// [fail]
tenon_status fail(const tenon_host* host, tenon_status status, const char* format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  const int size = vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  const size_t length = size < 0 ? 0 : (size_t)size;
  host->set_last_error(host, status, text, length < sizeof(text) ? length : sizeof(text) - 1);
  return status;
}
// [fail]

// The blob.

static uint32_t read_u32(const unsigned char* at) {
  return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static float read_float(const unsigned char* at) {
  const uint32_t bits = read_u32(at);
  float out;
  memcpy(&out, &bits, sizeof(out));
  return out;
}

static bool is_finite(float value) { return value - value == 0.0F; }

/// Called by `init`, `check_blob` and `estimate`, so that all three agree. The bytes may begin at
/// any address, and `data` is NULL when there are none.
tenon_status read_blob(const tenon_host* host, const tenon_buffer* buffer, Blob* out) {
  const unsigned char* bytes = buffer->data;
  if (buffer->nbytes < 8 || memcmp(bytes, "SCLB", 4) != 0) {
    return fail(host, TENON_STATUS_DELEGATE_INVALID_COMPATIBILITY,
                "blob: expected SCLB and a version at its begin, found %" PRIu64 " other bytes",
                buffer->nbytes);
  }
  const uint32_t version = read_u32(bytes + 4);
  if (version != BLOB_VERSION) {
    return fail(host, TENON_STATUS_DELEGATE_INVALID_COMPATIBILITY,
                "blob: expected version %d, found %" PRIu32, BLOB_VERSION, version);
  }
  if (buffer->nbytes != BLOB_SIZE) {
    return fail(host, TENON_STATUS_INVALID_PROGRAM, "blob: expected %d bytes, found %" PRIu64,
                BLOB_SIZE, buffer->nbytes);
  }
  *out = (Blob){read_float(bytes + 8), read_float(bytes + 12), read_u32(bytes + 16)};
  if (!is_finite(out->a) || !is_finite(out->b) || out->count > MOST_ELEMENTS) {
    return fail(host, TENON_STATUS_INVALID_PROGRAM,
                "blob: expected finite a and b and at most %d elements, found %g, %g and %" PRIu32,
                MOST_ELEMENTS, (double)out->a, (double)out->b, out->count);
  }
  return TENON_STATUS_OK;
}

// From `open` to `close`.

static tenon_status TENON_CALL open_backend(const tenon_host* host, tenon_backend** out) {
  // Hosts of every major have `set_last_error`; the members behind it belong to this major.
  if (host->abi_major != TENON_ABI_MAJOR) {
    return fail(host, TENON_STATUS_NOT_SUPPORTED, "host: expected ABI %d.%d or later, found %d.%d",
                TENON_ABI_MAJOR, TENON_ABI_MINOR, host->abi_major, host->abi_minor);
  }
  tenon_backend* backend = malloc(sizeof(*backend));
  if (!backend) {
    return fail(host, TENON_STATUS_MEMORY_ALLOCATION_FAILED,
                "expected %" PRIu64 " bytes, found none", (uint64_t)sizeof(*backend));
  }
  backend->host = host;
  backend->cancel_flag = host->get_extension(host, TENON_EXTENSION_CANCEL_FLAG);
  atomic_init(&backend->gain, INITIAL_GAIN);
  *out = backend;
  return TENON_STATUS_OK;
}

static void TENON_CALL close_backend(tenon_backend* backend) { free(backend); }

static tenon_status TENON_CALL is_available(tenon_backend* backend) {
  (void)backend;  // needs nothing but the CPU
  return TENON_STATUS_OK;
}

uint64_t delegate_bytes(uint32_t count) {
  return sizeof(tenon_delegate) + (uint64_t)count * sizeof(float);
}

tenon_delegate* new_delegate(Blob blob, float gain, const char* memory_kind) {
  tenon_delegate* delegate = calloc(1, (size_t)delegate_bytes(blob.count));
  if (!delegate) return NULL;
  delegate->blob = blob;
  delegate->gain = gain;
  delegate->memory_kind = memory_kind;
  return delegate;
}

static tenon_status TENON_CALL init(tenon_backend* backend, const tenon_init_context* context,
                                    tenon_delegate** out) {
  double gain = atomic_load(&backend->gain);
  tenon_status status =
      read_gain(backend->host, context->runtime_specs, context->num_runtime_specs, &gain);
  if (status != TENON_STATUS_OK) return status;
  Blob blob;
  status = read_blob(backend->host, context->processed, &blob);
  if (status != TENON_STATUS_OK) return status;
  tenon_delegate* delegate = new_delegate(blob, (float)gain, TENON_MEMORY_WORKSPACE);
  if (!delegate) {
    return fail(backend->host, TENON_STATUS_MEMORY_ALLOCATION_FAILED,
                "expected %" PRIu64 " bytes, found none", delegate_bytes(blob.count));
  }
  context->processed->release(context->processed);  // all that is needed was read
  *out = delegate;
  return TENON_STATUS_OK;
}

static void TENON_CALL destroy(tenon_backend* backend, tenon_delegate* delegate) {
  (void)backend;
  free(delegate);
}

// Runs.

/// True when the elements are in row-major order without gaps. A size of 0 counts as 1, and the
/// stride of a dimension of one element means nothing.
static bool is_row_major(const tenon_dl_tensor* tensor) {
  int64_t expected = 1;
  for (int32_t i = tensor->ndim; i-- > 0;) {
    if (tensor->shape[i] > 1 && tensor->strides[i] != expected) return false;
    if (tensor->shape[i] > 1) expected *= tensor->shape[i];
  }
  return true;
}

/// The tensor of argument `index`, when `execute` takes it. Its sizes are checked by
/// `count_elements`.
static tenon_status read_tensor(const tenon_host* host, tenon_value* const* args, uint32_t index,
                                tenon_tensor** out) {
  if (args[index]->kind != TENON_VALUE_TENSOR) {
    return fail(host, TENON_STATUS_INVALID_TYPE,
                "argument %" PRIu32 ": expected a tensor (kind %d), found kind %" PRIu32, index,
                TENON_VALUE_TENSOR, args[index]->kind);
  }
  tenon_tensor* tensor = args[index]->as.tensor;
  const tenon_dl_dtype dtype = tensor->dl.dtype;
  if (dtype.code != TENON_DL_FLOAT || dtype.bits != 32 || dtype.lanes != 1) {
    return fail(host, TENON_STATUS_INVALID_TYPE,
                "argument %" PRIu32
                ": expected float32 (code %d, 32 bits, 1 lane), found code %d, "
                "%d bits, %d lanes",
                index, TENON_DL_FLOAT, dtype.code, dtype.bits, dtype.lanes);
  }
  if (tensor->dl.device.device_type != TENON_DL_CPU) {
    return fail(host, TENON_STATUS_NOT_SUPPORTED,
                "argument %" PRIu32
                ": expected the CPU (device type %d), found device type %" PRId32,
                index, TENON_DL_CPU, tensor->dl.device.device_type);
  }
  *out = tensor;
  return TENON_STATUS_OK;
}

/// The number of elements, at most the blob's, and their address.
static tenon_status find_elements(const tenon_host* host, const tenon_tensor* tensor,
                                  uint32_t index, uint32_t most, uint32_t* count, float** first) {
  uint64_t product = 1;  // at most 2^40: each factor is checked
  for (int32_t i = 0; i < tensor->dl.ndim && product <= most; ++i) {
    const int64_t size = tensor->dl.shape[i];
    product *= size >= 0 && size <= MOST_ELEMENTS ? (uint64_t)size : (uint64_t)MOST_ELEMENTS + 1;
  }
  if (product > most || !is_row_major(&tensor->dl)) {
    return fail(host, TENON_STATUS_INVALID_ARGUMENT,
                "argument %" PRIu32 ": expected at most %" PRIu32 " elements, found %s", index,
                most,
                product > most ? "more, or a negative size" : "an order that is not row-major");
  }
  if (product > 0 && !tensor->dl.data) {
    return fail(host, TENON_STATUS_INVALID_ARGUMENT,
                "argument %" PRIu32 ": expected %" PRIu64 " elements, found no data", index,
                product);
  }
  *count = (uint32_t)product;
  *first = product == 0 ? NULL : (float*)((char*)tensor->dl.data + tensor->dl.byte_offset);
  return TENON_STATUS_OK;
}

/// The host's number for the run, which another thread writes.
// [flag]
static bool is_set(const uint32_t* flag) {
  return flag && atomic_load_explicit((const _Atomic uint32_t*)flag, memory_order_relaxed) != 0;
}
// [flag]

static tenon_status TENON_CALL execute(tenon_backend* backend, tenon_delegate* delegate,
                                       const tenon_execution_context* context,
                                       tenon_value* const* args, uint32_t num_args) {
  const tenon_host* host = backend->host;
  if (num_args != 2) {
    return fail(host, TENON_STATUS_INVALID_ARGUMENT,
                "number of arguments: expected 2, found %" PRIu32, num_args);
  }
  const Blob* blob = &delegate->blob;
  tenon_tensor* in;
  tenon_tensor* out;
  float* x;
  float* y;
  uint32_t count;
  uint32_t out_count;
  // Everything is checked before anything changes: arguments that are refused leave the state.
  tenon_status status = read_tensor(host, args, 0, &in);
  if (status == TENON_STATUS_OK) status = read_tensor(host, args, 1, &out);
  if (status == TENON_STATUS_OK) status = find_elements(host, in, 0, blob->count, &count, &x);
  if (status != TENON_STATUS_OK) return status;
  // Only the host changes sizes. It refuses those that do not fit.
  status = host->resize_tensor(host, out, in->dl.shape, (uint32_t)in->dl.ndim);
  if (status != TENON_STATUS_OK) {
    return fail(host, status,
                "argument 1: expected a tensor that can have the sizes of argument 0 (%" PRIu32
                " elements, rank %" PRId32 "), found one of rank %" PRId32,
                count, in->dl.ndim, out->dl.ndim);
  }
  status = find_elements(host, out, 1, blob->count, &out_count, &y);
  if (status != TENON_STATUS_OK) return status;

  // [member]
  const bool asks =
      backend->cancel_flag && TENON_HAS_MEMBER(*backend->cancel_flag, get_cancel_flag);
  const uint32_t* flag = asks ? backend->cancel_flag->get_cancel_flag(context) : NULL;
  // [member]
  enum { BLOCK = 16384 };  // elements between two looks at the flag
  for (uint32_t begin = 0; begin < count; begin += BLOCK) {
    if (is_set(flag)) {
      return fail(host, TENON_STATUS_CANCELLED,
                  "run: expected %" PRIu32 " elements, cancelled after %" PRIu32, count, begin);
    }
    const uint32_t end = count - begin < BLOCK ? count : begin + BLOCK;
    for (uint32_t i = begin; i < end; ++i) {
      delegate->sums[i] += x[i];
      y[i] = delegate->gain * (blob->a * delegate->sums[i] + blob->b);
    }
  }
  return TENON_STATUS_OK;
}

// The object that hosts find.

static const tenon_backend_api api = {
    .struct_size = sizeof(tenon_backend_api),
    .open = open_backend,
    .close = close_backend,
    .is_available = is_available,
    .init = init,
    .execute = execute,
    .destroy = destroy,
    .get_extension = get_extension,
};

static const tenon_backend_api* const backends[] = {&api};

/// The one object that the plugin exports. A host reads head and record from the file.
// [object]
typedef struct {
  tenon_plugin_head head;
  tenon_backend_record record;
  tenon_plugin_body body;
} Plugin;

extern const Plugin tenon_plugin_v1;

TENON_EXPORT const Plugin tenon_plugin_v1 = {
    .head =
        {
            .magic = TENON_PLUGIN_MAGIC,
            .head_size = sizeof(tenon_plugin_head),
            .object_size = sizeof(Plugin),
            .abi_major = TENON_ABI_MAJOR,
            .abi_minor = TENON_ABI_MINOR,
            .min_host_abi_minor = 0,
            .pointer_size = sizeof(void*),
            .little_endian = 1,
            .num_backends = 1,
            .records_offset = offsetof(Plugin, record),
            .record_size = sizeof(tenon_backend_record),
            .body_offset = offsetof(Plugin, body),
            .name = "ScaleBias",
            .version = "1.0.0",
            .vendor = "Tenon's examples",
            .sdk_version = TENON_VERSION_STRING,
        },
    .record =
        {
            .struct_size = sizeof(tenon_backend_record),
            .min_payload_version = BLOB_VERSION,
            .max_payload_version = BLOB_VERSION,
            .id = "ScaleBias",
            .tags = "cpu",
            .description = "Scaled running sums of float32 tensors, in C",
        },
    .body = {.struct_size = sizeof(tenon_plugin_body), .num_backends = 1, .backends = backends},
};
// [object]
