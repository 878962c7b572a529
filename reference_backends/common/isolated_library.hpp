// SPDX-License-Identifier: MIT
#pragma once

#include <dlfcn.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "tenon/core/concat.hpp"
#include "tenon/core/sanitizer.hpp"
#include "tenon/core/status.hpp"

namespace tenon::aoti_common {

/// The file of this plugin. The first call may give it, as the host says it. Without that it is the
/// file that the code was loaded from: empty for a copy in memory (docs/hosts/signatures.md).
inline const std::filesystem::path& plugin_file(std::string_view said = {}) {
  namespace fs = std::filesystem;
  static const char in_this_plugin = 0;
  static const fs::path file = [&]() -> fs::path {
    if (!said.empty()) return fs::path(said);
    ::Dl_info module{};
    if (::dladdr(&in_this_plugin, &module) == 0 || !module.dli_fname) return {};
    // A program that was found on PATH has no directory here; the current one is anybody's.
    if (std::string_view(module.dli_fname).find('/') == std::string_view::npos) return {};
    // A host loads the plugin by its descriptor, which is a link to the file.
    std::error_code failure;
    return fs::canonical(module.dli_fname, failure);
  }();
  return file;
}

/// Where `name` is loaded from: a package that ships the library has it in the directory of the
/// plugin or program, otherwise the dynamic loader searches for it.
inline std::string packaged_or_system(const char* name) {
  std::error_code failure;
  const std::filesystem::path packaged = plugin_file().parent_path() / name;
  const bool is_packaged =
      packaged.is_absolute() && std::filesystem::is_regular_file(packaged, failure);
  return is_packaged ? packaged.native() : std::string(name);
}

/// A library that finds its symbols in itself first, so that no global library of the process
/// replaces its functions.
class IsolatedLibrary {
 public:
  explicit IsolatedLibrary(const char* name)
      : handle_(::dlopen(packaged_or_system(name).c_str(), flags)) {}
  IsolatedLibrary(const IsolatedLibrary&) = delete;
  IsolatedLibrary& operator=(const IsolatedLibrary&) = delete;
  ~IsolatedLibrary() {
    if (handle_) ::dlclose(handle_);
  }

  [[nodiscard]] explicit operator bool() const noexcept { return handle_ != nullptr; }
  [[nodiscard]] void* symbol(const char* name) const noexcept { return ::dlsym(handle_, name); }

 private:
  // Sanitizers refuse RTLD_DEEPBIND: the library would bypass the functions that they replace.
#if TENON_DETAIL_ADDRESS_SANITIZER || TENON_DETAIL_THREAD_SANITIZER
  static constexpr int flags = RTLD_NOW | RTLD_LOCAL;
#else
  static constexpr int flags = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#endif

  void* handle_;
};

/// Why `library` is not there, right after its constructor: `product` and the package of Debian
/// that has it, then the reason of the dynamic loader. Empty when it is there.
inline std::string missing_text(const IsolatedLibrary& library, std::string_view product,
                                std::string_view package) {
  if (library) return {};
  const char* const reason = ::dlerror();
  return concat(product, " is needed (Debian: ", package,
                "): ", std::string_view(reason ? reason : "it cannot be loaded"));
}

/// The functions of a library, found once in the process: the constructor of `Functions` looks them
/// up, and puts into `problem` why some are missing. Threads: any.
template <class Functions>
const Functions& found_once() {
  static const Functions only;
  return only;
}

/// Success when none of them is missing. errors: NotFound.
template <class Functions>
Status find_once() {
  const std::string& problem = found_once<Functions>().problem;
  return problem.empty() ? ok() : error(Error::NotFound, std::string_view(problem));
}

}  // namespace tenon::aoti_common
