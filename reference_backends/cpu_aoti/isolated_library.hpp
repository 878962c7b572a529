// SPDX-License-Identifier: MIT
#pragma once

#include <dlfcn.h>

namespace tenon::cpu_aoti {

/// A system library that finds its symbols in itself first, so that no global library of the
/// process replaces its functions.
class IsolatedLibrary {
 public:
  explicit IsolatedLibrary(const char* name) noexcept : handle_(::dlopen(name, flags)) {}
  IsolatedLibrary(const IsolatedLibrary&) = delete;
  IsolatedLibrary& operator=(const IsolatedLibrary&) = delete;
  ~IsolatedLibrary() {
    if (handle_) ::dlclose(handle_);
  }

  [[nodiscard]] explicit operator bool() const noexcept { return handle_ != nullptr; }
  [[nodiscard]] void* symbol(const char* name) const noexcept { return ::dlsym(handle_, name); }

 private:
  // Sanitizers refuse RTLD_DEEPBIND: the library would bypass the functions that they replace.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  static constexpr int flags = RTLD_NOW | RTLD_LOCAL;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  static constexpr int flags = RTLD_NOW | RTLD_LOCAL;
#else
  static constexpr int flags = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#endif
#else
  static constexpr int flags = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#endif

  void* handle_;
};

}  // namespace tenon::cpu_aoti
