// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isolated.hpp"
#include "support/catch.hpp"
#include "tenon/abi/extensions/kernels.h"
#include "tenon/abi/extensions/options.h"
#include "tenon/host/all_layers.hpp"
#include "tenon/host/loader/plugin/calls.hpp"
#include "tenon/host/loader/plugin/last_error.hpp"
#include "tenon/host/loader/plugin/plugin.hpp"

namespace tenon::test {

/// A tensor of one dimension, of dynamic size.
struct Vector {
  explicit Vector(float* data, std::int64_t size, std::int64_t bound) : shape(size), bounds(bound) {
    tensor.struct_size = sizeof tensor;
    tensor.scalar_type = static_cast<std::int32_t>(ScalarType::Float);
    tensor.dl = {data, {TENON_DL_CPU, 0}, 1, {TENON_DL_FLOAT, 32, 1}, &shape, &stride, 0};
    tensor.dim_order = &order;
    tensor.bounds = &bounds;
    tensor.nbytes = static_cast<std::uint64_t>(size) * sizeof(float);
    tensor.capacity = static_cast<std::uint64_t>(bound) * sizeof(float);
    tensor.shape_dynamism = TENON_SHAPE_DYNAMIC_BOUND;
    value.as.tensor = &tensor;
  }
  Vector(const Vector&) = delete;
  Vector& operator=(const Vector&) = delete;

  [[nodiscard]] std::vector<float> elements() const {
    const auto* data = static_cast<const float*>(tensor.dl.data);
    return {data, data + shape};
  }

  std::int64_t shape;
  std::int64_t stride = 1;
  std::int64_t bounds;
  std::uint8_t order = 0;
  tenon_tensor tensor{};
  tenon_value value{sizeof(tenon_value), TENON_VALUE_TENSOR, {}};
};

/// The kernels of a plugin, in a worker or here.
class Kernels {
 public:
  Kernels(const std::string& plugin, const char* id, Application::Place place)
      : application_(plugin, place) {
    auto loaded = host::Plugin::load(application_.path(), host::all_layers());
    REQUIRE(loaded.ok());
    plugin_ = *loaded;
    auto backend = plugin_->backend(id);
    INFO(backend.text());
    REQUIRE(backend.ok());
    backend_ = *backend;
    table_ = backend_->extension<tenon_kernels_v1>(TENON_EXTENSION_KERNELS);
    REQUIRE(table_.has_value());
    context_.emplace(backend_->host(), "forward", nullptr, nullptr);
  }

  [[nodiscard]] std::vector<std::string> operators() const {
    std::vector<std::string> out;
    const auto sink = [](void* to, const char* op) {
      static_cast<std::vector<std::string>*>(to)->emplace_back(op);
    };
    REQUIRE(table_->list_operators(backend_->raw(), sink, &out) == TENON_STATUS_OK);
    return out;
  }

  [[nodiscard]] tenon_kernel* make(const char* op, std::vector<tenon_value*>& args) {
    tenon_kernel* out = nullptr;
    const tenon_kernel_context context{sizeof context, static_cast<std::uint32_t>(args.size()), op,
                                       args.data()};
    const tenon_status status = table_->create_kernel(backend_->raw(), &context, &out);
    status_ = status;
    return out;
  }
  [[nodiscard]] tenon_status run(tenon_kernel* kernel) {
    return table_->run_kernel(kernel, &*context_);
  }
  void destroy(tenon_kernel* kernel) { table_->destroy_kernel(backend_->raw(), kernel); }
  /// Of kernels that are made from now on.
  void set_restarts(std::int64_t times) {
    const auto options = backend_->extension<tenon_options_v1>(TENON_EXTENSION_OPTIONS);
    REQUIRE(options.has_value());
    tenon_option option{};
    option.struct_size = sizeof option;
    option.key = "isolated.restart";
    option.type = TENON_OPTION_INT;
    option.as.integer = times;
    REQUIRE(options->set_option(backend_->raw(), &option) == TENON_STATUS_OK);
  }
  [[nodiscard]] const host::LoadedBackend& backend() const noexcept { return *backend_; }
  [[nodiscard]] tenon_status status() const noexcept { return status_; }
  [[nodiscard]] static std::string text() { return host::detail::last_error().text; }

 private:
  Application application_;
  std::shared_ptr<host::Plugin> plugin_;
  std::shared_ptr<const host::LoadedBackend> backend_;
  std::optional<tenon_kernels_v1> table_;
  std::optional<host::detail::CallContext> context_;
  tenon_status status_ = TENON_STATUS_OK;
};

}  // namespace tenon::test
