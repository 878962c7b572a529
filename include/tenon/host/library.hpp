// SPDX-License-Identifier: MIT
#pragma once

#include <dlfcn.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/core/result.hpp"

namespace tenon::host {

/// A loaded shared library, closed when this object goes.
///
/// Loaded with RTLD_NOW, so that what is missing shows here and not in the middle of a run, and
/// RTLD_LOCAL, so that plugins do not see each other's symbols. RTLD_DEEPBIND is not used: it gives
/// the library a second copy of the C++ runtime's state.
class Library {
 public:
  /// `path` must be absolute: a name without a folder would be searched for. AccessFailed with the
  /// loader's own words when it cannot be loaded.
  [[nodiscard]] static Result<Library> load(const std::filesystem::path& path) {
    if (!path.is_absolute()) {
      return error(Error::InvalidArgument, "cannot load ", path.string(),
                   ": an absolute path is expected");
    }
    void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      const char* reason = ::dlerror();
      return error(Error::AccessFailed, "cannot load ", path.string(), ": ",
                   std::string_view(reason ? reason : "no reason given"));
    }
    return Library(handle);
  }

  Library(Library&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Library& operator=(Library&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Library() {
    if (handle_) ::dlclose(handle_);
  }

  /// Address of an exported symbol, or null.
  [[nodiscard]] const void* symbol(const char* name) const noexcept {
    return ::dlsym(handle_, name);
  }

 private:
  explicit Library(void* handle) noexcept : handle_(handle) {}
  void* handle_;
};

}  // namespace tenon::host
