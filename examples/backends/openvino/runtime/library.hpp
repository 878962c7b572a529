// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <tenon/tenon.hpp>

#include "runtime/api.hpp"

namespace openvino_backend {

/// OpenVINO's C library, loaded by name. Any thread.
///
/// It stays in memory until the process ends, also when this object is destroyed: worker threads of
/// OpenVINO's thread pool may still run its code then.
class Library {
 public:
  /// Loads the first that is found: the file or directory `$OPENVINO_LIB` alone where it is set, or
  /// else the library next to an OpenVINO that the process has loaded (Python's `import openvino`),
  /// "libopenvino_c.so" as the dynamic loader finds it, or the wheel's in `$VIRTUAL_ENV`. NotFound
  /// with what was tried and how to install it; NotSupported when a function is missing.
  [[nodiscard]] static tenon::Result<Library> load();

  [[nodiscard]] const Api& api() const noexcept { return api_; }
  /// "2026.4.1-22982-e213a147257-releases/2026/4".
  [[nodiscard]] const std::string& version() const noexcept { return version_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  Library() = default;

  Api api_;
  std::string version_;
  std::string path_;
};

/// Success, or the failure of a call of OpenVINO's, with OpenVINO's own text. `what` says what was
/// to be done ("compile the model for CPU").
[[nodiscard]] tenon::Status check(const Api& api, ov_status status, std::string_view what,
                                  tenon::Error error = tenon::Error::Internal);

}  // namespace openvino_backend
