// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <tenon/tenon.hpp>
#include <vector>

#include "runtime/library.hpp"
#include "runtime/settings.hpp"

namespace openvino_backend {

/// Compiled models in a directory, one file each.
class Cache {
 public:
  /// The place for one model. Its name is made of the model's bytes, OpenVINO's version, the device
  /// and its properties.
  Cache(const Settings& settings, const Library& library, tenon::Bytes xml, tenon::Bytes weights);

  /// The bytes that `write` was given, or nothing. They were checked for damage.
  [[nodiscard]] std::vector<std::byte> read() const;

  /// Makes the file whole or not at all, also when several processes write it. `to` writes a file
  /// of that name.
  [[nodiscard]] tenon::Status write(const std::function<tenon::Status(const char*)>& to) const;

 private:
  std::string directory_;
  std::string path_;
};

}  // namespace openvino_backend
