// SPDX-License-Identifier: MIT
#pragma once

#include <io.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <cwchar>
#include <string>
#include <utility>
#include <vector>

#include "tenon/core/concat.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/platform/windows/api.hpp"

/// State that all parts of a process share, and that a plugin must not change.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance::platform {

/// The handlers of exceptions and of signals of the C library, and which failures the system shows
/// to a person. Reading the handlers sets them for a moment.
class SignalState {
 public:
  void take() {
    filter_ = ::SetUnhandledExceptionFilter(nullptr);
    ::SetUnhandledExceptionFilter(filter_);
    error_mode_ = ::GetErrorMode();
    for (std::size_t i = 0; i < signals.size(); ++i) {
      handlers_[i] = std::signal(signals[i].first, SIG_DFL);
      std::signal(signals[i].first, handlers_[i]);
    }
  }
  void restore() const {
    ::SetUnhandledExceptionFilter(filter_);
    ::SetErrorMode(error_mode_);
    for (std::size_t i = 0; i < signals.size(); ++i) std::signal(signals[i].first, handlers_[i]);
  }
  /// A text for each difference of `later`.
  [[nodiscard]] std::vector<std::string> differences(const SignalState& later) const {
    std::vector<std::string> out;
    if (later.filter_ != filter_) out.emplace_back("unhandled exceptions have another filter");
    if (later.error_mode_ != error_mode_) {
      out.push_back(concat("the error mode was ", error_mode_, " and is ", later.error_mode_));
    }
    for (std::size_t i = 0; i < signals.size(); ++i) {
      if (later.handlers_[i] == handlers_[i]) continue;
      out.push_back(
          concat("signal ", signals[i].first, " (", signals[i].second, ") has another handler"));
    }
    return out;
  }

 private:
  using Handler = void (*)(int);
  static constexpr std::array<std::pair<int, const char*>, 6> signals = {{{SIGABRT, "SIGABRT"},
                                                                          {SIGFPE, "SIGFPE"},
                                                                          {SIGILL, "SIGILL"},
                                                                          {SIGINT, "SIGINT"},
                                                                          {SIGSEGV, "SIGSEGV"},
                                                                          {SIGTERM, "SIGTERM"}}};

  ::LPTOP_LEVEL_EXCEPTION_FILTER filter_ = nullptr;
  ::UINT error_mode_ = 0;
  std::array<Handler, signals.size()> handlers_{};
};

/// The mask for new files. Reading it sets it for a moment.
[[nodiscard]] inline unsigned new_file_mask() noexcept {
  const int mask = ::_umask(0);
  ::_umask(mask);
  return static_cast<unsigned>(mask);
}
inline void set_new_file_mask(unsigned mask) noexcept { ::_umask(static_cast<int>(mask)); }

inline void read_directory(std::string& to) {
  std::wstring path(::GetCurrentDirectoryW(0, nullptr), L'\0');
  path.resize(::GetCurrentDirectoryW(static_cast<::DWORD>(path.size()), path.data()));
  to = host::platform::to_utf8(path.data(), static_cast<int>(path.size()));
}
inline void set_directory(const std::string& directory) noexcept {
  ::SetCurrentDirectoryW(host::path_of(directory).c_str());
}

/// Sets an environment variable of this process. No other thread may run.
inline void set_variable(const std::string& name, const std::string& value) noexcept {
  ::_putenv_s(name.c_str(), value.c_str());
}

/// The environment variables, each in a line.
inline void read_environment(std::string& to) {
  to.clear();
  wchar_t* const block = ::GetEnvironmentStringsW();
  for (const wchar_t* entry = block; entry && *entry; entry += std::wcslen(entry) + 1) {
    // "=C:=C:\folder" is the current directory of a drive.
    if (*entry == L'=') continue;
    to += host::platform::to_utf8(entry, static_cast<int>(std::wcslen(entry)));
    to += '\n';
  }
  ::FreeEnvironmentStringsW(block);
}

}}}  // namespace tenon::TENON_RELEASE::conformance::platform
