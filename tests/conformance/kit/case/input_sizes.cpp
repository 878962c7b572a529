// SPDX-License-Identifier: MIT
#include "kit/case/input_sizes.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "tenon/host/layers/arrays/value_array.hpp"
#include "tenon/host/loader/plugin/tensor_storage.hpp"
#include "tenon/host/loader/program/device_buffers.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

LargestInputs::LargestInputs(host::Method& method, std::size_t most) : method_(method) {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < method.num_inputs() && sum <= most; ++i) {
    const tenon_value& value = method.input(i);
    if (value.kind != TENON_VALUE_TENSOR) continue;
    const tenon_tensor& tensor = *value.as.tensor;
    if (tensor.shape_dynamism == TENON_SHAPE_STATIC || tensor.nbytes == 0) continue;
    const std::span bounds(tensor.bounds, static_cast<std::size_t>(tensor.dl.ndim));
    const std::int64_t count = host::count_elements(bounds);
    const auto type = static_cast<ScalarType>(tensor.scalar_type);
    if (count < 0 || !tensor.dl.data || !host::is_cpu(tensor.dl.device)) continue;
    sum += static_cast<std::size_t>(count) * size_of(type);
    if (sum <= most) add(i, tensor, static_cast<std::size_t>(count) * size_of(type));
  }
  if (sum > most) inputs_.clear();
}

Status LargestInputs::set() {
  for (const Input& input : inputs_) {
    TENON_RETURN_IF_ERROR(method_.set_input(
        input.index,
        host::InputTensor{input.type, input.sizes, {input.bytes.data(), input.bytes.size()}}));
  }
  return ok();
}

void LargestInputs::add(std::size_t index, const tenon_tensor& tensor, std::size_t size) {
  Input& input = inputs_.emplace_back(Input{index,
                                            static_cast<ScalarType>(tensor.scalar_type),
                                            {tensor.bounds, tensor.bounds + tensor.dl.ndim},
                                            host::ArrayBytes(size)});
  const auto* from = static_cast<const std::byte*>(tensor.dl.data);
  const auto period = static_cast<std::size_t>(tensor.nbytes);
  for (std::size_t at = 0; at < size; at += period) {
    std::memcpy(input.bytes.data() + at, from, std::min(period, size - at));
  }
}

}}}  // namespace tenon::TENON_RELEASE::conformance
