// SPDX-License-Identifier: MIT
#include <algorithm>
#include <iterator>

#include "checks.hpp"
#include "sort_items.hpp"

namespace tenon::cuda_aoti::kernels {
namespace {

constexpr ScalarType sortable[] = {ScalarType::Byte,    ScalarType::Char,   ScalarType::Short,
                                   ScalarType::Int,     ScalarType::Long,   ScalarType::Half,
                                   ScalarType::Float,   ScalarType::Double, ScalarType::Bool,
                                   ScalarType::BFloat16};

/// Merges after the tiles; each halves the number of runs.
[[nodiscard]] int merges(std::int64_t length) noexcept {
  int count = 0;
  for (std::int64_t width = sort_tile; width < length; width *= 2) ++count;
  return count;
}

[[nodiscard]] bool is_wide(const SortArguments& sort) noexcept {
  return sort_element_size(sort.scalar_type) == 8;
}

[[nodiscard]] std::size_t buffer_bytes(const SortArguments& sort) noexcept {
  const std::size_t item = is_wide(sort) ? sizeof(Item64) : sizeof(Item32);
  const std::size_t bytes = static_cast<std::size_t>(sort.rows * sort.length) * item;
  return (bytes + 15) / 16 * 16;
}

/// Writes the strides of the dimensions other than `along`; returns the stride of `along`.
std::int64_t split_strides(const ModelTensor& tensor, std::size_t along,
                           std::int64_t* outer) noexcept {
  std::int64_t step = 1;
  for (std::size_t d = 0; d < static_cast<std::size_t>(tensor.rank); ++d) {
    if (d == along) {
      step = tensor.strides[d];
    } else {
      *outer++ = tensor.strides[d];
    }
  }
  return step;
}

}  // namespace

Result<SortPlan> plan_sort_stable(const ModelTensor& self, std::int64_t dim, bool descending) {
  TENON_RETURN_IF_ERROR(check_device("self", self, self.device_index));
  if (std::find(std::begin(sortable), std::end(sortable), self.scalar_type) == std::end(sortable)) {
    return error(Error::NotSupported, "self: elements of type ", name_of(self.scalar_type),
                 " cannot be sorted");
  }
  // As in PyTorch, a scalar can be sorted along dimension 0 or -1.
  const std::int64_t rank = self.rank > 0 ? self.rank : 1;
  if (dim < -rank || dim >= rank) {
    return error(Error::InvalidArgument, "dim: expected ", -rank, " to ", rank - 1, ", found ",
                 dim);
  }
  const auto along = static_cast<std::size_t>(dim < 0 ? dim + rank : dim);

  SortPlan plan{};
  SortArguments& sort = plan.arguments;
  plan.along = along;
  plan.rank = self.rank;
  plan.sizes = self.sizes;
  sort.self = self.data;
  sort.scalar_type = static_cast<std::int32_t>(self.scalar_type);
  sort.descending = descending;
  sort.length = self.rank > 0 ? self.sizes[along] : 1;
  sort.outer_rank = static_cast<std::int32_t>(rank - 1);
  sort.self_step = split_strides(self, along, sort.self_outer);
  sort.rows = 1;
  int outer = 0;
  for (std::size_t d = 0; d < static_cast<std::size_t>(self.rank); ++d) {
    if (d == along) continue;
    sort.outer_sizes[outer++] = self.sizes[d];
    sort.rows *= self.sizes[d];
  }
  if (sort.length > std::numeric_limits<std::int32_t>::max()) {
    return error(Error::NotSupported, "self: expected less than 2^31 elements along dimension ",
                 along, ", found ", shape_text(self.shape()));
  }
  plan.scratch_bytes =
      sort.rows == 0
          ? 0
          : buffer_bytes(sort) * static_cast<std::size_t>(std::min(merges(sort.length), 2));
  return plan;
}

Status run(SortPlan plan, const ModelTensor& values, const ModelTensor& indices, void* scratch,
           const Launcher& launcher) {
  SortArguments& sort = plan.arguments;
  const auto type = static_cast<ScalarType>(sort.scalar_type);
  TENON_RETURN_IF_ERROR(check_type("values", values, {type}));
  TENON_RETURN_IF_ERROR(check_type("indices", indices, {ScalarType::Long}));
  TENON_RETURN_IF_ERROR(
      check_sizes("values", values, {plan.sizes.data(), static_cast<std::size_t>(plan.rank)}));
  TENON_RETURN_IF_ERROR(check_sizes("indices", indices, values.shape()));
  if (values.numel == 0) return ok();
  if (plan.scratch_bytes != 0 && scratch == nullptr) {
    return error(Error::InvalidArgument, "scratch: expected ", plan.scratch_bytes,
                 " bytes, found none");
  }
  sort.values = values.data;
  sort.indices = indices.as<std::int64_t>();
  sort.values_step = split_strides(values, plan.along, sort.values_outer);
  sort.indices_step = split_strides(indices, plan.along, sort.indices_outer);

  auto* const bytes = static_cast<std::byte*>(scratch);
  const int passes = merges(sort.length);
  sort.runs_to = passes == 0 ? nullptr : bytes;
  const bool wide = is_wide(sort);
  if (sort.length <= sort_short) {
    return launch_blocks(launcher, wide ? "tenon_sort_short_64" : "tenon_sort_short_32",
                         {sort.rows, 1}, {sort_short_threads, 1, 1}, sort);
  }
  TENON_RETURN_IF_ERROR(
      launch_blocks(launcher, wide ? "tenon_sort_tiles_64" : "tenon_sort_tiles_32",
                    {sort.rows * ceil_div(sort.length, sort_tile), 1}, {sort_threads, 1, 1}, sort));
  // Runs are merged from one buffer into the other, the last pair into the result.
  sort.width = sort_tile;
  for (int pass = 0; pass < passes; ++pass, sort.width *= 2) {
    const std::size_t buffer = buffer_bytes(sort);
    sort.runs_from = bytes + (pass % 2 == 0 ? 0 : buffer);
    sort.runs_to = pass + 1 == passes ? nullptr : bytes + (pass % 2 == 0 ? buffer : 0);
    const std::int64_t parts = sort.rows * ceil_div(sort.length, sort_items);
    TENON_RETURN_IF_ERROR(
        launch_blocks(launcher, wide ? "tenon_sort_merge_64" : "tenon_sort_merge_32",
                      {ceil_div(parts, sort_threads), 1}, {sort_threads, 1, 1}, sort));
  }
  return ok();
}

}  // namespace tenon::cuda_aoti::kernels
