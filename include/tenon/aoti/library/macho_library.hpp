// SPDX-License-Identifier: MIT
#pragma once

#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "tenon/aoti/library/code_features.hpp"
#include "tenon/aoti/shims/shim.hpp"
#include "tenon/core/bytes.hpp"
#include "tenon/core/memory_file.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

/// The library of a compiled model on macOS, loaded from bytes.
///
/// Libraries are signed there, so their symbols cannot be edited as on Linux. AOTInductor links
/// models with `-undefined dynamic_lookup`: dyld looks for their functions in all images of the
/// process, and the backend must export its shims before (`FindShim` is not used to bind them).
/// dyld loads only files, so the bytes are written to a file that only this user can read, and its
/// name is removed as soon as it is loaded.
///
/// Compiled for macOS by a test; never run there.
///
/// Threads: any; the object may move between threads.
class ModelLibrary {
 public:
  /// errors: InvalidArgument when the bytes are not a Mach-O library of 64 bits; AccessFailed with
  /// the system's or the loader's message, which names a missing function.
  [[nodiscard]] static Result<ModelLibrary> load(Bytes code, const FindShim& find_shim,
                                                 std::span<const std::string_view> = {},
                                                 const CodeFeatures& = {}) {
    TENON_RETURN_IF_ERROR(check(code, find_shim));
    const char* const directory = ::getenv("TMPDIR");
    std::string path = concat(std::string_view(directory && *directory == '/' ? directory : "/tmp"),
                              "/tenon-aoti-XXXXXX");
    const int descriptor = ::mkstemp(path.data());  // Exclusive, mode 0600.
    if (descriptor < 0) return refuse("create");
    Status written = write_all(descriptor, code) ? ok() : refuse("write");
    ::close(descriptor);
    void* const handle = written.ok() ? ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
    const char* const reason = written.ok() && !handle ? ::dlerror() : nullptr;
    ::unlink(path.c_str());
    if (!written.ok()) return written;
    if (!handle) {
      return error(Error::AccessFailed, "cannot load the model's library: ",
                   std::string_view(reason ? reason : "no reason given"));
    }
    return ModelLibrary(handle);
  }

  /// Checks that the bytes are a library for this system. Missing functions are reported only when
  /// it is loaded, and missing CPU features not at all.
  [[nodiscard]] static Status check(Bytes code, const FindShim&,
                                    std::span<const std::string_view> = {},
                                    const CodeFeatures& = {}) {
    constexpr std::uint32_t magic = 0xfeedfacf;  // MH_MAGIC_64 of mach-o/loader.h.
    std::uint32_t found = 0;
    if (code.size() >= sizeof found) std::memcpy(&found, code.data(), sizeof found);
    if (found == magic) return ok();
    return error(Error::InvalidArgument, "expected a Mach-O library of 64 bits, found ",
                 code.size() >= 4 && std::memcmp(code.data(), "\177ELF", 4) == 0 ? "one for Linux"
                                                                                 : "other bytes");
  }

  ModelLibrary(ModelLibrary&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  ModelLibrary& operator=(ModelLibrary&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~ModelLibrary() {
    if (handle_) ::dlclose(handle_);
  }

  /// The function of that name and type, or null.
  template <class Function>
  [[nodiscard]] Function* function(const char* name) const noexcept {
    return reinterpret_cast<Function*>(::dlsym(handle_, name));
  }

 private:
  explicit ModelLibrary(void* handle) noexcept : handle_(handle) {}

  static Status refuse(std::string_view what) {
    return error(Error::AccessFailed, "cannot ", what, " a private file for the model's library: ",
                 std::generic_category().message(errno));
  }

  void* handle_;
};

}}}  // namespace tenon::TENON_RELEASE::aoti
