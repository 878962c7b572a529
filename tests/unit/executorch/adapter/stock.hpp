// SPDX-License-Identifier: MIT
#pragma once

// All of ExecuTorch's headers that these tests need: they do not compile after `using namespace
// tenon`.
#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/flat_tensor/flat_tensor_data_map.h>
#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/extension/module/module.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/aligned_bytes.hpp"
#include "support/catch.hpp"
#include "tenon/executorch/register_plugins.hpp"
#include "unit/executorch/adapter/programs.hpp"
#include "unit/executorch/adapter/values_backend.hpp"
#include "unit/host/loader/method/test_backend.hpp"

TENON_DECLARE_STATIC_PLUGIN(BackendWithCompilerDemo);
TENON_DECLARE_STATIC_PLUGIN(Far);

namespace tenon::test {

namespace bridge = ::tenon::bridge;
namespace et = ::executorch::runtime;
using ::executorch::aten::TensorImpl;
using EtScalarType = ::executorch::aten::ScalarType;

/// A backend of ExecuTorch that is available and supports nothing.
template <class Interface>
class IdleInterface final : public Interface {
 public:
  [[nodiscard]] bool is_available() const override { return true; }
  et::Result<et::DelegateHandle*> init(et::BackendInitContext&, et::FreeableBuffer*,
                                       et::ArrayRef<et::CompileSpec>) const override {
    return et::Error::NotSupported;
  }
  et::Error execute(et::BackendExecutionContext&, et::DelegateHandle*,
                    et::Span<et::EValue*>) const override {
    return et::Error::NotSupported;
  }
};

/// The plugins of these tests, linked in and registered in ExecuTorch once: it keeps them for ever.
inline const std::shared_ptr<host::BackendRegistry>& adapted() {
  static const auto registry = [] {
    et::runtime_init();
    auto made = std::make_shared<host::BackendRegistry>();
    for (const tenon_plugin_head* plugin :
         {tenon_static_plugin_TestBackend, tenon_static_plugin_Values,
          tenon_static_plugin_BackendWithCompilerDemo, tenon_static_plugin_Far}) {
      REQUIRE(made->register_backend(plugin).ok());
    }
    const auto done = bridge::register_plugins(
        std::shared_ptr<const host::BackendRegistry>(made),
        {.ids = {"Test", "Unavailable", "Values", "BackendWithCompilerDemo", "FarBackend"}});
    INFO(done.text());
    REQUIRE(done.ok());
    return made;
  }();
  return registry;
}

/// A tensor of the application's own.
template <class T>
class OwnTensor {
 public:
  OwnTensor(EtScalarType type, std::vector<std::int32_t> shape, std::vector<T> values,
            et::TensorShapeDynamism dynamism = et::TensorShapeDynamism::STATIC)
      : sizes(std::move(shape)),
        data(std::move(values)),
        order(sizes.size()),
        strides(sizes.size()) {
    std::iota(order.begin(), order.end(), std::uint8_t{0});
    std::int32_t stride = 1;
    for (std::size_t i = sizes.size(); i-- > 0; stride *= sizes[i]) strides[i] = stride;
    impl.emplace(type, static_cast<ssize_t>(sizes.size()), sizes.data(), data.data(), order.data(),
                 strides.data(), dynamism);
  }
  OwnTensor(const OwnTensor&) = delete;
  OwnTensor& operator=(const OwnTensor&) = delete;

  [[nodiscard]] et::EValue value() { return et::EValue(::executorch::aten::Tensor(&*impl)); }

  std::vector<std::int32_t> sizes;
  std::vector<T> data;
  std::vector<std::uint8_t> order;
  std::vector<std::int32_t> strides;
  std::optional<TensorImpl> impl;
};
using Floats = OwnTensor<float>;

inline Floats floats(std::vector<std::int32_t> sizes, std::vector<float> values,
                     et::TensorShapeDynamism dynamism = et::TensorShapeDynamism::STATIC) {
  return {EtScalarType::Float, std::move(sizes), std::move(values), dynamism};
}

/// Throws unless `holds`: Catch2's assertions are for one thread.
inline void need(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(std::string("stock ExecuTorch: ") + what);
}

/// A program in stock ExecuTorch.
class StockProgram {
 public:
  explicit StockProgram(AlignedBytes bytes)
      : bytes_(std::move(bytes)),
        loader_(std::as_const(bytes_).bytes().data(), std::as_const(bytes_).bytes().size()),
        program_(et::Program::load(&loader_, et::Program::Verification::InternalConsistency)) {
    adapted();
    need(program_.ok(), "Program::load");
  }
  [[nodiscard]] const et::Program& get() const { return *program_; }

 private:
  AlignedBytes bytes_;
  ::executorch::extension::BufferDataLoader loader_;
  et::Result<et::Program> program_;
};

/// The objects with which stock ExecuTorch loads a method.
struct StockOptions {
  et::EventTracer* tracer = nullptr;
  const et::LoadBackendOptionsMap* backend_options = nullptr;
  const et::NamedDataMap* data = nullptr;
};

/// A method in stock ExecuTorch, with memory of its own. Errors are in `error`.
class StockMethod {
 public:
  explicit StockMethod(const StockProgram& program, const StockOptions& options = {}) {
    const auto meta = program.get().method_meta("forward");
    need(meta.ok(), "method_meta");
    for (std::size_t i = 0; i < meta->num_memory_planned_buffers(); ++i) {
      const auto size = meta->memory_planned_buffer_size(i);
      need(size.ok(), "memory_planned_buffer_size");
      buffers_.emplace_back(static_cast<std::size_t>(*size));
    }
    for (auto& buffer : buffers_) spans_.emplace_back(buffer.data(), buffer.size());
    planned_.emplace(et::Span<et::Span<std::uint8_t>>(spans_.data(), spans_.size()));
    manager_.emplace(&method_memory_, &*planned_, &temporary_);
    auto loaded = program.get().load_method("forward", &*manager_, options.tracer, options.data,
                                            options.backend_options);
    error = loaded.error();
    if (loaded.ok()) method_.emplace(std::move(*loaded));
  }

  et::Error error = et::Error::Ok;

  [[nodiscard]] et::Method& operator*() { return *method_; }
  [[nodiscard]] et::Method* operator->() { return &*method_; }
  [[nodiscard]] bool ok() const { return method_.has_value(); }

  [[nodiscard]] std::vector<float> output(std::size_t index = 0) const {
    const auto tensor = method_->get_output(index).toTensor();
    const float* const data = tensor.const_data_ptr<float>();
    return {data, data + tensor.numel()};
  }

 private:
  std::vector<std::vector<std::uint8_t>> buffers_;
  std::vector<et::Span<std::uint8_t>> spans_;
  ::executorch::extension::MallocMemoryAllocator method_memory_;
  ::executorch::extension::MallocMemoryAllocator temporary_;
  std::optional<et::HierarchicalAllocator> planned_;
  std::optional<et::MemoryManager> manager_;
  std::optional<et::Method> method_;
};

/// Calls the adapter of a backend as a method of ExecuTorch does, with values made by hand.
class DirectCall {
 public:
  explicit DirectCall(const std::string& id, const std::string& blob,
                      et::EventTracer* of_init = nullptr)
      : tracer(of_init), blob_(blob), processed_(blob_.data(), blob_.size(), nullptr) {
    adapted();
    backend_ = et::get_backend_class(id.c_str());
    REQUIRE(backend_ != nullptr);
    et::BackendInitContext context(&memory_, of_init, "by hand");
    auto made = backend_->init(context, &processed_, {});
    REQUIRE(made.ok());
    handle_ = *made;
  }
  DirectCall(const DirectCall&) = delete;
  DirectCall& operator=(const DirectCall&) = delete;
  ~DirectCall() { backend_->destroy(handle_); }

  et::EventTracer* tracer;  ///< Of the next call.

  et::Error operator()(std::vector<et::EValue*>& args) {
    et::BackendExecutionContext context(tracer, &memory_, "by hand");
    return backend_->execute(context, handle_, {args.data(), args.size()});
  }

 private:
  std::string blob_;
  et::FreeableBuffer processed_;
  ::executorch::extension::MallocMemoryAllocator memory_;
  et::BackendInterface* backend_ = nullptr;
  et::DelegateHandle* handle_ = nullptr;
};

/// The text of the last failure on this thread.
inline std::string last_text() { return std::string(bridge::last_error().text()); }

}  // namespace tenon::test
