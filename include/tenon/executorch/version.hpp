// SPDX-License-Identifier: MIT
#pragma once

#include <executorch/runtime/platform/platform.h>

#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tenon/core/result.hpp"
#include "tenon/executorch/loaded_file.hpp"

#if !defined(TENON_EXECUTORCH_MAJOR) || !defined(TENON_EXECUTORCH_MINOR)
#error \
    "define TENON_EXECUTORCH_MAJOR and TENON_EXECUTORCH_MINOR as the version of the ExecuTorch headers that are included, for 1.5.1 as 1 and 5"
#endif

/// Bridges between Tenon and ExecuTorch. Not called `executorch`, which would be ambiguous after
/// `using namespace tenon`.
namespace tenon { inline namespace TENON_RELEASE { namespace bridge {

namespace et = ::executorch::runtime;

/// A version of ExecuTorch.
struct Version {
  int major = 0;
  int minor = 0;
  std::string text;  ///< As it was found: "1.5.1+cpu". "1.5" for the one compiled for.
};

/// The version that this code was compiled for. ExecuTorch's classes are its ABI, so one build
/// serves one minor version.
[[nodiscard]] inline Version compiled_version() {
  constexpr int major = TENON_EXECUTORCH_MAJOR, minor = TENON_EXECUTORCH_MINOR;
  return {major, minor, concat(major, ".", minor)};
}

/// Reads "1.5.1+cpu"; nothing when it does not begin with two numbers.
[[nodiscard]] inline std::optional<Version> parse_version(std::string_view text) {
  Version out{0, 0, std::string(text)};
  const char* const end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, out.major);
  if (major.ec != std::errc() || major.ptr == end || *major.ptr != '.') return std::nullopt;
  const auto minor = std::from_chars(major.ptr + 1, end, out.minor);
  if (minor.ec != std::errc() || out.major < 0 || out.minor < 0) return std::nullopt;
  return out;
}

/// The ExecuTorch in this process.
struct LoadedRuntime {
  std::string path;  ///< The file that its core is in: libexecutorch.so, or a program.
  std::optional<Version> version;  ///< Nothing when no file next to it has one.
};

namespace detail {

/// The text between `before` and the next quote in the first 64 KiB of a file.
inline std::optional<std::string> quoted_in_file(const std::string& path, std::string_view before) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"),
                                                             &std::fclose);
  if (!file) return std::nullopt;
  std::string text(std::size_t{64} << 10, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  const std::size_t found = text.find(before);
  if (found == std::string::npos) return std::nullopt;
  const std::size_t begin = found + before.size();
  const std::size_t end = text.find('"', begin);
  if (end == std::string::npos) return std::nullopt;
  return text.substr(begin, end - begin);
}

/// The version of the ExecuTorch whose library is in `directory`, read from its package: the wheel
/// and CMake's installation have a file for find_package next to the library, the wheel also has
/// version.py above it.
inline std::optional<Version> version_beside(const std::string& directory) {
  for (const char* name : {"executorch", "ExecuTorch"}) {
    const auto text = quoted_in_file(
        concat(directory, "cmake/", std::string_view(name), "/executorch-config-version.cmake"),
        "set(PACKAGE_VERSION \"");
    if (text) return parse_version(*text);
  }
  const auto text = quoted_in_file(directory + "../version.py", "__version__ = \"");
  return text ? parse_version(*text) : std::nullopt;
}

}  // namespace detail

/// Finds the ExecuTorch that this code is linked with. Its version is unknown when it is linked
/// into the application statically; both then come from one build. Any thread.
[[nodiscard]] inline LoadedRuntime loaded_runtime() {
  // Data and no function: the address of a function may be the address of a stub in the program.
  LoadedRuntime out{detail::file_of(et::get_pal_impl()), std::nullopt};
  const std::size_t slash = out.path.rfind('/');
  if (slash != std::string::npos) {
    out.version = detail::version_beside(out.path.substr(0, slash + 1));
  }
  return out;
}

/// Ok when `found` has the minor version that this was compiled for, or an unknown one.
///
/// errors: NotSupported; the text names both versions and the file.
[[nodiscard]] inline Status check_version(const LoadedRuntime& found) {
  const Version mine = compiled_version();
  if (!found.version) return ok();
  if (found.version->major == mine.major && found.version->minor == mine.minor) return ok();
  return error(Error::NotSupported, "this bridge was compiled for ExecuTorch ", mine.text, ", but ",
               found.path, " is ExecuTorch ", found.version->text,
               ": use a bridge that was compiled for ", found.version->major, ".",
               found.version->minor, ", as there is one for each minor version");
}

}}}  // namespace tenon::TENON_RELEASE::bridge
