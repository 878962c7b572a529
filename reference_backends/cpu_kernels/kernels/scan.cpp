// SPDX-License-Identifier: MIT
#include <cmath>
#include <utility>

#include "kernels/elements.hpp"
#include "kernels/kernel_list.hpp"
#include "strided.hpp"

namespace tenon::cpu_aoti {
namespace {

using aoti::shim_call;

/// The type of a running sum or product of elements of type T, as in PyTorch: double for floats,
/// float for halves, 64 bits for integers (which wrap around).
template <class T>
using Running = std::conditional_t<std::is_same_v<Wide<T>, std::int64_t>, std::uint64_t,
                                   std::conditional_t<std::is_same_v<T, float>, double, Wide<T>>>;

enum class Scan { sum, product, log_sum_exp };

/// Elements `count` steps of `stride` apart, as values of type To.
template <class From, class To>
void load(const std::byte* data, std::int64_t stride, std::int64_t count, Running<To>* line) {
  const auto* from = reinterpret_cast<const From*>(data);
  for (std::int64_t i = 0; i < count; ++i) {
    const Wide<From> value = widen(from[i * stride]);
    if constexpr (std::is_same_v<From, To>) {
      line[i] = static_cast<Running<To>>(value);
    } else {
      line[i] = static_cast<Running<To>>(widen(narrow<To>(value)));
    }
  }
}

template <class To>
void store(const Running<To>* line, std::int64_t stride, std::int64_t count, std::byte* data) {
  auto* to = reinterpret_cast<To*>(data);
  for (std::int64_t i = 0; i < count; ++i) to[i * stride] = narrow<To>(line[i]);
}

/// log(exp(a) + exp(b)), without overflow. Equal infinities stay.
template <class T>
[[nodiscard]] T log_add_exp(T a, T b) noexcept {
  const T least = b != b || b < a ? b : a;
  const T most = b != b || b >= a ? b : a;
  if (least == most && !std::isfinite(least)) return most;
  return std::log1p(std::exp(least - most)) + most;
}

template <Scan scan, class T>
void accumulate(T* line, std::int64_t count) {
  for (std::int64_t i = 1; i < count; ++i) {
    if constexpr (scan == Scan::log_sum_exp) {
      line[i] = log_add_exp(line[i - 1], line[i]);
    } else {
      line[i] = scan == Scan::sum ? line[i - 1] + line[i] : line[i - 1] * line[i];
    }
  }
}

/// Calls `body` with a value of each type that the scan is defined for.
template <Scan scan, class Body>
Status with_scan_type(ScalarType type, Body&& body) {
  if constexpr (scan == Scan::log_sum_exp) {
    return with_real_type(type, std::forward<Body>(body));
  } else {
    return with_type(type, std::forward<Body>(body));
  }
}

template <Scan scan>
Status run_scan(const ModelTensor& self, std::int64_t dim, const std::int32_t* dtype,
                ModelTensor** result) {
  TENON_TRY(const std::size_t along, wrap_dim(dim, self.rank));
  ScalarType type = self.scalar_type;
  TENON_RETURN_IF_ERROR(with_type(type, [&]<class T>(T) {
    if (std::is_same_v<Wide<T>, std::int64_t>) type = ScalarType::Long;
    return ok();
  }));
  if (dtype) type = static_cast<ScalarType>(*dtype);
  TENON_TRY(OwnedTensor out, new_tensor(self.shape(), nullptr, type));
  const auto at = [&](const ModelTensor& tensor) {
    return self.rank > 0 ? tensor.strides[along] : 1;
  };
  const std::int64_t count = self.rank > 0 ? self.sizes[along] : 1;
  TENON_TRY(const Scratch scratch, Scratch::of(count * 8));
  TENON_RETURN_IF_ERROR(with_scan_type<scan>(type, [&]<class To>(To) {
    auto* line = scratch.as<Running<To>>();
    return with_scan_type<scan>(self.scalar_type, [&]<class From>(From) {
      for_positions<2>(self.shape(), self.rank > 0 ? along : no_dim,
                       {self.strides.data(), out->strides.data()}, [&](const auto& offset) {
                         load<From, To>(
                             self.data + offset[0] * static_cast<std::int64_t>(sizeof(From)),
                             at(self), count, line);
                         accumulate<scan>(line, count);
                         store<To>(line, at(*out), count,
                                   out->data + offset[1] * static_cast<std::int64_t>(sizeof(To)));
                       });
      return ok();
    });
  }));
  *result = out.take();
  return ok();
}

/// The largest, or smallest, element so far and its index; of equal ones the last. NaN wins.
template <bool largest>
Status run_extreme(const ModelTensor& self, std::int64_t dim, ModelTensor** ret0,
                   ModelTensor** ret1) {
  TENON_TRY(const std::size_t along, wrap_dim(dim, self.rank));
  TENON_TRY(OwnedTensor values, new_tensor(self.shape(), nullptr, self.scalar_type));
  TENON_TRY(OwnedTensor indices, new_tensor(self.shape(), nullptr, ScalarType::Long));
  const std::int64_t count = self.rank > 0 ? self.sizes[along] : 1;
  const std::int64_t from_step = self.rank > 0 ? self.strides[along] : 1;
  const std::int64_t to_step = self.rank > 0 ? values->strides[along] : 1;
  TENON_RETURN_IF_ERROR(with_type(self.scalar_type, [&]<class T>(T) {
    for_positions<2>(self.shape(), self.rank > 0 ? along : no_dim,
                     {self.strides.data(), values->strides.data()}, [&](const auto& at) {
                       const T* from = self.as<const T>() + at[0];
                       std::int64_t best = 0;
                       for (std::int64_t i = 0; i < count; ++i) {
                         const Wide<T> value = widen(from[i * from_step]);
                         const Wide<T> so_far = widen(from[best * from_step]);
                         if (value != value ||
                             (so_far == so_far && (largest ? value >= so_far : value <= so_far))) {
                           best = i;
                         }
                         values->template as<T>()[at[1] + i * to_step] = from[best * from_step];
                         indices->template as<std::int64_t>()[at[1] + i * to_step] = best;
                       }
                     });
    return ok();
  }));
  *ret0 = values.take();
  *ret1 = indices.take();
  return ok();
}

}  // namespace

ShimError aoti_torch_cpu_cummax(ModelTensor* self, std::int64_t dim, ModelTensor** ret0,
                                ModelTensor** ret1) noexcept {
  return shim_call("cummax", [&] { return run_extreme<true>(*self, dim, ret0, ret1); });
}

ShimError aoti_torch_cpu_cummin(ModelTensor* self, std::int64_t dim, ModelTensor** ret0,
                                ModelTensor** ret1) noexcept {
  return shim_call("cummin", [&] { return run_extreme<false>(*self, dim, ret0, ret1); });
}

ShimError aoti_torch_cpu_logcumsumexp(ModelTensor* self, std::int64_t dim,
                                      ModelTensor** ret0) noexcept {
  return shim_call("logcumsumexp",
                   [&] { return run_scan<Scan::log_sum_exp>(*self, dim, nullptr, ret0); });
}

ShimError aoti_torch_cpu_cumsum(ModelTensor* self, std::int64_t dim, std::int32_t* dtype,
                                ModelTensor** ret0) noexcept {
  return shim_call("cumsum", [&] { return run_scan<Scan::sum>(*self, dim, dtype, ret0); });
}

ShimError aoti_torch_cpu_cumprod(ModelTensor* self, std::int64_t dim, std::int32_t* dtype,
                                 ModelTensor** ret0) noexcept {
  return shim_call("cumprod", [&] { return run_scan<Scan::product>(*self, dim, dtype, ret0); });
}

}  // namespace tenon::cpu_aoti
