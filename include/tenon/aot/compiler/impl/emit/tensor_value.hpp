// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "tenon/aot/edge_value.hpp"
#include "tenon/aot/program_data.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot::detail {

/// The tensor of a program for a value of an exported one: its layout at the largest sizes, without
/// a place for its data.
///
/// errors: NotSupported for a size without bound or beyond 32 bits; the errors of `check_layout`.
/// The text names the value.
[[nodiscard]] inline Result<TensorValue> make_tensor_value(const EdgeValue& value) {
  TensorValue tensor;
  tensor.layout.scalar_type = value.scalar_type();
  for (std::size_t i = 0; i < value.rank(); ++i) {
    const EdgeSize size = value.size(i);
    if (size.max > std::numeric_limits<std::int32_t>::max()) {
      return error(Error::NotSupported, "size ", i, " of '", value.name(), "' (",
                   size.expression.empty() ? "static" : size.expression, ") ",
                   size.max == EdgeSize::unbounded ? "has no bound" : "is too large",
                   "; give its torch.export.Dim a max so that memory can be planned");
    }
    tensor.layout.sizes.push_back(static_cast<std::int32_t>(size.max));
    tensor.is_dynamic = tensor.is_dynamic || !size.is_static();
  }
  tensor.layout.dim_order.assign(value.dim_order().begin(), value.dim_order().end());
  if (Status status = check_layout(tensor.layout); !status.ok()) {
    return error(status.error(), "'", value.name(), "': ", status.text());
  }
  return tensor;
}

}}}  // namespace tenon::TENON_RELEASE::aot::detail
