// SPDX-License-Identifier: MIT
//
// unelevated PROGRAM ARGUMENT...: runs a program as User Account Control starts programs, without
// the rights of an administrator. Wine starts all programs elevated, and an elevated host ignores
// variables. For Windows.
#include <cstdio>
#include <cwchar>
#include <iterator>
#include <string>

#include "tenon/host/platform/windows/api.hpp"

using tenon::host::platform::failure_text;
using tenon::host::platform::Handle;

int main() {
  ::HANDLE own = nullptr, primary = nullptr;
  ::TOKEN_LINKED_TOKEN linked{};
  ::DWORD size = 0;
  ::OpenProcessToken(::GetCurrentProcess(), TOKEN_ALL_ACCESS, &own);
  if (!::GetTokenInformation(own, TokenLinkedToken, &linked, sizeof linked, &size) ||
      !::DuplicateTokenEx(linked.LinkedToken, TOKEN_ALL_ACCESS, nullptr, SecurityImpersonation,
                          TokenPrimary, &primary)) {
    std::printf("no token without elevation: %s\n", failure_text(::GetLastError()).c_str());
    return 99;
  }
  // The command line behind the name of this program, which has no blanks.
  std::wstring command = ::GetCommandLineW();
  const bool quoted = command.starts_with(L'"');
  command.erase(0, command.find(quoted ? L'"' : L' ', 1) + 1);
  command.erase(0, command.find_first_not_of(L' '));
  ::STARTUPINFOW start{};
  start.cb = sizeof start;
  start.dwFlags = STARTF_USESTDHANDLES;
  start.hStdInput = ::GetStdHandle(STD_INPUT_HANDLE);
  start.hStdOutput = ::GetStdHandle(STD_OUTPUT_HANDLE);
  start.hStdError = ::GetStdHandle(STD_ERROR_HANDLE);
  ::PROCESS_INFORMATION started{};
  if (!::CreateProcessAsUserW(primary, nullptr, command.data(), nullptr, nullptr, TRUE, 0, nullptr,
                              nullptr, &start, &started)) {
    std::printf("cannot be started: %s\n", failure_text(::GetLastError()).c_str());
    return 99;
  }
  const Handle process(started.hProcess), thread(started.hThread);
  ::WaitForSingleObject(process.get(), INFINITE);
  ::DWORD code = 99;
  ::GetExitCodeProcess(process.get(), &code);
  return static_cast<int>(code);
}
