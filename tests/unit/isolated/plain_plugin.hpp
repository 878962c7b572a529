// SPDX-License-Identifier: MIT
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <stdexcept>

#include "tenon/abi/plugin.h"
#include "tenon/abi/tenon.h"

namespace tenon::test {

/// The first backend of a plugin's file, called as the boundary says and without the checks of a
/// host.
class PlainPlugin {
 public:
  explicit PlainPlugin(const char* file) : library_(::dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
    if (!library_) throw std::runtime_error(::dlerror());
    const auto* object = static_cast<const std::byte*>(::dlsym(library_, TENON_PLUGIN_SYMBOL));
    const auto* head = reinterpret_cast<const tenon_plugin_head*>(object);
    const auto* body = reinterpret_cast<const tenon_plugin_body*>(object + head->body_offset);
    api_ = body->backends[0];
  }
  PlainPlugin(const PlainPlugin&) = delete;
  PlainPlugin& operator=(const PlainPlugin&) = delete;
  ~PlainPlugin() { ::dlclose(library_); }

  [[nodiscard]] const tenon_backend_api& api() const noexcept { return *api_; }

 private:
  void* library_;
  const tenon_backend_api* api_ = nullptr;
};

}  // namespace tenon::test
