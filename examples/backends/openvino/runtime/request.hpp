// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <memory>
#include <tenon/backend/cancel_flag.hpp>
#include <tenon/tenon.hpp>
#include <vector>

#include "runtime/model.hpp"

namespace openvino_backend {

/// One infer request of a model: what one delegate or session runs. One call at a time.
class Request {
 public:
  [[nodiscard]] static tenon::Result<Request> create(std::shared_ptr<const Model> model);

  /// Another request of the same compiled model.
  [[nodiscard]] tenon::Result<Request> another() const { return create(model_); }

  /// Runs once. Tensors are bound to the request where they are, so nothing is copied; a tensor
  /// that has the address and the sizes of the call before stays bound. Outputs of dynamic shape
  /// get the sizes that OpenVINO found.
  [[nodiscard]] tenon::Status execute(tenon::ExecutionContext& context, tenon::Args args,
                                      tenon::CancelFlag cancelled);

  /// Ends a run that is going on, from any thread.
  void cancel() noexcept;

 private:
  /// The tensor that a port is bound to.
  struct Binding {
    const tenon_tensor* argument = nullptr;
    const void* data = nullptr;
    std::array<std::int64_t, tenon::max_rank> sizes{};
    OwnedTensor tensor;
    std::unique_ptr<std::int64_t> integer;  ///< The element of a port that an Int argument fills.
  };

  Request() = default;

  [[nodiscard]] ov_status infer(tenon::CancelFlag cancelled) noexcept;
  [[nodiscard]] tenon::Status bind_input(tenon::Args args, std::size_t index);
  [[nodiscard]] tenon::Status bind_integer(std::int64_t value, std::size_t index);
  [[nodiscard]] tenon::Status bind_output(tenon::Args args, std::size_t index);
  [[nodiscard]] tenon::Status bind(std::size_t port, void* data,
                                   std::span<const std::int64_t> sizes);
  [[nodiscard]] tenon::Status resize_output(tenon::Args args, std::size_t index);
  void log_layers(tenon::Tracer tracer, std::uint64_t start_ns) const;

  std::shared_ptr<const Model> model_;
  OwnedRequest object_;
  std::vector<Binding> bindings_;  ///< Inputs, then outputs.
};

}  // namespace openvino_backend
