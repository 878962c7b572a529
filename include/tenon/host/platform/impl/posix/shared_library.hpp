// SPDX-License-Identifier: MIT
#pragma once

#include <dlfcn.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Whether `dlclose` of the last user takes a library out of memory. musl's does nothing.
#if defined(__linux__) && !defined(__GLIBC__) && !defined(__BIONIC__)
inline constexpr bool loader_unloads = false;
#else
inline constexpr bool loader_unloads = true;
#endif

/// One dlopen, undone on destruction.
///
/// Loaded with RTLD_NOW, so that a missing symbol is an error here and not in the middle of a run,
/// and RTLD_LOCAL, so that plugins do not see each other's symbols. RTLD_DEEPBIND is not used: it
/// gives the library a second copy of the C++ runtime's state.
class SharedLibrary {
 public:
  /// Loads what `name` is; messages call it `path`. With `keep` it is never unloaded.
  ///
  /// errors: AccessFailed with the loader's own message.
  static Result<SharedLibrary> open(const std::filesystem::path& name,
                                    const std::filesystem::path& path, bool keep) {
    void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | (keep ? RTLD_NODELETE : 0));
    if (handle) return SharedLibrary(handle);
    const char* reason = ::dlerror();
    return error(Error::AccessFailed, "cannot load ", path.native(), ": ",
                 with_path(reason ? reason : "no reason given", name.native(), path.native()));
  }

  SharedLibrary(SharedLibrary&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  SharedLibrary& operator=(SharedLibrary&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~SharedLibrary() {
    if (handle_) ::dlclose(handle_);
  }

  /// Address of an exported symbol, or null.
  [[nodiscard]] const void* symbol(const char* name) const noexcept {
    return ::dlsym(handle_, name);
  }

 private:
  explicit SharedLibrary(void* handle) noexcept : handle_(handle) {}

  /// The loader's own words, with the path that a person knows.
  [[gnu::cold]] static std::string with_path(std::string text, std::string_view name,
                                             std::string_view path) {
    if (const auto at = text.find(name); at != std::string::npos) {
      text.replace(at, name.size(), path);
    }
    return text;
  }

  void* handle_;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
