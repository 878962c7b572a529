// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <tenon/conformance/record_program.hpp>
#include <vector>

#include "runtime/id.hpp"
#include "stand_in/npu_runtime.h"

namespace my_npu::test {

/// A model of the stand-in, a * factor + b. Replace it by a file that your compiler made.
inline std::vector<std::byte> model(npu_type type, std::int32_t factor,
                                    const std::vector<std::int64_t>& sizes) {
  std::vector<std::byte> out;
  const auto append = [&](const auto& number) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&number);
    out.insert(out.end(), bytes, bytes + sizeof number);
  };
  for (const char c : std::string_view("NPUM")) append(c);
  append(std::uint32_t{1});
  append(static_cast<std::uint32_t>(type));
  append(factor);
  append(static_cast<std::uint32_t>(sizes.size()));
  for (const std::int64_t size : sizes) append(size);
  return out;
}

/// A program with one delegate of this backend: two inputs and one output of `type`, with `bounds`
/// as their largest sizes, or as fixed sizes unless `is_dynamic`.
inline std::vector<std::byte> program_file(const std::vector<std::byte>& blob,
                                           tenon::ScalarType type,
                                           const std::vector<std::int32_t>& bounds,
                                           bool is_dynamic = false) {
  tenon::conformance::RecordedTensor tensor;
  tensor.type = type;
  tensor.bounds = bounds;
  for (std::size_t d = 0; d < bounds.size(); ++d) {
    tensor.dim_order.push_back(static_cast<std::uint8_t>(d));
  }
  tensor.shape_dynamism = is_dynamic ? TENON_SHAPE_DYNAMIC_BOUND : TENON_SHAPE_STATIC;
  tensor.is_planned = true;
  tenon::conformance::RecordedProgram program;
  program.backend_id = backend_id;
  program.blob = blob;
  program.arguments = {{tensor, false}, {tensor, false}, {tensor, true}};
  return tenon::conformance::write_program(program);
}

}  // namespace my_npu::test
