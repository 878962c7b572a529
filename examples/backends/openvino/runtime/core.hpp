// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tenon/tenon.hpp>

#include "runtime/library.hpp"
#include "runtime/settings.hpp"

namespace openvino_backend {

/// An object of OpenVINO's that belongs to one API: freed by `Free`, a member of `Api`.
template <class T, auto Free>
class Owned {
 public:
  Owned() = default;
  explicit Owned(const Api& api) noexcept : api_(&api) {}
  Owned(Owned&& other) noexcept
      : api_(other.api_), object_(std::exchange(other.object_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(api_, other.api_);
    std::swap(object_, other.object_);
    return *this;
  }
  ~Owned() {
    if (object_) (api_->*Free)(object_);
  }

  [[nodiscard]] T* get() const noexcept { return object_; }
  /// For functions of OpenVINO's that write an object.
  [[nodiscard]] T** out() noexcept { return &object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }

 private:
  const Api* api_ = nullptr;
  T* object_ = nullptr;
};

using OwnedCore = Owned<ov_core, &Api::core_free>;
using OwnedModel = Owned<ov_model, &Api::model_free>;
using OwnedCompiledModel = Owned<ov_compiled_model, &Api::compiled_model_free>;
using OwnedPort = Owned<ov_output_const_port, &Api::output_const_port_free>;
using OwnedRequest = Owned<ov_infer_request, &Api::infer_request_free>;
using OwnedTensor = Owned<ov_tensor, &Api::tensor_free>;

/// An `ov::Core` whose device has the properties of one `Settings`: `ov_core_import_model` takes no
/// properties, so the core must have them.
struct Core {
  std::shared_ptr<const Library> library;
  std::string device;
  OwnedCore object;

  [[nodiscard]] const Api& api() const noexcept { return library->api(); }
};

/// The library and the cores of one backend, made at first use. Any thread.
class Cores {
 public:
  /// OpenVINO; loads it when that was not done. A failure is not kept: the next call tries again.
  [[nodiscard]] tenon::Result<std::shared_ptr<const Library>> library();

  /// The core for `settings`, whose device must not be empty.
  [[nodiscard]] tenon::Result<std::shared_ptr<const Core>> find(const Settings& settings);

  /// The requirements that a model exported for the CPU must have to be imported here
  /// ("meta=1.0;ov=2026.4.1;isa=..."). Empty where OpenVINO has none: before 2026.4, and for other
  /// devices. OpenVINO gives them only for a compiled model: the first call compiles one without
  /// layers, which takes 20 ms.
  [[nodiscard]] tenon::Result<std::string> requirements(const Core& core);

 private:
  std::mutex mutex_;
  std::shared_ptr<const Library> library_;
  // They stay until `close`: a device's plugin takes longer to start than most models to load.
  std::map<std::string, std::shared_ptr<const Core>> cores_;
  std::optional<std::string> requirements_;
};

}  // namespace openvino_backend
