// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>

#include "tenon/core/result.hpp"
#include "tenon/host/platform/impl/windows/shared_library.hpp"
#include "tenon/host/platform/opened_file.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/platform/windows/api.hpp"
#include "tenon/host/platform/windows/file.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// The library in one open file.
///
/// Windows loads by path. The path is the open file's own, without links, as another process might
/// point a link to another file. Meanwhile the file is open and shared for reading alone. So it is
/// the checked file: no process can write to it, or rename it or a directory that it is in.
class LibraryHandle {
 public:
  /// With `keep` it is never unloaded.
  static Result<LibraryHandle> open(OpenedFile file, bool keep) {
    TENON_TRY(const std::wstring path, path_without_links(file));
    TENON_TRY(SharedLibrary library, SharedLibrary::open(path, file.path, keep));
    return LibraryHandle(std::move(file), std::move(library));
  }

  /// Address of an exported symbol, or null.
  [[nodiscard]] const void* symbol(const char* name) const noexcept {
    return library_.symbol(name);
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

  LibraryHandle(OpenedFile file, SharedLibrary library) noexcept
      : file_(std::move(file)), library_(std::move(library)) {}

  OpenedFile file_;  // Declared first: it is closed after the unloading.
  SharedLibrary library_;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
