// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "kernels/elements.hpp"
#include "kernels/kernel_list.hpp"
#include "strided.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon::cpu_aoti {
namespace {

using aoti::shim_call;

/// Values to find in sequences, which are sorted along their last dimension, or by `sorter`.
struct Search {
  const ModelTensor& sequence;
  const ModelTensor& values;
  const ModelTensor* sorter;
  bool right;

  [[nodiscard]] std::int64_t size() const noexcept {
    return sequence.sizes[static_cast<std::size_t>(sequence.rank - 1)];
  }
};

Status check_sorter(const Search& s) {
  if (!s.sorter) return ok();
  if (s.sorter->scalar_type != ScalarType::Long ||
      !std::ranges::equal(s.sorter->shape(), s.sequence.shape())) {
    return error(Error::InvalidArgument, "a sorter ", shape_text(s.sorter->shape()), " of ",
                 name_of(s.sorter->scalar_type), ": expected ", shape_text(s.sequence.shape()),
                 " of Long");
  }
  std::optional<std::int64_t> outside;
  for_positions<1>(s.sorter->shape(), no_dim, {s.sorter->strides.data()}, [&](const auto& at) {
    const std::int64_t place = s.sorter->as<const std::int64_t>()[at[0]];
    if (place < 0 || place >= s.size()) outside = place;
  });
  if (!outside) return ok();
  return error(Error::InvalidArgument, "index ", *outside, " in the sorter: expected 0 to below ",
               s.size());
}

/// True when both have one type, or when Float values are looked for among whole numbers, which
/// PyTorch compares as Float.
[[nodiscard]] bool types_fit(ScalarType sequence, ScalarType values) {
  bool whole = false;
  static_cast<void>(with_type(sequence, [&]<class T>(T) {
    whole = std::is_same_v<Wide<T>, std::int64_t>;
    return ok();
  }));
  return sequence == values || (whole && values == ScalarType::Float);
}

Status check(const Search& s) {
  if (!types_fit(s.sequence.scalar_type, s.values.scalar_type)) {
    return error(Error::InvalidType, "values of ", name_of(s.values.scalar_type),
                 ": expected the type of the sequence, ", name_of(s.sequence.scalar_type));
  }
  bool good = s.sequence.rank == 1 || (s.sequence.rank > 1 && s.sequence.rank == s.values.rank);
  for (std::size_t d = 0; good && d + 1 < static_cast<std::size_t>(s.sequence.rank); ++d) {
    good = s.sequence.sizes[d] == s.values.sizes[d];
  }
  if (!good) {
    return error(Error::InvalidArgument, "a sequence ", shape_text(s.sequence.shape()),
                 " for values ", shape_text(s.values.shape()),
                 ": expected one dimension, or equal sizes but for the last one");
  }
  return check_sorter(s);
}

/// The strides of all dimensions but the last one, for positions of the values.
[[nodiscard]] Dims leading_strides(const ModelTensor& tensor) noexcept {
  Dims strides{};
  for (std::size_t d = 0; d + 1 < static_cast<std::size_t>(tensor.rank); ++d) {
    strides[d] = tensor.strides[d];
  }
  return strides;
}

/// The first place where `value` can be inserted, or with `right` the last one. NaN comes last.
template <class T, class Value>
[[nodiscard]] std::int64_t find_place(const Search& s, const T* sequence,
                                      const std::int64_t* sorter, Value value) noexcept {
  const auto last = static_cast<std::size_t>(s.sequence.rank - 1);
  const std::int64_t step = s.sequence.strides[last];
  std::int64_t first = 0;
  std::int64_t end = s.size();
  while (first < end) {
    const std::int64_t middle = first + (end - first) / 2;
    const std::int64_t place = sorter ? sorter[middle * s.sorter->strides[last]] : middle;
    const auto found = static_cast<Value>(widen(sequence[place * step]));
    if (s.right ? !(found > value) : !(found >= value)) {
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  return first;
}

/// `From` is the type of the values.
template <class T, class From, class Place>
void find_all(const Search& s, const ModelTensor& out) {
  const Dims sequences = leading_strides(s.sequence);
  const Dims sorters = s.sorter ? leading_strides(*s.sorter) : Dims{};
  const auto* sorter = s.sorter ? s.sorter->as<const std::int64_t>() : nullptr;
  for_positions<4>(s.values.shape(), no_dim,
                   {s.values.strides.data(), sequences.data(), sorters.data(), out.strides.data()},
                   [&](const auto& at) {
                     const std::int64_t place = find_place<T>(
                         s, s.sequence.as<const T>() + at[1], sorter ? sorter + at[2] : nullptr,
                         widen(s.values.as<const From>()[at[0]]));
                     out.as<Place>()[at[3]] = static_cast<Place>(place);
                   });
}

Status search(const Search& s, bool out_int32, ModelTensor** ret0) {
  TENON_RETURN_IF_ERROR(check(s));
  TENON_TRY(OwnedTensor out,
            new_tensor(s.values.shape(), nullptr, out_int32 ? ScalarType::Int : ScalarType::Long));
  TENON_RETURN_IF_ERROR(with_type(s.sequence.scalar_type, [&]<class T>(T) {
    const auto find = [&]<class From>(From) {
      if (out_int32) {
        find_all<T, From, std::int32_t>(s, *out);
      } else {
        find_all<T, From, std::int64_t>(s, *out);
      }
    };
    if (s.values.scalar_type == s.sequence.scalar_type) {
      find(T{});
    } else {
      find(float{});
    }
    return ok();
  }));
  *ret0 = out.take();
  return ok();
}

/// `side` may repeat what `right` says, but not contradict it.
Result<bool> is_right(std::int32_t right, const char* const* side) {
  if (!side) return right != 0;
  const std::string_view text(*side);
  if (text == "right") return true;
  if (text == "left" && right == 0) return false;
  return error(Error::InvalidArgument, "side '", text, "' with right ", right != 0,
               ": expected 'right', or 'left' without right");
}

/// Counts of elements in `bins` intervals of equal width. Elements outside do not count.
template <class T>
Status count_bins(const ModelTensor& self, std::int64_t bins, double least, double most,
                  T* counts) {
  auto low = static_cast<Wide<T>>(least);
  auto high = static_cast<Wide<T>>(most);
  bool any = false;
  if (low == high) {
    for_positions<1>(self.shape(), no_dim, {self.strides.data()}, [&](const auto& at) {
      const Wide<T> value = widen(self.as<const T>()[at[0]]);
      low = !any || value < low || value != value ? value : low;
      high = !any || value > high || value != value ? value : high;
      any = true;
    });
  }
  if (low == high) {
    low -= 1;
    high += 1;
  }
  if (!std::isfinite(low) || !std::isfinite(high) || low > high) {
    return error(Error::InvalidArgument, "a range from ", low, " to ", high,
                 ": expected finite numbers in ascending order");
  }
  std::fill_n(counts, bins, T{});
  for_positions<1>(self.shape(), no_dim, {self.strides.data()}, [&](const auto& at) {
    const Wide<T> value = widen(self.as<const T>()[at[0]]);
    if (!(value >= low && value <= high)) return;
    // A range that is infinite in T gives NaN, which `narrow` takes.
    const auto bin =
        narrow<std::int64_t>((value - low) * static_cast<Wide<T>>(bins) / (high - low));
    T& count = counts[std::clamp<std::int64_t>(bin, 0, bins - 1)];
    count = narrow<T>(widen(count) + Wide<T>{1});
  });
  return ok();
}

}  // namespace

ShimError aoti_torch_cpu_bucketize_Tensor(ModelTensor* self, ModelTensor* boundaries,
                                          std::int32_t out_int32, std::int32_t right,
                                          ModelTensor** ret0) noexcept {
  return shim_call("bucketize_Tensor", [&]() -> Status {
    if (boundaries->rank != 1) {
      return error(Error::InvalidArgument, "boundaries ", shape_text(boundaries->shape()),
                   ": expected one dimension");
    }
    return search({*boundaries, *self, nullptr, right != 0}, out_int32 != 0, ret0);
  });
}

ShimError aoti_torch_cpu_searchsorted_Tensor(ModelTensor* sorted_sequence, ModelTensor* self,
                                             std::int32_t out_int32, std::int32_t right,
                                             const char** side, ModelTensor** sorter,
                                             ModelTensor** ret0) noexcept {
  return shim_call("searchsorted_Tensor", [&]() -> Status {
    TENON_TRY(const bool from_right, is_right(right, side));
    return search({*sorted_sequence, *self, sorter ? *sorter : nullptr, from_right}, out_int32 != 0,
                  ret0);
  });
}

ShimError aoti_torch_cpu_searchsorted_Scalar(ModelTensor* sorted_sequence, double self,
                                             std::int32_t out_int32, std::int32_t right,
                                             const char** side, ModelTensor** sorter,
                                             ModelTensor** ret0) noexcept {
  return shim_call("searchsorted_Scalar", [&]() -> Status {
    TENON_TRY(const bool from_right, is_right(right, side));
    // As a whole number it would lose its fraction.
    const ScalarType type = sorted_sequence->scalar_type;
    TENON_TRY(
        OwnedTensor value,
        new_tensor({}, nullptr, types_fit(type, ScalarType::Float) ? ScalarType::Float : type));
    TENON_RETURN_IF_ERROR(with_type(value->scalar_type, [&]<class T>(T) {
      *value->template as<T>() = narrow<T>(self);
      return ok();
    }));
    return search({*sorted_sequence, *value, sorter ? *sorter : nullptr, from_right},
                  out_int32 != 0, ret0);
  });
}

ShimError aoti_torch_cpu_histc(ModelTensor* self, std::int64_t bins, double min, double max,
                               ModelTensor** ret0) noexcept {
  return shim_call("histc", [&]() -> Status {
    if (bins <= 0) {
      return error(Error::InvalidArgument, bins, " bins: expected at least 1");
    }
    TENON_TRY(OwnedTensor out, new_tensor(Sizes(&bins, 1), nullptr, self->scalar_type));
    TENON_RETURN_IF_ERROR(with_real_type(self->scalar_type, [&]<class T>(T) {
      return count_bins<T>(*self, bins, min, max, out->template as<T>());
    }));
    *ret0 = out.take();
    return ok();
  });
}

}  // namespace tenon::cpu_aoti
