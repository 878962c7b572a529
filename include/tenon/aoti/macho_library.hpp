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

#include "tenon/aoti/shim.hpp"
#include "tenon/core/bytes.hpp"
#include "tenon/core/result.hpp"

namespace tenon::aoti {

/// The library of a compiled model on macOS, loaded from bytes.
///
/// A library is signed there, so its symbols cannot be edited as on Linux. AOTInductor links models
/// with `-undefined dynamic_lookup`: dyld looks for their functions in all images of the process,
/// and the backend must have made its own visible before (`FindShim` serves to check, not to bind).
/// dyld takes files alone, so the bytes go to one that only this user may read, with a name that is
/// gone as soon as it is loaded.
///
/// Compiled for macOS by a test; never run there.
///
/// Threads: any; the object may move between threads.
class ModelLibrary {
 public:
  /// errors: InvalidArgument when the bytes are no Mach-O library of 64 bits; AccessFailed with the
  /// system's or the loader's own words, which name a function that is missing.
  [[nodiscard]] static Result<ModelLibrary> load(Bytes code, const FindShim& find_shim,
                                                 std::span<const std::string_view> = {}) {
    TENON_CHECK(check(code, find_shim));
    const char* const folder = ::getenv("TMPDIR");
    std::string path =
        concat(std::string_view(folder && *folder == '/' ? folder : "/tmp"), "/tenon-aoti-XXXXXX");
    const int descriptor = ::mkstemp(path.data());  // Exclusive, mode 0600.
    if (descriptor < 0) return refuse("create");
    Status written = write_all(descriptor, code);
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

  /// Says whether the bytes are a library for this system. Which functions it needs, dyld tells
  /// when it is loaded.
  [[nodiscard]] static Status check(Bytes code, const FindShim&,
                                    std::span<const std::string_view> = {}) {
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

  static Status write_all(int descriptor, Bytes code) {
    while (!code.empty()) {
      const ssize_t count = ::write(descriptor, code.data(), code.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return refuse("write");
      code = code.subspan(static_cast<std::size_t>(count));
    }
    return ok();
  }

  void* handle_;
};

}  // namespace tenon::aoti
