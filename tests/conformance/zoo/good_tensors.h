// SPDX-License-Identifier: MIT
//
// The checks of arguments and the run of the good backend. Included by good.h.

#ifndef TENON_ZOO_GOOD_TENSORS_H
#define TENON_ZOO_GOOD_TENSORS_H

#ifndef ZOO_IS_FLOAT
#define ZOO_IS_FLOAT(tensor)                                                  \
  ((tensor)->scalar_type == 6 && (tensor)->dl.dtype.code == TENON_DL_FLOAT && \
   (tensor)->dl.dtype.bits == 32 && (tensor)->dl.dtype.lanes == 1)
#endif
#ifndef ZOO_IS_DEVICE
#define ZOO_IS_DEVICE(device) ((device).device_type == TENON_DL_CPU)
#endif
/// The first byte of the elements.
#ifndef ZOO_DATA
#define ZOO_DATA(tensor) ((char*)(tensor)->dl.data + (tensor)->dl.byte_offset)
#endif
#ifndef ZOO_ELEMENT_BYTES
#define ZOO_ELEMENT_BYTES(tensor) ((uint64_t)(tensor)->dl.dtype.bits / 8)
#endif
/// The offset of element number `index`, counted as in a contiguous tensor.
#ifndef ZOO_OFFSET
#define ZOO_OFFSET(tensor, index) good_offset((tensor), (index))
#endif
#ifndef ZOO_RESIZE
#define ZOO_RESIZE(host, tensor, sizes, rank) \
  (host)->resize_tensor((host), (tensor), (sizes), (rank))
#endif

enum { good_max_rank = 8 };

/// Elements of `tensor`, whose sizes were checked.
static inline int64_t good_numel(const tenon_tensor* tensor) {
  int64_t numel = 1;
  for (int32_t d = 0; d < tensor->dl.ndim; ++d) numel *= tensor->dl.shape[d];
  return numel;
}

/// Whether the product of the sizes matches `nbytes`.
static inline int good_sizes_fit(const tenon_tensor* tensor) {
  uint64_t nbytes = ZOO_ELEMENT_BYTES(tensor);
  for (int32_t d = 0; d < tensor->dl.ndim; ++d) {
    const int64_t size = tensor->dl.shape[d];
    if (size < 0 || size > tensor->bounds[d]) return 0;
    if (size > 0 && nbytes > UINT64_MAX / (uint64_t)size) return 0;
    nbytes *= (uint64_t)size;
  }
  return nbytes == tensor->nbytes;
}

static inline float* good_data(const tenon_tensor* tensor) {
  return (float*)(void*)ZOO_DATA(tensor);
}

/// Refuses all but float32 tensors on the CPU.
static inline tenon_status good_check(const tenon_host* host, uint32_t index,
                                      const tenon_value* value) {
  if (value->kind != TENON_VALUE_TENSOR) {
    return good_fail(host, TENON_STATUS_INVALID_ARGUMENT,
                     "argument %u: expected a tensor (kind 1), found kind %u", index, value->kind);
  }
  const tenon_tensor* const tensor = value->as.tensor;
  if (tensor->struct_size < sizeof *tensor) {
    return good_fail(host, TENON_STATUS_INVALID_ARGUMENT,
                     "argument %u: expected a tensor of %zu bytes, found %u", index, sizeof *tensor,
                     tensor->struct_size);
  }
  if (!ZOO_IS_FLOAT(tensor)) {
    return good_fail(host, TENON_STATUS_INVALID_TYPE,
                     "argument %u: expected float32 (scalar type 6), found scalar type %d of code "
                     "%d, %d bits, %d lanes",
                     index, tensor->scalar_type, tensor->dl.dtype.code, tensor->dl.dtype.bits,
                     tensor->dl.dtype.lanes);
  }
  if (!ZOO_IS_DEVICE(tensor->dl.device)) {
    return good_fail(host, TENON_STATUS_INVALID_ARGUMENT,
                     "argument %u: expected the CPU (device type 1), found device type %d", index,
                     tensor->dl.device.device_type);
  }
  if (tensor->dl.ndim < 0 || tensor->dl.ndim > good_max_rank) {
    return good_fail(host, TENON_STATUS_NOT_SUPPORTED,
                     "argument %u: expected a rank of 0 to %d, found %d", index, good_max_rank,
                     tensor->dl.ndim);
  }
  if (!good_sizes_fit(tensor)) {
    return good_fail(host, TENON_STATUS_INVALID_ARGUMENT,
                     "argument %u: expected sizes within the bounds that make up its %llu bytes, "
                     "found others",
                     index, (unsigned long long)tensor->nbytes);
  }
  return TENON_STATUS_OK;
}

/// Refuses a tensor without its data, or with data that is not aligned to a float.
static inline tenon_status good_check_data(const tenon_host* host, uint32_t index,
                                           const tenon_tensor* tensor) {
  if (tensor->nbytes == 0) return TENON_STATUS_OK;
  if (!tensor->dl.data || tensor->capacity < tensor->nbytes) {
    return good_fail(host, TENON_STATUS_INVALID_ARGUMENT,
                     "argument %u: expected %llu bytes of data, found %llu", index,
                     (unsigned long long)tensor->nbytes,
                     tensor->dl.data ? (unsigned long long)tensor->capacity : 0);
  }
  if ((uintptr_t)good_data(tensor) % _Alignof(float) != 0) {
    return good_fail(host, TENON_STATUS_INVALID_ARGUMENT,
                     "argument %u: expected data at a multiple of %zu, found %p", index,
                     _Alignof(float), (void*)good_data(tensor));
  }
  return TENON_STATUS_OK;
}

/// Refuses a rank other than the rank of `first`, argument 0.
static inline tenon_status good_check_rank(const tenon_host* host, uint32_t index,
                                           const tenon_tensor* tensor, const tenon_tensor* first) {
  if (tensor->dl.ndim == first->dl.ndim) return TENON_STATUS_OK;
  return good_fail(host, TENON_STATUS_INVALID_ARGUMENT,
                   "argument %u: expected rank %d as of argument 0, found rank %d", index,
                   first->dl.ndim, tensor->dl.ndim);
}

/// The first dimension in which the sizes of two tensors of one rank differ, or the rank.
static inline int32_t good_mismatch(const tenon_tensor* a, const tenon_tensor* b) {
  int32_t d = 0;
  while (d < a->dl.ndim && a->dl.shape[d] == b->dl.shape[d]) ++d;
  return d;
}

static inline int64_t good_offset(const tenon_tensor* tensor, int64_t index) {
  int64_t offset = 0;
  for (int32_t d = tensor->dl.ndim; d-- > 0;) {
    offset += index % tensor->dl.shape[d] * tensor->dl.strides[d];
    index /= tensor->dl.shape[d];
  }
  return offset;
}

/// Element number `index`.
static inline float* good_element(const tenon_tensor* tensor, int64_t index) {
  return good_data(tensor) + ZOO_OFFSET(tensor, index);
}

/// The output when it is a tensor with elements, or NULL; for a plugin that breaks a rule with it.
static inline tenon_tensor* good_output(tenon_value* const* args, uint32_t num_args) {
  if (num_args == 0 || args[num_args - 1]->kind != TENON_VALUE_TENSOR) return NULL;
  tenon_tensor* const tensor = args[num_args - 1]->as.tensor;
  return tensor->dl.data && tensor->nbytes > 0 ? tensor : NULL;
}

/// Checks all arguments and sets the sizes of the output.
static inline tenon_status good_prepare(const tenon_host* host, tenon_value* const* args,
                                        uint32_t num_args) {
  tenon_status status = TENON_STATUS_OK;
  for (uint32_t i = 0; i < num_args && status == TENON_STATUS_OK; ++i) {
    status = good_check(host, i, args[i]);
  }
  if (status != TENON_STATUS_OK) return status;
  const tenon_tensor* const first = args[0]->as.tensor;
  for (uint32_t i = 1; i < num_args; ++i) {
    status = good_check_rank(host, i, args[i]->as.tensor, first);
    if (status != TENON_STATUS_OK) return status;
  }
  if (num_args == 3) {
    const tenon_tensor* const second = args[1]->as.tensor;
    const int32_t d = good_mismatch(second, first);
    if (d < first->dl.ndim) {
      return good_fail(
          host, TENON_STATUS_INVALID_ARGUMENT,
          "argument 1: expected size %lld in dimension %d as of argument 0, found %lld",
          (long long)first->dl.shape[d], d, (long long)second->dl.shape[d]);
    }
  }
  tenon_tensor* const out = args[num_args - 1]->as.tensor;
  const int32_t d = good_mismatch(out, first);
  if (d < first->dl.ndim) {
    const long long before = out->dl.shape[d];
    status = ZOO_RESIZE(host, out, first->dl.shape, (uint32_t)first->dl.ndim);
    if (status != TENON_STATUS_OK) {
      return good_fail(host, status,
                       "argument %u: expected size %lld in dimension %d, found %lld that cannot be "
                       "changed",
                       num_args - 1, (long long)first->dl.shape[d], d, before);
    }
  }
  for (uint32_t i = 0; i < num_args && status == TENON_STATUS_OK; ++i) {
    status = good_check_data(host, i, args[i]->as.tensor);
  }
  return status;
}

static inline tenon_status good_execute(tenon_backend* backend, tenon_delegate* delegate,
                                        const tenon_execution_context* context,
                                        tenon_value* const* args, uint32_t num_args) {
  const tenon_host* const host = backend->host;
  const good_model* const model = delegate->model;
  const uint32_t expected = model->operation == 0 ? 3 : 2;
  if (num_args != expected) {
    return good_fail(host, TENON_STATUS_INVALID_ARGUMENT,
                     "execute: expected %u arguments, found %u", expected, num_args);
  }
  tenon_status status = good_prepare(host, args, num_args);
  if (status != TENON_STATUS_OK) return status;

  const tenon_tracer* const tracer =
      ZOO_HAS(context, tenon_execution_context, tracer) ? context->tracer : NULL;
  const uint64_t start = tracer ? tracer->now(tracer) : 0;
  const tenon_tensor* const a = args[0]->as.tensor;
  const tenon_tensor* const out = args[num_args - 1]->as.tensor;
  const int64_t numel = good_numel(a);
  // The output may share the memory of an input, with other strides.
  float* sums = NULL;
  if (numel > 0) {
    sums = (float*)context->temp_allocator->allocate(context->temp_allocator, a->nbytes,
                                                     _Alignof(float));
    if (!sums) {
      return good_fail(host, TENON_STATUS_MEMORY_ALLOCATION_FAILED,
                       "execute: expected %llu bytes of the temp allocator, found none",
                       (unsigned long long)a->nbytes);
    }
  }
  ++delegate->runs;
  const float constant = model->added + model->bias;
  for (int64_t i = 0; i < numel; ++i) {
    const float other =
        num_args == 3 ? *good_element(args[1]->as.tensor, i) : (float)delegate->runs;
    sums[i] = *good_element(a, i) * model->scale + other + constant;
  }
  for (int64_t i = 0; i < numel; ++i) *good_element(out, i) = sums[i];
  if (tracer) {
    tracer->log_event(tracer, "add", 3, -1, start, tracer->now(tracer), NULL, 0);
  }
  return TENON_STATUS_OK;
}

#endif  // TENON_ZOO_GOOD_TENSORS_H
