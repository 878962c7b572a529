// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <tenon/backend/prepared.hpp>
#include <tenon/tenon.hpp>
#include <vector>

#include "runtime/core.hpp"

namespace openvino_backend {

/// One input or output of a model.
struct Port {
  ElementType element_type = ElementType::dynamic;
  tenon::ScalarType scalar_type{};
  std::vector<ov_dimension> dims;
  bool is_static = false;

  /// Whether a tensor of these sizes may be given.
  [[nodiscard]] bool accepts(std::span<const std::int64_t> sizes) const noexcept;
};

/// "[1..8, 64]".
[[nodiscard]] std::string text_of(const Port& port);

/// A compiled model, which several requests share. Constant once loaded; any thread.
class Model {
 public:
  /// Loads a payload of either form. `payload` is used until the model is destroyed, and so are the
  /// named data.
  [[nodiscard]] static tenon::Result<std::shared_ptr<const Model>> load(
      std::shared_ptr<const Core> core, const Settings& settings, tenon::InitContext& context,
      const tenon::HostServices& host, tenon::Blob payload);

  [[nodiscard]] const Api& api() const noexcept { return core_->api(); }
  [[nodiscard]] const ov_compiled_model* compiled() const noexcept { return compiled_.get(); }
  [[nodiscard]] const std::vector<Port>& inputs() const noexcept { return inputs_; }
  [[nodiscard]] const std::vector<Port>& outputs() const noexcept { return outputs_; }
  [[nodiscard]] bool has_profiling() const noexcept { return has_profiling_; }

 private:
  Model() = default;

  [[nodiscard]] tenon::Status compile(const Settings& settings, tenon::InitContext& context,
                                      const tenon::HostServices& host, tenon::Bytes payload);
  [[nodiscard]] tenon::Status import(tenon::Bytes payload);
  [[nodiscard]] tenon::Status read_ports();

  // Destroyed in reverse: OpenVINO may use the weights and the bytes as long as the model lives.
  std::shared_ptr<const Core> core_;
  std::optional<tenon::NamedData> weights_;
  tenon::Prepared prepared_;
  OwnedCompiledModel compiled_;
  std::vector<Port> inputs_;
  std::vector<Port> outputs_;
  bool has_profiling_ = false;
};

}  // namespace openvino_backend
