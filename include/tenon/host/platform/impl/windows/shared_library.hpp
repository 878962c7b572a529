// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <utility>

#include "tenon/core/result.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/platform/windows/api.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Whether FreeLibrary of the last user takes a library out of memory.
inline constexpr bool loader_unloads = true;

/// One LoadLibraryEx, undone on destruction.
class SharedLibrary {
 public:
  /// Loads what `name` is; messages call it `path`. DLLs that it needs are taken from its own
  /// directory and from System32, never from the current directory, the directory of the program or
  /// PATH. With `keep` it is never unloaded.
  ///
  /// errors: AccessFailed with the system's own message.
  static Result<SharedLibrary> open(const std::filesystem::path& name,
                                    const std::filesystem::path& path, bool keep) {
    ::DWORD mode = 0;
    // Without a box on the screen that waits for a person.
    ::SetThreadErrorMode(SEM_FAILCRITICALERRORS, &mode);
    const ::HMODULE module = ::LoadLibraryExW(
        name.c_str(), nullptr, LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_SYSTEM32);
    const ::DWORD failure = module ? ERROR_SUCCESS : ::GetLastError();
    ::SetThreadErrorMode(mode, nullptr);
    if (!module) {
      return error(Error::AccessFailed, "cannot load ", path_text(path), ": ",
                   platform::failure_text(failure),
                   failure == ERROR_MOD_NOT_FOUND
                       ? "; a DLL that it needs is neither next to it nor in System32"
                       : "");
    }
    if (keep) {
      ::HMODULE pinned = nullptr;
      ::GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN, name.c_str(), &pinned);
    }
    return SharedLibrary(module);
  }

  SharedLibrary(SharedLibrary&& other) noexcept : module_(std::exchange(other.module_, nullptr)) {}
  SharedLibrary& operator=(SharedLibrary&& other) noexcept {
    std::swap(module_, other.module_);
    return *this;
  }
  ~SharedLibrary() {
    if (module_) ::FreeLibrary(module_);
  }

  /// Address of an exported symbol, or null.
  [[nodiscard]] const void* symbol(const char* name) const noexcept {
    return reinterpret_cast<const void*>(::GetProcAddress(module_, name));
  }

 private:
  explicit SharedLibrary(::HMODULE module) noexcept : module_(module) {}

  ::HMODULE module_;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
