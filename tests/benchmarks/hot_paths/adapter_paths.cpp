// SPDX-License-Identifier: MIT
#include "adapter_paths.hpp"

#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/platform/runtime.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <utility>

#include "tenon/executorch/register_plugins.hpp"

namespace tenon::bench {
namespace {

namespace et = executorch::runtime;
using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::aten::TensorImpl;

/// The adapted backend. ExecuTorch keeps it until the process ends.
et::BackendInterface& adapted(const std::string& plugin) {
  static et::BackendInterface& backend = [&]() -> et::BackendInterface& {
    et::runtime_init();
    auto registered = tenon::bridge::register_plugins(std::filesystem::path(plugin));
    if (!registered.ok()) throw Failure(describe(std::move(registered).status()));
    auto* const found = et::get_backend_class(registered->front().c_str());
    if (!found) throw Failure("the adapter is not in ExecuTorch's table");
    return *found;
  }();
  return backend;
}

/// Four numbers that are their own memory.
class Four {
 public:
  explicit Four(et::TensorShapeDynamism dynamism)
      : impl_(ScalarType::Float, 1, sizes_.data(), data_.data(), order_.data(), strides_.data(),
              dynamism),
        value_(Tensor(&impl_)) {}
  Four(const Four&) = delete;
  Four& operator=(const Four&) = delete;

  [[nodiscard]] et::EValue* value() { return &value_; }

 private:
  std::array<std::int32_t, 1> sizes_{4};
  std::array<std::int32_t, 1> strides_{1};
  std::array<std::uint8_t, 1> order_{0};
  std::array<float, 4> data_{};
  TensorImpl impl_;
  et::EValue value_;
};

/// One delegate with its arguments.
class Calls {
 public:
  Calls(et::BackendInterface& backend, et::TensorShapeDynamism dynamism)
      : backend_(backend), in_(dynamism), out_(dynamism) {
    et::BackendInitContext context(&memory_, nullptr, "forward");
    const auto made = backend_.init(context, &processed_, {});
    if (!made.ok()) throw Failure("init through the adapter failed");
    handle_ = *made;
  }
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;
  ~Calls() { backend_.destroy(handle_); }

  void run() {
    et::BackendExecutionContext context(nullptr, &memory_, "forward");
    if (backend_.execute(context, handle_, {args_.data(), args_.size()}) != et::Error::Ok) {
      throw Failure("execute through the adapter failed");
    }
  }

 private:
  et::BackendInterface& backend_;
  et::FreeableBuffer processed_;
  executorch::extension::MallocMemoryAllocator memory_;
  Four in_, out_;
  std::array<et::EValue*, 2> args_{in_.value(), out_.value()};
  et::DelegateHandle* handle_ = nullptr;
};

}  // namespace

Work adapted_calls(const std::string& plugin, Shapes shapes) {
  const auto dynamism = shapes == Shapes::Fixed ? et::TensorShapeDynamism::STATIC
                                                : et::TensorShapeDynamism::DYNAMIC_BOUND;
  const auto calls = std::make_shared<Calls>(adapted(plugin), dynamism);
  return [calls](std::uint64_t repeats) {
    for (std::uint64_t i = 0; i < 1000 * repeats; ++i) calls->run();
  };
}

}  // namespace tenon::bench
