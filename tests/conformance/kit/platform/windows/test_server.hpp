// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cwchar>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "kit/platform/crash_text.hpp"
#include "kit/platform/process_command.hpp"
#include "kit/platform/windows/child_process.hpp"
#include "kit/platform/windows/kept_libraries.hpp"
#include "kit/platform/windows/shared_file.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/platform/windows/exception_name.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance::platform {

/// The processes of one test: a process and all that it starts. Any thread.
class ProcessGroup {
 public:
  /// errors: AccessFailed.
  [[nodiscard]] static Result<ProcessGroup> start(std::vector<std::string> arguments,
                                                  const ProcessCommand& command) {
    std::vector<host::platform::Handle> handles;
    ChildProcess::Files files;
    for (const GivenFile& file : command.files) {
      handles.push_back(inheritable(host::platform::handle_of(file.descriptor)));
      files.given.push_back(handles.back().get());
      arguments.push_back(concat(
          file.option, static_cast<int>(reinterpret_cast<std::intptr_t>(handles.back().get()))));
    }
    handles.push_back(inheritable(host::platform::handle_of(command.output)));
    files.output = files.errors = handles.back().get();
    TENON_TRY(auto process, ChildProcess::start(host::path_of(module_path(nullptr)), arguments,
                                                environment_for(command.directory), files));
    return ProcessGroup(std::move(process));
  }
  ProcessGroup(ProcessGroup&&) = default;
  ProcessGroup& operator=(ProcessGroup&&) = delete;
  ~ProcessGroup() = default;

  /// How the first process ended ("exception 0xc0000005 (access violation) ended the process"), or
  /// nothing if it still runs at `deadline`.
  [[nodiscard]] std::optional<ProcessEnd> wait_until(
      std::chrono::steady_clock::time_point deadline) const {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    const auto wait =
        static_cast<::DWORD>(std::clamp<std::int64_t>(left.count(), 0, std::int64_t{INFINITE} - 1));
    if (::WaitForSingleObject(process_.handle(), wait) != WAIT_OBJECT_0) return std::nullopt;
    ::DWORD code = 0;
    ::GetExitCodeProcess(process_.handle(), &code);
    // Failures of the system begin with 0xC, and 0x20474343 is an exception of GCC's C++ library.
    if ((code >> 28) != 0xC && code != EXCEPTION_BREAKPOINT && code != 0x20474343) {
      return ProcessEnd{concat("exit(", std::int64_t{code}, ")")};
    }
    CrashText text;
    (text << "exception ").hex(code)
        << " (" << host::platform::exception_name(code) << ") ended the process";
    return ProcessEnd{std::string(text.view())};
  }

  /// Ends the rest of the group. Returns whether it had a process besides the first.
  bool end() noexcept { return process_.end(); }

 private:
  explicit ProcessGroup(ChildProcess process) noexcept : process_(std::move(process)) {}

  /// The runner's variables, with `directory` for temporary files.
  static std::wstring environment_for(const std::filesystem::path& directory) {
    std::wstring out;
    const std::wstring prefix = host::path_of(variables_of_runner).native();
    wchar_t* const block = ::GetEnvironmentStringsW();
    for (const wchar_t* entry = block; entry && *entry; entry += std::wcslen(entry) + 1) {
      const std::wstring_view variable = entry;
      if (variable.starts_with(prefix) || is_named(variable, L"TMP") ||
          is_named(variable, L"TEMP")) {
        continue;
      }
      out.append(variable).push_back(L'\0');
    }
    ::FreeEnvironmentStringsW(block);
    for (const wchar_t* name : {L"TMP=", L"TEMP="}) {
      out.append(name).append(directory.native()).push_back(L'\0');
    }
    out.push_back(L'\0');
    return out;
  }

  /// Names of variables are equal in either case.
  static bool is_named(std::wstring_view variable, std::wstring_view name) noexcept {
    return variable.size() > name.size() && variable[name.size()] == L'=' &&
           ::CompareStringOrdinal(variable.data(), static_cast<int>(name.size()), name.data(),
                                  static_cast<int>(name.size()), TRUE) == CSTR_EQUAL;
  }

  ChildProcess process_;
};

/// Where the processes of tests come from: this program, started anew for each. One thread at a
/// time.
class TestServer {
 public:
  /// `arguments`: of this program, with its name, as far as they are the same for all tests.
  explicit TestServer(std::vector<std::string> arguments) : arguments_(std::move(arguments)) {}

  /// errors: AccessFailed.
  [[nodiscard]] Result<ProcessGroup> start(const ProcessCommand& command) const {
    std::vector<std::string> arguments = arguments_;
    arguments.push_back(command.option + command.value);
    return ProcessGroup::start(std::move(arguments), command);
  }

 private:
  std::vector<std::string> arguments_;
};

/// Windows cannot fork a process.
[[nodiscard]] inline std::optional<GivenProcess> fork_tests(int /*socket*/) { return std::nullopt; }

}}}  // namespace tenon::TENON_RELEASE::conformance::platform
