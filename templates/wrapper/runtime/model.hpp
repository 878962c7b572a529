// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <tenon/tenon.hpp>
#include <utility>
#include <vector>

#include "runtime/library.hpp"

namespace my_npu {

inline constexpr tenon::PayloadVersions payload_versions{1, 1};

/// Checks a blob without the runtime: it must begin as the models of the runtime do. What was never
/// a model of it is DelegateInvalidCompatibility, and a damaged model InvalidProgram.
[[nodiscard]] inline tenon::Status check_head(tenon::Bytes blob) {
  if (!tenon::as_text(blob).starts_with("NPUM")) {
    return tenon::error(tenon::Error::DelegateInvalidCompatibility,
                        "blob: expected a model that begins with NPUM, found ", blob.size(),
                        " other bytes");
  }
  const auto version = tenon::read_le<std::uint32_t>(blob, 4);
  if (!version) {
    return tenon::error(tenon::Error::InvalidProgram, "blob: expected 8 bytes or more, found ",
                        blob.size());
  }
  if (*version < payload_versions.min || *version > payload_versions.max) {
    return tenon::error(tenon::Error::DelegateInvalidCompatibility, "blob: expected version ",
                        payload_versions.min, " to ", payload_versions.max, ", found ", *version);
  }
  return tenon::ok();
}

/// The failure of a call of the runtime, with its own text.
[[nodiscard]] inline tenon::Status check(const Functions& npu, npu_status status,
                                         std::string_view what) {
  using tenon::Error;
  if (status == NPU_OK) [[likely]]
    return tenon::ok();
  const Error error = status == NPU_NO_MEMORY   ? Error::MemoryAllocationFailed
                      : status == NPU_BAD_MODEL ? Error::InvalidProgram
                      : status == NPU_CANCELLED ? Error::Cancelled
                                                : Error::InvalidArgument;
  return tenon::error(error, what, ": ", npu.npu_last_error());
}

[[nodiscard]] inline tenon::Result<tenon::ScalarType> scalar_type(npu_type type) {
  switch (type) {
    case NPU_FLOAT32:
      return tenon::ScalarType::Float;
    case NPU_INT32:
      return tenon::ScalarType::Int;
    case NPU_INT64:
      return tenon::ScalarType::Long;
  }
  return tenon::error(tenon::Error::NotSupported, "port: the runtime's type ",
                      static_cast<int>(type), " is not known here");
}

/// A loaded model and the dtypes of its ports. Does not change, so that sessions share it.
class Model {
 public:
  static tenon::Result<std::shared_ptr<const Model>> load(const Functions& npu, tenon::Bytes blob,
                                                          int num_threads) {
    auto model = std::make_shared<Model>(npu);
    TENON_RETURN_IF_ERROR(check(
        npu, npu.npu_model_load(blob.data(), blob.size(), num_threads, &model->handle_), "blob"));
    TENON_RETURN_IF_ERROR(model->read_ports(npu.npu_model_num_inputs(model->handle_),
                                            npu.npu_model_input, model->inputs_));
    TENON_RETURN_IF_ERROR(model->read_ports(npu.npu_model_num_outputs(model->handle_),
                                            npu.npu_model_output, model->outputs_));
    return std::shared_ptr<const Model>(std::move(model));
  }

  /// No model yet. For `load`.
  explicit Model(const Functions& npu) noexcept : npu_(npu) {}
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  ~Model() {
    if (handle_) npu_.npu_model_free(handle_);
  }

  [[nodiscard]] const Functions& npu() const noexcept { return npu_; }
  [[nodiscard]] const npu_model* handle() const noexcept { return handle_; }
  [[nodiscard]] const std::vector<tenon::ScalarType>& inputs() const noexcept { return inputs_; }
  [[nodiscard]] const std::vector<tenon::ScalarType>& outputs() const noexcept { return outputs_; }

 private:
  tenon::Status read_ports(std::size_t count,
                           npu_status (*read)(const npu_model*, std::size_t, npu_port*),
                           std::vector<tenon::ScalarType>& out) const {
    for (std::size_t i = 0; i < count; ++i) {
      npu_port port{};
      TENON_RETURN_IF_ERROR(check(npu_, read(handle_, i, &port), "port"));
      TENON_TRY(const auto dtype, scalar_type(port.type));
      out.push_back(dtype);
    }
    return tenon::ok();
  }

  const Functions& npu_;
  npu_model* handle_ = nullptr;
  std::vector<tenon::ScalarType> inputs_;
  std::vector<tenon::ScalarType> outputs_;
};

/// One state of a model, which runs once at a time: the delegate, and each session of it. It shares
/// the model, so that it does not matter which of them is destroyed last.
class Request {
 public:
  static tenon::Result<Request> create(std::shared_ptr<const Model> model) {
    const Functions& npu = model->npu();
    npu_request* handle = nullptr;
    TENON_RETURN_IF_ERROR(check(npu, npu.npu_request_create(model->handle(), &handle), "request"));
    return Request(std::move(model), handle);
  }

  [[nodiscard]] const std::shared_ptr<const Model>& model() const noexcept { return model_; }
  [[nodiscard]] npu_request* handle() const noexcept { return handle_.get(); }

 private:
  struct Free {
    const Functions* npu;
    void operator()(npu_request* request) const noexcept { npu->npu_request_free(request); }
  };

  Request(std::shared_ptr<const Model> model, npu_request* handle) noexcept
      : model_(std::move(model)), handle_(handle, Free{&model_->npu()}) {}

  std::shared_ptr<const Model> model_;
  std::unique_ptr<npu_request, Free> handle_;  // Destroyed before the model.
};

}  // namespace my_npu
