// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "tenon/core/result.hpp"
#include "tenon/host/platform/opened_file.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/platform/windows/api.hpp"
#include "tenon/host/platform/windows/file.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Whether FreeLibrary of the last user takes a library out of memory.
inline constexpr bool loader_unloads = true;

/// One LoadLibraryEx, undone on destruction.
///
/// Windows loads by path: by that of the open file itself, without links, which another process
/// might set to another file. The file is open meanwhile and shared for reading alone, so that it
/// is the checked file: no process can write to it, or rename it or a directory that it is in.
class LibraryHandle {
 public:
  /// DLLs that it needs are taken from its own directory and from System32, never from the current
  /// directory, the directory of the program or PATH. With `keep` it is never unloaded.
  static Result<LibraryHandle> open(OpenedFile file, bool keep) {
    TENON_TRY(const std::wstring path, path_without_links(file));
    ::DWORD mode = 0;
    // Without a box on the screen that waits for a person.
    ::SetThreadErrorMode(SEM_FAILCRITICALERRORS, &mode);
    const ::HMODULE module = ::LoadLibraryExW(
        path.c_str(), nullptr, LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_SYSTEM32);
    const ::DWORD failure = module ? ERROR_SUCCESS : ::GetLastError();
    ::SetThreadErrorMode(mode, nullptr);
    if (!module) {
      return error(Error::AccessFailed, "cannot load ", path_text(file.path), ": ",
                   platform::failure_text(failure),
                   failure == ERROR_MOD_NOT_FOUND
                       ? "; a DLL that it needs is neither next to it nor in System32"
                       : "");
    }
    if (keep) {
      ::HMODULE pinned = nullptr;
      ::GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN, path.c_str(), &pinned);
    }
    return LibraryHandle(module, std::move(file));
  }

  LibraryHandle(LibraryHandle&& other) noexcept
      : file_(std::move(other.file_)), module_(std::exchange(other.module_, nullptr)) {}
  LibraryHandle& operator=(LibraryHandle&& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(module_, other.module_);
    return *this;
  }
  ~LibraryHandle() {
    if (module_) ::FreeLibrary(module_);
  }

  /// Address of an exported symbol, or null.
  [[nodiscard]] const void* symbol(const char* name) const noexcept {
    return reinterpret_cast<const void*>(::GetProcAddress(module_, name));
  }

  [[nodiscard]] const OpenedFile& file() const noexcept { return file_; }

  /// No process can write to the file while it is open.
  [[nodiscard]] Status check_unchanged() const { return ok(); }

 private:
  static Result<std::wstring> path_without_links(const OpenedFile& file) {
    std::wstring path(512, L'\0');
    ::DWORD length = 0;
    for (;;) {
      length = ::GetFinalPathNameByHandleW(platform::handle_of(file.descriptor.get()), path.data(),
                                           static_cast<::DWORD>(path.size()), 0);
      if (length < path.size()) break;
      path.resize(length);  // What it takes, with the NUL.
    }
    if (length == 0) {
      return error(Error::AccessFailed, "cannot load ", path_text(file.path), ": ",
                   platform::failure_text(::GetLastError()));
    }
    path.resize(length);
    // The system gives it with a prefix for long paths; the search next to the library needs a
    // plain one.
    if (path.starts_with(L"\\\\?\\UNC\\")) return L"\\\\" + path.substr(8);
    return path.substr(path.starts_with(L"\\\\?\\") ? 4 : 0);
  }

  LibraryHandle(::HMODULE module, OpenedFile file) noexcept
      : file_(std::move(file)), module_(module) {}

  OpenedFile file_;
  ::HMODULE module_;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
