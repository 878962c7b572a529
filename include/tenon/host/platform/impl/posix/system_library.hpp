// SPDX-License-Identifier: MIT
#pragma once

#include <dlfcn.h>

#include <span>
#include <string>
#include <string_view>

#include "tenon/abi/version.h"
#include "tenon/core/sanitizer.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::platform {

/// Names of libsodium, the newest first.
#if defined(__APPLE__)
inline constexpr const char* sodium_names[] = {"libsodium.26.dylib", "libsodium.23.dylib",
                                               "/opt/homebrew/lib/libsodium.dylib"};
#else
inline constexpr const char* sodium_names[] = {"libsodium.so.26", "libsodium.so.23"};
#endif

/// The first library of a list that the dynamic loader finds. It stays loaded. It finds its symbols
/// in itself first, so that no library of the process replaces its functions.
class SystemLibrary {
 public:
  explicit SystemLibrary(std::span<const char* const> names) {
    for (const char* name : names) {
      handle_ = ::dlopen(name, flags);
      if (handle_) return;
      const char* const reason = ::dlerror();
      if (!problem_.empty()) problem_ += "; ";
      problem_ += reason ? reason : "no reason given";
    }
  }

  [[nodiscard]] explicit operator bool() const noexcept { return handle_ != nullptr; }
  /// Why there is none, in the words of the dynamic loader.
  [[nodiscard]] std::string_view problem() const noexcept { return problem_; }
  /// Null when it has none of that name.
  [[nodiscard]] void* symbol(const char* name) const noexcept { return ::dlsym(handle_, name); }

 private:
  // Sanitizers refuse RTLD_DEEPBIND: the library would bypass the functions that they replace.
#if defined(RTLD_DEEPBIND) && !TENON_DETAIL_ADDRESS_SANITIZER && !TENON_DETAIL_THREAD_SANITIZER
  static constexpr int flags = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#else
  static constexpr int flags = RTLD_NOW | RTLD_LOCAL;
#endif

  void* handle_ = nullptr;
  std::string problem_;
};

}}}  // namespace tenon::TENON_RELEASE::host::platform
