// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <io.h>

#include <cstdio>
#include <string>
#include <vector>

#include "tenon/host/platform/windows/api.hpp"

// After <windows.h>.
#include <shellapi.h>

namespace tenon::tool {

/// The first steps of a program's `main` on Windows: its arguments become UTF-8 (`main` gets them
/// in the code page of the machine), its output is UTF-8 with line feeds alone, and a crash or a
/// missing file shows no box that waits for a person.
class WindowsMain {
 public:
  WindowsMain() {
    ::SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX);
    ::SetConsoleOutputCP(CP_UTF8);
    ::_setmode(::_fileno(stdout), _O_BINARY);
    ::_setmode(::_fileno(stderr), _O_BINARY);
    int count = 0;
    wchar_t** const words = ::CommandLineToArgvW(::GetCommandLineW(), &count);
    for (int i = 0; words && i < count; ++i) {
      texts_.push_back(host::platform::to_utf8(
          words[i], static_cast<int>(std::char_traits<wchar_t>::length(words[i]))));
    }
    ::LocalFree(words);
    for (const std::string& text : texts_) argv_.push_back(text.c_str());
    argv_.push_back(nullptr);
  }
  WindowsMain(const WindowsMain&) = delete;
  WindowsMain& operator=(const WindowsMain&) = delete;

  [[nodiscard]] int argc() const noexcept { return static_cast<int>(texts_.size()); }
  [[nodiscard]] const char* const* argv() const noexcept { return argv_.data(); }

 private:
  std::vector<std::string> texts_;
  std::vector<const char*> argv_;
};

}  // namespace tenon::tool
