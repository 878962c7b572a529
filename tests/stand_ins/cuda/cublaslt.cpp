// SPDX-License-Identifier: MIT
//
// Numbers and sizes of attributes follow cublasLt.h, CUDA 13.
#include <dlfcn.h>

#include <array>
#include <bit>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cublaslt_stand_in.hpp"
#include "stand_in.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace tenon::stand_in_cublaslt { namespace {

constexpr int success = 0;
constexpr int invalid_value = 7;
constexpr int not_supported = 15;
constexpr int real_bfloat16 = 14;
constexpr int real_float32 = 0;
constexpr int compute_float32 = 68;

struct Operation {
  int compute_type = 0;
  int scale_type = 0;
  std::array<std::int32_t, 2> transposed{};  ///< Of a and b.
};

struct Layout {
  int type;
  std::uint64_t rows, columns;
  std::int64_t stride;

  [[nodiscard]] std::size_t nbytes() const {
    return ((columns - 1) * static_cast<std::uint64_t>(stride) + rows) * 2;
  }
  [[nodiscard]] bool operator==(const Layout&) const = default;
};

struct Preference {
  std::uint64_t max_workspace = 0;
  std::uint32_t reductions = 7;
  std::array<std::uint32_t, 4> alignments = {256, 256, 256, 256};  ///< Of a, b, c and d.
};

/// The content of the opaque algorithm: the product it is for, and its memory.
struct Algorithm {
  std::uint64_t rows, columns, depth, workspace;
  std::array<std::uint32_t, 4> alignments;
  std::uint64_t mark, unused;

  static constexpr std::uint64_t expected_mark = 0x74656e6f6e;
};
static_assert(sizeof(Algorithm) == 8 * sizeof(std::uint64_t));

struct Found {
  Algorithm algorithm;
  std::size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

struct State {
  std::recursive_mutex mutex;
  std::size_t version = 130401;
  std::string failing;
  int failure = success;
  bool has_algorithms = true;
  long searches = 0;
  std::deque<Product> products;
  std::deque<std::string> misuses;
  std::set<const void*> handles;
  std::map<const void*, Operation> operations;
  std::map<const void*, Layout> layouts;
  std::map<const void*, Preference> preferences;
  std::uintptr_t next = 16;
};

State& state() {
  static State only;
  return only;
}

int misuse(std::string text) {
  state().misuses.push_back(std::move(text));
  return invalid_value;
}

/// One call: holds the lock, and fails on request.
struct Call {
  explicit Call(std::string_view name) : lock(state().mutex) {
    if (state().failing != name) return;
    state().failing.clear();
    code = state().failure;
  }
  std::unique_lock<std::recursive_mutex> lock;
  int code = success;
};

template <class Objects, class Object>
int create(Objects& objects, const void** out, Object object) {
  *out = reinterpret_cast<const void*>(state().next++ * 16);
  objects.emplace(*out, std::move(object));
  return success;
}

template <class Objects>
int destroy(Objects& objects, const void* which, const char* call) {
  return objects.erase(which) == 1 ? success : misuse(std::string(call) + ": no such object");
}

/// The object, or null with a misuse.
template <class Object>
Object* find(std::map<const void*, Object>& objects, const void* which, const char* call) {
  const auto found = objects.find(which);
  if (found != objects.end()) return &found->second;
  misuse(std::string(call) + ": no such descriptor");
  return nullptr;
}

template <class T>
int set(T& to, const void* from, std::size_t nbytes, const char* call) {
  if (!from || nbytes != sizeof to) {
    return misuse(std::string(call) + ": the attribute has another size");
  }
  std::memcpy(&to, from, sizeof to);
  return success;
}

/// The sizes of a product, and its operands; empty, with a misuse, when they do not fit.
struct Request {
  const Operation* operation;
  const Layout *a, *b, *c, *d;
  std::uint64_t rows, columns, depth;
};

std::optional<Request> read(const void* operation, const void* a, const void* b, const void* c,
                            const void* d, const char* call) {
  State& s = state();
  const Request out{find(s.operations, operation, call),
                    find(s.layouts, a, call),
                    find(s.layouts, b, call),
                    find(s.layouts, c, call),
                    find(s.layouts, d, call),
                    0,
                    0,
                    0};
  if (!out.operation || !out.a || !out.b || !out.c || !out.d) return std::nullopt;
  const auto [transposed_a, transposed_b] = out.operation->transposed;
  Request sized = out;
  sized.rows = transposed_a ? out.a->columns : out.a->rows;
  sized.depth = transposed_a ? out.a->rows : out.a->columns;
  sized.columns = transposed_b ? out.b->rows : out.b->columns;
  const std::uint64_t depth_of_b = transposed_b ? out.b->columns : out.b->rows;
  if (depth_of_b != sized.depth || out.d->rows != sized.rows || out.d->columns != sized.columns ||
      *out.c != *out.d) {
    misuse(std::string(call) + ": the matrices' sizes do not fit");
    return std::nullopt;
  }
  return sized;
}

const stand_in_cuda::Interface* driver() {
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (!library) return nullptr;
  using Find = const stand_in_cuda::Interface*();
  auto* const find = reinterpret_cast<Find*>(::dlsym(library, "tenon_stand_in_cuda"));
  return find ? find() : nullptr;
}

/// True when a block of the device has all of the bytes.
bool is_of_device(const stand_in_cuda::Interface& driver, const void* data, std::size_t nbytes) {
  const std::uint64_t address = reinterpret_cast<std::uintptr_t>(data);
  for (long i = 0; i < driver.live().blocks; ++i) {
    const stand_in_cuda::Block block = driver.block(i);
    if (address >= block.address && address + nbytes <= block.address + block.nbytes) return true;
  }
  return false;
}

float at(const void* data, const Layout& layout, bool transposed, std::uint64_t row,
         std::uint64_t column) {
  if (transposed) std::swap(row, column);
  const auto* const bits = static_cast<const std::uint16_t*>(data);
  return std::bit_cast<float>(
      std::uint32_t{bits[column * static_cast<std::uint64_t>(layout.stride) + row]} << 16);
}

std::uint16_t rounded(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

void multiply(const Request& request, float alpha, const void* a, const void* b, float beta,
              const void* c, void* d) {
  const auto [transposed_a, transposed_b] = request.operation->transposed;
  auto* const out = static_cast<std::uint16_t*>(d);
  for (std::uint64_t column = 0; column < request.columns; ++column) {
    for (std::uint64_t row = 0; row < request.rows; ++row) {
      float sum = 0;
      for (std::uint64_t k = 0; k < request.depth; ++k) {
        sum += at(a, *request.a, transposed_a != 0, row, k) *
               at(b, *request.b, transposed_b != 0, k, column);
      }
      const float before = beta == 0 ? 0.0f : at(c, *request.c, false, row, column);
      out[column * static_cast<std::uint64_t>(request.d->stride) + row] =
          rounded(alpha * sum + beta * before);
    }
  }
}

const Interface interface = {
    [] {
      State& s = state();
      const std::lock_guard lock(s.mutex);
      s.version = 130401;
      s.failing.clear();
      s.has_algorithms = true;
      s.searches = 0;
      s.products.clear();
      s.misuses.clear();
    },
    [](std::size_t version) { state().version = version; },
    [](const char* name, int code) {
      state().failing = name ? name : "";
      state().failure = code;
    },
    [](bool has) { state().has_algorithms = has; },
    [] { return state().searches; },
    [] { return static_cast<long>(state().products.size()); },
    [](long index) { return state().products.at(static_cast<std::size_t>(index)); },
    [] { return static_cast<long>(state().misuses.size()); },
    [](long index) { return state().misuses.at(static_cast<std::size_t>(index)).c_str(); },
    [] {
      const State& s = state();
      return static_cast<long>(s.handles.size() + s.operations.size() + s.layouts.size() +
                               s.preferences.size());
    }};

}}  // namespace tenon::stand_in_cublaslt

using namespace tenon::stand_in_cublaslt;

EXPORT const Interface* tenon_stand_in_cublaslt() { return &interface; }

EXPORT std::size_t cublasLtGetVersion() { return state().version; }
EXPORT const char* cublasLtGetStatusName(int code) {
  return code == 13 ? "CUBLAS_STATUS_EXECUTION_FAILED" : "CUBLAS_STATUS_OF_THE_STAND_IN";
}
EXPORT const char* cublasLtGetStatusString(int) { return "a text of the stand-in"; }

EXPORT int cublasLtCreate(const void** out) {
  const Call call("cublasLtCreate");
  if (call.code != success) return call.code;
  *out = reinterpret_cast<const void*>(state().next++ * 16);
  state().handles.insert(*out);
  return success;
}
EXPORT int cublasLtDestroy(const void* handle) {
  const Call call("cublasLtDestroy");
  return destroy(state().handles, handle, "cublasLtDestroy");
}
EXPORT int cublasLtMatmulDescCreate(const void** out, int compute_type, int scale_type) {
  const Call call("cublasLtMatmulDescCreate");
  if (call.code != success) return call.code;
  return create(state().operations, out, Operation{compute_type, scale_type});
}
EXPORT int cublasLtMatmulDescDestroy(const void* which) {
  const Call call("cublasLtMatmulDescDestroy");
  return destroy(state().operations, which, "cublasLtMatmulDescDestroy");
}
EXPORT int cublasLtMatmulDescSetAttribute(const void* which, int attribute, const void* from,
                                          std::size_t nbytes) {
  constexpr const char* name = "cublasLtMatmulDescSetAttribute";
  const Call call(name);
  Operation* const operation = find(state().operations, which, name);
  if (call.code != success || !operation) return call.code != success ? call.code : invalid_value;
  if (attribute == 3) return set(operation->transposed[0], from, nbytes, name);
  if (attribute == 4) return set(operation->transposed[1], from, nbytes, name);
  return misuse("cublasLtMatmulDescSetAttribute: the stand-in does not know the attribute");
}
EXPORT int cublasLtMatrixLayoutCreate(const void** out, int type, std::uint64_t rows,
                                      std::uint64_t columns, std::int64_t stride) {
  const Call call("cublasLtMatrixLayoutCreate");
  if (call.code != success) return call.code;
  if (rows == 0 || columns == 0 || stride < static_cast<std::int64_t>(rows)) {
    return misuse("cublasLtMatrixLayoutCreate: a column is longer than the stride");
  }
  return create(state().layouts, out, Layout{type, rows, columns, stride});
}
EXPORT int cublasLtMatrixLayoutDestroy(const void* which) {
  const Call call("cublasLtMatrixLayoutDestroy");
  return destroy(state().layouts, which, "cublasLtMatrixLayoutDestroy");
}
EXPORT int cublasLtMatmulPreferenceCreate(const void** out) {
  const Call call("cublasLtMatmulPreferenceCreate");
  if (call.code != success) return call.code;
  return create(state().preferences, out, Preference{});
}
EXPORT int cublasLtMatmulPreferenceDestroy(const void* which) {
  const Call call("cublasLtMatmulPreferenceDestroy");
  return destroy(state().preferences, which, "cublasLtMatmulPreferenceDestroy");
}
EXPORT int cublasLtMatmulPreferenceSetAttribute(const void* which, int attribute, const void* from,
                                                std::size_t nbytes) {
  constexpr const char* name = "cublasLtMatmulPreferenceSetAttribute";
  const Call call(name);
  Preference* const preference = find(state().preferences, which, name);
  if (call.code != success || !preference) return call.code != success ? call.code : invalid_value;
  if (attribute == 1) return set(preference->max_workspace, from, nbytes, name);
  if (attribute == 3) return set(preference->reductions, from, nbytes, name);
  if (attribute >= 5 && attribute <= 8) {
    return set(preference->alignments[static_cast<std::size_t>(attribute - 5)], from, nbytes, name);
  }
  return misuse("cublasLtMatmulPreferenceSetAttribute: the stand-in does not know the attribute");
}

/// One algorithm, which wants a MiB of working memory if it may have that.
EXPORT int cublasLtMatmulAlgoGetHeuristic(const void* handle, const void* operation, const void* a,
                                          const void* b, const void* c, const void* d,
                                          const void* which, int requested, Found* out,
                                          int* num_found) {
  constexpr const char* name = "cublasLtMatmulAlgoGetHeuristic";
  const Call call(name);
  ++state().searches;
  if (call.code != success) return call.code;
  if (!state().handles.contains(handle)) return misuse("an unknown handle");
  const auto request = read(operation, a, b, c, d, name);
  const Preference* const preference = find(state().preferences, which, name);
  if (!request || !preference || requested < 1) return invalid_value;
  *num_found = 0;
  for (const Layout* layout : {request->a, request->b, request->c, request->d}) {
    if (layout->type != real_bfloat16) return not_supported;
  }
  if (!state().has_algorithms || request->operation->compute_type != compute_float32 ||
      request->operation->scale_type != real_float32) {
    return not_supported;
  }
  constexpr std::uint64_t wanted = std::uint64_t{1} << 20;
  const std::uint64_t workspace = preference->max_workspace < wanted ? 0 : wanted;
  out->algorithm = {request->rows,
                    request->columns,
                    request->depth,
                    workspace,
                    preference->alignments,
                    Algorithm::expected_mark,
                    0};
  out->workspace = workspace;
  out->state = success;
  *num_found = 1;
  return success;
}

EXPORT int cublasLtMatmul(const void* handle, const void* operation, const float* alpha,
                          const void* a, const void* layout_a, const void* b, const void* layout_b,
                          const float* beta, const void* c, const void* layout_c, void* d,
                          const void* layout_d, const Algorithm* algorithm, void* workspace,
                          std::size_t workspace_bytes, const void* stream) {
  constexpr const char* name = "cublasLtMatmul";
  const Call call(name);
  if (call.code != success) return call.code;
  if (!state().handles.contains(handle)) return misuse("an unknown handle");
  const auto request = read(operation, layout_a, layout_b, layout_c, layout_d, name);
  if (!request) return invalid_value;
  if (algorithm->mark != Algorithm::expected_mark || algorithm->rows != request->rows ||
      algorithm->columns != request->columns || algorithm->depth != request->depth) {
    return misuse("cublasLtMatmul: the algorithm is for another product");
  }
  if (workspace_bytes < algorithm->workspace) {
    return misuse("cublasLtMatmul: the algorithm wants more working memory");
  }
  const struct {
    const void* data;
    std::size_t nbytes;
    std::uint32_t alignment;
  } used[] = {{a, request->a->nbytes(), algorithm->alignments[0]},
              {b, request->b->nbytes(), algorithm->alignments[1]},
              {c, request->c->nbytes(), algorithm->alignments[2]},
              {d, request->d->nbytes(), algorithm->alignments[3]},
              {workspace, workspace_bytes, 256}};
  const auto* const on_device = driver();
  for (const auto& each : used) {
    if (reinterpret_cast<std::uintptr_t>(each.data) % each.alignment != 0) {
      return misuse("cublasLtMatmul: memory is not aligned as the algorithm expects");
    }
    if (on_device && !is_of_device(*on_device, each.data, each.nbytes)) {
      return misuse("cublasLtMatmul: memory is not the device's, or too small");
    }
  }
  state().products.push_back(
      {request->rows, request->columns, request->depth, stream, workspace, workspace_bytes});
  if (!on_device) multiply(*request, *alpha, a, b, *beta, c, d);
  return success;
}
