// SPDX-License-Identifier: MIT
#include "operators/multinomial.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/elements.hpp"
#include "kernels/generator.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon::cpu_aoti {
namespace {

struct Candidate {
  double key;
  std::int64_t index;
};

/// Each time the index at which the sum of the weights reaches a random part of their sum.
void draw_with_replacement(Candidate* items, std::int64_t size, Generator& source,
                           std::int64_t* out, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < size; ++i) items[i].key = sum += items[i].key;
  for (std::int64_t i = 0; i < count; ++i) {
    const double part = source.uniform<double>() * sum;
    const auto* const found =
        std::upper_bound(items, items + size, part,
                         [](double wanted, const Candidate& item) { return wanted < item.key; });
    // Rounding may reach the sum, where no index is left.
    out[i] = std::min(found - items, size - 1);
  }
}

/// The first of as many exponential times as there are weights (Efraimidis and Spirakis). Indices
/// of weight 0 come after all others, as in PyTorch.
void draw_without_replacement(Candidate* items, std::int64_t size, Generator& source,
                              std::int64_t* out, std::int64_t count) {
  for (std::int64_t i = 0; i < size; ++i) {
    const double time = -std::log1p(-source.uniform<double>());
    // A time of 0 by the weight 0 would be no number.
    items[i].key = items[i].key > 0 ? time / items[i].key : std::numeric_limits<double>::infinity();
  }
  std::partial_sort(items, items + count, items + size, [](const Candidate& a, const Candidate& b) {
    return a.key < b.key || (a.key == b.key && a.index < b.index);
  });
  for (std::int64_t i = 0; i < count; ++i) out[i] = items[i].index;
}

}  // namespace

Status draw_indices(const ModelTensor& weights, std::int64_t count, bool replacement,
                    OwnedTensor& out) {
  const bool is_batch = weights.rank == 2;
  if (weights.rank != 1 && !is_batch) {
    return error(Error::InvalidArgument, "weights ", shape_text(weights.shape()),
                 ": expected one or two dimensions");
  }
  const std::size_t along = is_batch ? 1 : 0;
  const std::int64_t size = weights.sizes[along];
  if (count < 1 || (!replacement && count > size)) {
    return error(Error::InvalidArgument, count, " indices of ", size,
                 replacement ? "" : ", each once", ": expected at least 1",
                 replacement ? "" : ", and no more than there are");
  }
  const std::int64_t sizes[] = {is_batch ? weights.sizes[0] : count, count};
  TENON_TRY(out, new_tensor(Sizes(sizes).first(is_batch ? 2 : 1), nullptr, ScalarType::Long));
  TENON_TRY(const Scratch scratch,
            Scratch::of(size * static_cast<std::int64_t>(sizeof(Candidate))));
  auto* const items = scratch.as<Candidate>();
  auto& source = aoti::current_pool().cache<Generator>();
  return with_real_type(weights.scalar_type, [&]<class T>(T) -> Status {
    const std::int64_t rows = is_batch ? weights.sizes[0] : 1;
    for (std::int64_t row = 0; row < rows; ++row) {
      const T* const from = weights.as<const T>() + (is_batch ? row * weights.strides[0] : 0);
      double sum = 0;
      for (std::int64_t i = 0; i < size; ++i) {
        const auto weight = static_cast<double>(widen(from[i * weights.strides[along]]));
        if (!(weight >= 0) || std::isinf(weight)) {
          return error(Error::InvalidArgument, "weight ", weight, " at ", i, " of row ", row,
                       ": expected a number that is finite and at least 0");
        }
        items[i] = {weight, i};
        sum += weight;
      }
      if (!(sum > 0)) {
        return error(Error::InvalidArgument, "row ", row,
                     ": expected a weight above 0, found none");
      }
      auto* const to = out->as<std::int64_t>() + row * count;
      if (replacement) {
        draw_with_replacement(items, size, source, to, count);
      } else {
        draw_without_replacement(items, size, source, to, count);
      }
    }
    return ok();
  });
}

}  // namespace tenon::cpu_aoti
