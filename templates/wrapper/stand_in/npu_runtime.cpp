// SPDX-License-Identifier: MIT
//
// The stand-in's library. Its models compute a * factor + b on tensors of one shape. A blob is
// "NPUM" and, little-endian: u32 version (1), u32 type, i32 factor, u32 rank, i64 sizes[rank].
#include "stand_in/npu_runtime.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>

struct npu_model {
  npu_port port;
  std::int32_t factor;
};

struct npu_request {
  const npu_model* model;
  std::array<const void*, 2> inputs{};
  std::array<npu_port, 2> shapes{};
  void* output = nullptr;
  std::atomic<bool> cancelled{false};
};

namespace {

// Without a destructor, which would keep the library in memory.
thread_local char last_error[160];

template <class... Values>
npu_status fail(npu_status status, const char* format, Values... values) {
  std::snprintf(last_error, sizeof last_error, format, values...);
  return status;
}
npu_status fail(npu_status status, const char* text) { return fail(status, "%s", text); }

template <class T>
T read(const unsigned char* at) {
  T out;
  std::memcpy(&out, at, sizeof out);
  return out;
}

std::int64_t count(const npu_port& shape) {
  std::int64_t out = 1;
  for (std::uint32_t d = 0; d < shape.rank; ++d) out *= shape.sizes[d];
  return out;
}

bool same_sizes(const npu_port& a, const npu_port& b) {
  return a.rank == b.rank && std::equal(a.sizes, a.sizes + a.rank, b.sizes);
}

template <class T>
npu_status compute(npu_request& request) {
  constexpr std::int64_t block = 4096;
  const auto* a = static_cast<const T*>(request.inputs[0]);
  const auto* b = static_cast<const T*>(request.inputs[1]);
  auto* out = static_cast<T*>(request.output);
  const auto factor = static_cast<T>(request.model->factor);
  const std::int64_t end = count(request.shapes[0]);
  for (std::int64_t i = 0; i < end; i += block) {
    if (request.cancelled) return fail(NPU_CANCELLED, "the run was cancelled");
    std::transform(a + i, a + std::min(end, i + block), b + i, out + i,
                   [=](T x, T y) { return static_cast<T>(x * factor + y); });
  }
  return NPU_OK;
}

}  // namespace

extern "C" {

int npu_version(void) { return 1; }
const char* npu_last_error(void) { return last_error; }

npu_status npu_model_load(const void* blob, size_t nbytes, int num_threads, npu_model** out) {
  const auto* bytes = static_cast<const unsigned char*>(blob);
  constexpr size_t head = 20;
  if (nbytes < head || std::memcmp(bytes, "NPUM", 4) != 0) {
    return fail(NPU_BAD_MODEL, "expected a model of %zu bytes or more, found %zu", head, nbytes);
  }
  if (read<std::uint32_t>(bytes + 4) != 1) {
    return fail(NPU_BAD_MODEL, "expected version 1, found %u", read<std::uint32_t>(bytes + 4));
  }
  const auto type = read<std::uint32_t>(bytes + 8);
  const auto rank = read<std::uint32_t>(bytes + 16);
  if (type > NPU_INT64) return fail(NPU_BAD_MODEL, "unknown type %u", type);
  if (rank > NPU_MAX_RANK || nbytes != head + rank * sizeof(std::int64_t)) {
    return fail(NPU_BAD_MODEL, "%zu bytes do not fit rank %u", nbytes, rank);
  }
  if (num_threads < 0 || num_threads > 64) {
    return fail(NPU_BAD_ARGUMENT, "expected 0 to 64 threads, found %d", num_threads);
  }
  npu_port port{static_cast<npu_type>(type), rank, {}};
  for (std::uint32_t d = 0; d < rank; ++d) {
    port.sizes[d] = read<std::int64_t>(bytes + head + d * sizeof(std::int64_t));
    if (port.sizes[d] < -1) return fail(NPU_BAD_MODEL, "size %u is negative", d);
  }
  *out = new (std::nothrow) npu_model{port, read<std::int32_t>(bytes + 12)};
  return *out ? NPU_OK : fail(NPU_NO_MEMORY, "no memory for a model");
}

void npu_model_free(npu_model* model) { delete model; }
size_t npu_model_num_inputs(const npu_model*) { return 2; }
size_t npu_model_num_outputs(const npu_model*) { return 1; }

npu_status npu_model_input(const npu_model* model, size_t index, npu_port* out) {
  if (index > 1) return fail(NPU_BAD_ARGUMENT, "there is no input %zu", index);
  *out = model->port;
  return NPU_OK;
}

npu_status npu_model_output(const npu_model* model, size_t index, npu_port* out) {
  if (index > 0) return fail(NPU_BAD_ARGUMENT, "there is no output %zu", index);
  *out = model->port;
  return NPU_OK;
}

npu_status npu_request_create(const npu_model* model, npu_request** out) {
  *out = new (std::nothrow) npu_request{model};
  return *out ? NPU_OK : fail(NPU_NO_MEMORY, "no memory for a request");
}

void npu_request_free(npu_request* request) { delete request; }

npu_status npu_request_set_input(npu_request* request, size_t index, const void* data,
                                 const int64_t* sizes, uint32_t rank) {
  const npu_port& port = request->model->port;
  if (index > 1) return fail(NPU_BAD_ARGUMENT, "there is no input %zu", index);
  if (rank != port.rank) {
    return fail(NPU_BAD_ARGUMENT, "expected rank %u, found %u", port.rank, rank);
  }
  for (uint32_t d = 0; d < rank; ++d) {
    if (port.sizes[d] != -1 && port.sizes[d] != sizes[d]) {
      return fail(NPU_BAD_ARGUMENT, "size %u: expected %lld, found %lld", d,
                  static_cast<long long>(port.sizes[d]), static_cast<long long>(sizes[d]));
    }
    request->shapes[index].sizes[d] = sizes[d];
  }
  request->shapes[index].rank = rank;
  request->inputs[index] = data;
  return NPU_OK;
}

npu_status npu_request_output_sizes(npu_request* request, size_t index, int64_t* sizes,
                                    uint32_t* rank) {
  if (index > 0) return fail(NPU_BAD_ARGUMENT, "there is no output %zu", index);
  if (!same_sizes(request->shapes[0], request->shapes[1])) {
    return fail(NPU_BAD_ARGUMENT, "expected two inputs of the same sizes");
  }
  *rank = request->shapes[0].rank;
  std::copy_n(request->shapes[0].sizes, *rank, sizes);
  return NPU_OK;
}

npu_status npu_request_set_output(npu_request* request, size_t index, void* data) {
  if (index > 0) return fail(NPU_BAD_ARGUMENT, "there is no output %zu", index);
  request->output = data;
  return NPU_OK;
}

npu_status npu_request_start(npu_request* request) {
  request->cancelled = false;
  return NPU_OK;
}

npu_status npu_request_wait(npu_request* request) {
  switch (request->model->port.type) {
    case NPU_FLOAT32:
      return compute<float>(*request);
    case NPU_INT32:
      return compute<std::int32_t>(*request);
    case NPU_INT64:
      return compute<std::int64_t>(*request);
  }
  return NPU_OK;
}

void npu_request_cancel(npu_request* request) { request->cancelled = true; }

}  // extern "C"
