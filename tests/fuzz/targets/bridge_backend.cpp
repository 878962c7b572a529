// SPDX-License-Identifier: MIT
//
// A backend written for ExecuTorch that uses all that it is given. A translation unit of its own:
// what ExecuTorch's headers declare of flatbuffers does not go with the system's.
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "fuzz/touch_backends.hpp"
#include "tenon/executorch/plugin.hpp"
#include "tenon/tenon.hpp"

namespace {

namespace et = ::executorch::runtime;

volatile std::uint64_t sum = 0;

void touch(const void* data, std::size_t size) {
  if (size == 0) return;
  const auto* const bytes = static_cast<const unsigned char*>(data);
  sum = sum + bytes[0] + bytes[size - 1];
}

void touch(const executorch::aten::Tensor& tensor) {
  for (const auto size : tensor.sizes()) sum = sum + static_cast<std::uint64_t>(size);
  for (const auto stride : tensor.strides()) sum = sum + static_cast<std::uint64_t>(stride);
  for (const auto dim : tensor.dim_order()) sum = sum + dim;
  if (tensor.const_data_ptr() != nullptr) touch(tensor.const_data_ptr(), tensor.nbytes());
}

void touch(const et::EValue& value) {
  switch (value.tag) {
    case et::Tag::Tensor:
      return touch(value.toTensor());
    case et::Tag::Int:
      sum = sum + static_cast<std::uint64_t>(value.toInt());
      return;
    case et::Tag::Double:
      return touch(&value.payload, sizeof(double));
    case et::Tag::Bool:
      sum = sum + value.toBool();
      return;
    case et::Tag::String:
      return touch(value.toString().data(), value.toString().size());
    case et::Tag::ListInt:
      for (const std::int64_t one : value.toIntList()) sum = sum + static_cast<std::uint64_t>(one);
      return;
    case et::Tag::ListDouble:
      return touch(value.toDoubleList().data(), value.toDoubleList().size() * sizeof(double));
    case et::Tag::ListBool:
      return touch(value.toBoolList().data(), value.toBoolList().size());
    case et::Tag::ListTensor:
      for (const auto& one : value.toTensorList()) touch(one);
      return;
    case et::Tag::ListOptionalTensor:
      for (const auto& one : value.toListOptionalTensor()) {
        if (one.has_value()) touch(one.value());
      }
      return;
    default:
      return;
  }
}

class TouchInterface final : public et::BackendInterface {
 public:
  bool is_available() const override { return true; }

  et::Result<et::DelegateHandle*> init(et::BackendInitContext& context,
                                       et::FreeableBuffer* processed,
                                       et::ArrayRef<et::CompileSpec> specs) const override {
    touch(processed->data(), processed->size());
    touch(context.get_method_name(), std::strlen(context.get_method_name()) + 1);
    for (const et::CompileSpec& spec : specs) {
      touch(spec.key, std::strlen(spec.key) + 1);
      touch(spec.value.buffer, spec.value.nbytes);
    }
    if (const et::NamedDataMap* const map = context.get_named_data_map()) {
      const auto count = map->get_num_keys();
      for (std::uint32_t i = 0; count.ok() && i < *count; ++i) {
        const auto key = map->get_key(i);
        if (!key.ok()) return key.error();
        auto data = map->get_data(*key);
        if (!data.ok()) return data.error();
        touch(data->data(), data->size());
        const auto layout = map->get_tensor_layout(*key);
        if (layout.ok()) touch(layout->sizes().data(), layout->sizes().size() * 4);
      }
    }
    if (processed->size() % 2 == 0) processed->Free();
    void* const memory = context.get_runtime_allocator()->allocate(16, 16);
    if (memory) std::memset(memory, 1, 16);
    return memory;
  }

  et::Error execute(et::BackendExecutionContext& context, et::DelegateHandle*,
                    et::Span<et::EValue*> args) const override {
    if (!tenon::test::count_call()) return et::Error::Internal;
    for (const et::EValue* const arg : args) touch(*arg);
    if (void* const memory = context.allocate(32)) std::memset(memory, 1, 32);
    if (args.size() == 0) return et::Error::Ok;
    et::EValue& last = *args[args.size() - 1];
    if (last.isInt()) last = et::EValue(last.toInt() + 1);
    if (!last.isTensor()) return et::Error::Ok;
    auto& out = last.toTensor();
    if (args[0]->isTensor()) (void)et::resize_tensor(out, args[0]->toTensor().sizes());
    touch(out);
    return et::Error::Ok;
  }
};

constexpr std::array<std::string_view, 3> ids{"NoopBackend", "XnnpackBackend", "ExecutorBackend"};

template <std::size_t Index>
struct About {
  static constexpr std::string_view id = ids[Index];
  static constexpr std::string_view description = "uses all that it is given";
  using Interface = TouchInterface;
};

using TouchBridge = tenon::bridge::BridgedBackend<About<0>>;
using TouchBridgeXnnpack = tenon::bridge::BridgedBackend<About<1>>;
using TouchBridgeExecutor = tenon::bridge::BridgedBackend<About<2>>;

}  // namespace

TENON_PLUGIN(TouchBridge, TouchBridgeXnnpack, TouchBridgeExecutor);
