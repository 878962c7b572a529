// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "kernels/elements.hpp"
#include "kernels/kernel_list.hpp"
#include "kernels/vectors/rows.hpp"
#include "strided.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon::cpu_aoti {
namespace {

using aoti::shim_call;

enum Mode : std::int64_t { mode_sum = 0, mode_mean = 1, mode_max = 2 };

/// The arguments of a lookup.
struct Lookup {
  const ModelTensor& weight;
  const ModelTensor& indices;
  const ModelTensor& offsets;
  std::int64_t mode;
  const ModelTensor* factors;  ///< per_sample_weights, or null.
  bool last_offset;
  std::int64_t padding_idx;  ///< Index of rows to ignore; negative for none.
  bool forward_only;

  [[nodiscard]] std::int64_t num_bags() const noexcept {
    return offsets.numel - (last_offset ? 1 : 0);
  }
};

struct Results {
  OwnedTensor output, bag_of_index, bag_sizes, places;
};

/// True when PyTorch takes its fast path: it then stops at the last offset, where other paths add
/// all indices that follow to the last bag, and it does not record the bags of a sum.
[[nodiscard]] bool is_fast(const Lookup& l) noexcept {
  return l.mode != mode_max && l.weight.scalar_type != ScalarType::Double &&
         l.weight.strides[1] == 1 && l.padding_idx < 0 &&
         (!l.factors || l.factors->strides[0] == 1);
}

[[nodiscard]] bool is_index_type(ScalarType type) noexcept {
  return type == ScalarType::Int || type == ScalarType::Long;
}

Status check(const Lookup& l) {
  if (l.weight.rank != 2 || l.indices.rank != 1 || l.offsets.rank != 1) {
    return error(Error::InvalidArgument, "weight ", shape_text(l.weight.shape()), ", indices ",
                 shape_text(l.indices.shape()), ", offsets ", shape_text(l.offsets.shape()),
                 ": expected 2, 1 and 1 dimensions");
  }
  if (!is_index_type(l.indices.scalar_type) || !is_index_type(l.offsets.scalar_type)) {
    return error(Error::InvalidType, "indices of ", name_of(l.indices.scalar_type),
                 " and offsets of ", name_of(l.offsets.scalar_type), ": expected Int or Long");
  }
  if (l.mode < mode_sum || l.mode > mode_max) {
    return error(Error::InvalidArgument, "mode ", l.mode,
                 ": expected 0 (sum), 1 (mean) or 2 (max)");
  }
  if (l.last_offset && l.offsets.numel == 0) {
    return error(Error::InvalidArgument, "no offsets: expected at least the last one");
  }
  if (l.padding_idx >= l.weight.sizes[0]) {
    return error(Error::InvalidArgument, "padding index ", l.padding_idx,
                 ": expected one below the number of rows, ", l.weight.sizes[0]);
  }
  if (!l.factors) return ok();
  if (l.mode != mode_sum) {
    return error(Error::InvalidArgument, "per_sample_weights with mode ", l.mode,
                 ": expected mode 0 (sum)");
  }
  if (l.factors->scalar_type != l.weight.scalar_type || l.factors->rank != 1 ||
      l.factors->numel != l.indices.numel) {
    return error(Error::InvalidArgument, "per_sample_weights ", shape_text(l.factors->shape()),
                 " of ", name_of(l.factors->scalar_type), ": expected one ",
                 name_of(l.weight.scalar_type), " for each of ", l.indices.numel, " indices");
  }
  return ok();
}

Status make_results(const Lookup& l, Results& r) {
  const bool wide =
      l.indices.scalar_type == ScalarType::Long || l.offsets.scalar_type == ScalarType::Long;
  const ScalarType type = wide ? ScalarType::Long : ScalarType::Int;
  const std::int64_t bags = l.num_bags();
  const std::int64_t shape[] = {bags, l.weight.sizes[1]};
  const std::int64_t noted = l.mode == mode_sum && is_fast(l) ? 0 : l.indices.numel;
  const std::int64_t counted = l.mode == mode_sum && l.forward_only ? l.offsets.numel : bags;
  TENON_TRY(r.output, new_tensor(shape, nullptr, l.weight.scalar_type));
  TENON_TRY(r.bag_of_index, new_tensor(Sizes(&noted, 1), nullptr, type));
  TENON_TRY(r.bag_sizes, new_tensor(Sizes(&counted, 1), nullptr, type));
  TENON_TRY(r.places, l.mode == mode_max ? new_tensor(shape, nullptr, type)
                                         : new_tensor(Sizes(&counted, 1), nullptr, type));
  for (OwnedTensor* tensor : {&r.bag_of_index, &r.bag_sizes, &r.places}) {
    if ((*tensor)->numel > 0) std::memset((*tensor)->data, 0, (*tensor)->nbytes());
  }
  return ok();
}

[[nodiscard]] std::int64_t read(const ModelTensor& list, std::int64_t at) noexcept {
  at *= list.strides[0];
  return list.scalar_type == ScalarType::Int ? list.as<std::int32_t>()[at]
                                             : list.as<std::int64_t>()[at];
}

void write(const ModelTensor& list, std::int64_t at, std::int64_t value) noexcept {
  if (list.scalar_type == ScalarType::Int) {
    list.as<std::int32_t>()[at] = static_cast<std::int32_t>(value);
  } else {
    list.as<std::int64_t>()[at] = value;
  }
}

/// The first index of a bag, one past the last added index, and one past the last counted index, by
/// whose number a mean is divided.
struct Bag {
  std::int64_t first, end, counted_end;
};

Result<Bag> find_bag(const Lookup& l, std::int64_t bag) {
  const std::int64_t count = l.indices.numel;
  const bool is_open = bag + 1 == l.offsets.numel;
  Bag out{read(l.offsets, bag), is_open ? count : read(l.offsets, bag + 1), 0};
  out.counted_end = out.end;
  if (out.first < 0 || out.first > out.end || out.end > count || (bag == 0 && out.first != 0)) {
    return error(Error::InvalidArgument, "bag ", bag, " from index ", out.first, " to ", out.end,
                 ": expected offsets that begin with 0, do not fall and are at most ", count,
                 ", the number of indices");
  }
  if (bag + 1 == l.num_bags()) {
    out.counted_end = count;
    if (!is_fast(l)) out.end = count;
  }
  return out;
}

/// Writes a row of sums, each divided by `divisor`.
template <class T>
void write_row(Wide<T>* sums, std::int64_t columns, Wide<T> divisor, T* out) noexcept {
  if constexpr (std::is_same_v<T, double>) {
    for (std::int64_t c = 0; c < columns; ++c) out[c] = sums[c] / divisor;
  } else {
    if (divisor != 1) divide_row(sums, columns, divisor);
    narrow_row(sums, columns, out);
  }
}

/// Reduces one bag into `sums` and returns how many indices it counts; for the maximum also writes
/// the indices of its rows to `places`.
template <class T>
Result<std::int64_t> add_bag(const Lookup& l, const Bag& bag, Wide<T>* sums, const Results& r,
                             std::int64_t number) {
  const std::int64_t rows = l.weight.sizes[0];
  const std::int64_t columns = l.weight.sizes[1];
  const std::int64_t step = l.weight.strides[1];
  std::fill_n(sums, columns, Wide<T>{0});
  const auto factor_of = [&](std::int64_t i) {
    return widen(l.factors->as<const T>()[i * l.factors->strides[0]]);
  };
  // Rows of floats are added several at a time.
  const bool collects = !std::is_same_v<T, double> && step == 1;
  std::array<const T*, most_rows> lines;
  std::array<float, most_rows> factors;
  std::int64_t collected = 0;
  const auto add_collected = [&] {
    if constexpr (!std::is_same_v<T, double>) {
      add_rows(lines.data(), l.factors ? factors.data() : nullptr, std::exchange(collected, 0),
               columns, sums);
    }
  };
  std::int64_t count = 0;
  for (std::int64_t i = bag.first; i < bag.end; ++i) {
    const std::int64_t index = read(l.indices, i);
    if (index < 0 || index >= rows) {
      return error(Error::InvalidArgument, "index ", index, " at place ", i,
                   ": expected 0 to below ", rows, ", the number of rows");
    }
    if (r.bag_of_index->numel > 0) write(*r.bag_of_index, i, number);
    if (index == l.padding_idx) continue;
    const T* row = l.weight.as<const T>() + index * l.weight.strides[0];
    if (l.mode == mode_max) {
      for (std::int64_t c = 0; c < columns; ++c) {
        const Wide<T> value = widen(row[c * step]);
        if (count > 0 && !(value > sums[c])) continue;
        sums[c] = value;
        write(*r.places, number * columns + c, index);
      }
    } else if (collects) {
      const auto at = static_cast<std::size_t>(collected++);
      lines[at] = row;
      if (l.factors) factors[at] = static_cast<float>(factor_of(i));
      if (at + 1 == most_rows) add_collected();
    } else {
      const Wide<T> factor = l.factors ? factor_of(i) : Wide<T>{1};
      for (std::int64_t c = 0; c < columns; ++c) sums[c] += factor * widen(row[c * step]);
    }
    ++count;
  }
  add_collected();
  for (std::int64_t i = bag.end; i < bag.counted_end; ++i) {
    if (r.bag_of_index->numel > 0) write(*r.bag_of_index, i, number);
    ++count;
  }
  return count;
}

Status run(const Lookup& l, ModelTensor** ret0, ModelTensor** ret1, ModelTensor** ret2,
           ModelTensor** ret3) {
  TENON_RETURN_IF_ERROR(check(l));
  Results r{OwnedTensor(nullptr), OwnedTensor(nullptr), OwnedTensor(nullptr), OwnedTensor(nullptr)};
  TENON_RETURN_IF_ERROR(make_results(l, r));
  const std::int64_t columns = l.weight.sizes[1];
  TENON_RETURN_IF_ERROR(with_real_type(l.weight.scalar_type, [&]<class T>(T) -> Status {
    TENON_TRY(const Scratch scratch,
              Scratch::of(columns * static_cast<std::int64_t>(sizeof(Wide<T>))));
    auto* sums = scratch.as<Wide<T>>();
    for (std::int64_t number = 0; number < l.num_bags(); ++number) {
      TENON_TRY(const Bag bag, find_bag(l, number));
      TENON_TRY(const std::int64_t count, add_bag<T>(l, bag, sums, r, number));
      if (l.mode != mode_sum) write(*r.bag_sizes, number, count);
      if (l.mode == mode_mean) write(*r.places, number, count);
      const std::int64_t divisor = l.mode == mode_mean ? std::max<std::int64_t>(count, 1) : 1;
      write_row(sums, columns, static_cast<Wide<T>>(divisor),
                r.output->template as<T>() + number * columns);
    }
    return ok();
  }));
  *ret0 = r.output.take();
  *ret1 = r.bag_of_index.take();
  *ret2 = r.bag_sizes.take();
  *ret3 = r.places.take();
  return ok();
}

}  // namespace

// Ignores the arguments about gradients.
ShimError aoti_torch_cpu__embedding_bag(ModelTensor* weight, ModelTensor* indices,
                                        ModelTensor* offsets, std::int32_t, std::int64_t mode,
                                        std::int32_t, ModelTensor** per_sample_weights,
                                        std::int32_t include_last_offset, std::int64_t padding_idx,
                                        ModelTensor** ret0, ModelTensor** ret1, ModelTensor** ret2,
                                        ModelTensor** ret3) noexcept {
  return shim_call("_embedding_bag", [&] {
    return run(
        {*weight, *indices, *offsets, mode, per_sample_weights ? *per_sample_weights : nullptr,
         include_last_offset != 0, padding_idx, false},
        ret0, ret1, ret2, ret3);
  });
}

ShimError aoti_torch_cpu__embedding_bag_forward_only(
    ModelTensor* weight, ModelTensor* indices, ModelTensor* offsets, std::int32_t,
    std::int64_t mode, std::int32_t, ModelTensor** per_sample_weights,
    std::int32_t include_last_offset, std::int64_t padding_idx, ModelTensor** ret0,
    ModelTensor** ret1, ModelTensor** ret2, ModelTensor** ret3) noexcept {
  return shim_call("_embedding_bag_forward_only", [&] {
    return run(
        {*weight, *indices, *offsets, mode, per_sample_weights ? *per_sample_weights : nullptr,
         include_last_offset != 0, padding_idx, true},
        ret0, ret1, ret2, ret3);
  });
}

}  // namespace tenon::cpu_aoti
