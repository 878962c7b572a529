// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tenon/core/concat.hpp"
#include "tenon/host/loader/files/limits.hpp"
#include "tenon/host/loader/method/method.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Gives each output that the program plans no memory for the bytes that `allocate(nbytes)` returns
/// as a std::byte*, which must stay valid while the method may run. Fails with the host's limit
/// before more than `most_bytes` are asked for.
template <class Allocate>
[[nodiscard]] Status set_outputs(Method& method, std::uint64_t most_bytes, Allocate allocate) {
  std::uint64_t nbytes = 0;
  for (std::size_t i = 0; i < method.num_outputs(); ++i) {
    const tenon_value& value = method.output(i);
    if (value.kind != TENON_VALUE_TENSOR) continue;
    const tenon_tensor& tensor = *value.as.tensor;
    const bool has_place = tensor.dl.data != nullptr || tensor.capacity == 0 ||
                           (tensor.flags & TENON_TENSOR_MEMORY_PLANNED) != 0;
    if (has_place) continue;
    nbytes = detail::add_saturating(nbytes, tensor.capacity);
    if (nbytes > most_bytes) {
      return detail::over_limit(concat("output ", i, ": bytes of outputs without planned memory"),
                                nbytes, "output_bytes", most_bytes);
    }
    const auto size = static_cast<std::size_t>(tensor.capacity);
    std::byte* const memory = allocate(size);
    TENON_RETURN_IF_ERROR(method.set_output(i, std::span(memory, size)));
  }
  return ok();
}

}}}  // namespace tenon::TENON_RELEASE::host
