// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <utility>

#include "tenon/core/result.hpp"
#include "tenon/host/loader/plugin/plugin_gate.hpp"
#include "tenon/host/platform/environment.hpp"
#include "tenon/host/platform/opened_file.hpp"
#include "tenon/host/platform/path_text.hpp"
#if defined(_WIN32)
#include "tenon/host/platform/impl/windows/shared_library.hpp"
#else
#include "tenon/host/platform/impl/posix/shared_library.hpp"
#endif

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Leak checkers and profilers need the symbols after a library's last use.
inline bool keeps_libraries() {
  return !environment_variable("TENON_NO_UNLOAD").value_or("").empty();
}

/// A plugin that the system's loader found by its path, as it found the libraries that it needs.
class PathLibrary final : public LoadedLibraries {
 public:
  /// Loads what is at the path of `file`, which no gate may have admitted or replaced, and no copy.
  ///
  /// errors: AccessFailed with the words of the system's loader; NotSupported for a file that is
  /// not loaded by its path; the errors of `open_file`.
  [[nodiscard]] static Result<std::unique_ptr<LoadedLibraries>> load(const OpenedFile& file) {
    TENON_TRY(const OpenedFile there, open_named_file(file.path));
    if (file.is_admitted || there.identity != file.identity) {
      return error(Error::NotSupported, path_text(file.path),
                   ": what was checked is not loaded by its path; expected the gate of trust, "
                   "which all_layers() adds");
    }
    TENON_TRY(SharedLibrary library, SharedLibrary::open(file.path, file.path, keeps_libraries()));
    return std::unique_ptr<LoadedLibraries>(new PathLibrary(std::move(library)));
  }

  [[nodiscard]] const void* symbol(const char* name) const noexcept override {
    return library_.symbol(name);
  }

  [[nodiscard]] Result<Sha256> digest() const override {
    return error(Error::NotSupported,
                 "a plugin that the system loads by its path has no file to be known by; expected "
                 "the gate of trust, which all_layers() adds");
  }

 private:
  explicit PathLibrary(SharedLibrary library) noexcept : library_(std::move(library)) {}

  SharedLibrary library_;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
