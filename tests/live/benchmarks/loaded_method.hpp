// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <tenon/host.hpp>
#include <utility>
#include <vector>

namespace tenon::bench {

/// A method that is loaded, and its inputs.
struct Loaded {
  std::vector<std::vector<std::byte>> inputs;
  std::unique_ptr<host::Method> method;
};

/// Loads the first method of `path`, with inputs of zeros of the largest sizes.
inline Result<Loaded> load(const std::filesystem::path& path, const host::MethodOptions& options) {
  TENON_TRY(auto program, host::Program::open(path));
  Loaded out;
  TENON_TRY(out.method, host::Method::load(program, program->method_names().front(), options));
  for (std::size_t i = 0; i < out.method->num_inputs(); ++i) {
    const tenon_value& value = out.method->input(i);
    if (value.kind != TENON_VALUE_TENSOR) continue;
    const TensorView view(*value.as.tensor);
    out.inputs.emplace_back(view.nbytes());
    TENON_RETURN_IF_ERROR(
        out.method->set_input(i, {view.scalar_type(), view.sizes(), out.inputs.back()}));
  }
  return out;
}

}  // namespace tenon::bench
