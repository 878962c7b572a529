// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/platform/windows/api.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance::platform {

/// The words as one command line, which CommandLineToArgvW and the C library take apart again:
/// quotes are escaped by a backslash, and so are backslashes in front of a quote.
[[nodiscard]] inline std::wstring command_line(const std::vector<std::string>& words) {
  std::wstring out;
  for (const std::string& word : words) {
    out += out.empty() ? L"\"" : L" \"";
    const std::wstring wide = host::path_of(word).native();
    std::size_t backslashes = 0;
    for (const wchar_t letter : wide) {
      if (letter == L'"') out.append(backslashes + 1, L'\\');
      backslashes = letter == L'\\' ? backslashes + 1 : 0;
      out += letter;
    }
    out.append(backslashes, L'\\');
    out += L'"';
  }
  return out;
}

/// A handle of the same object that a child may inherit; the child has the same number for it.
[[nodiscard]] inline host::platform::Handle inheritable(::HANDLE handle) noexcept {
  ::HANDLE copy = nullptr;
  const ::HANDLE process = ::GetCurrentProcess();
  ::DuplicateHandle(process, handle, process, &copy, 0, TRUE, DUPLICATE_SAME_ACCESS);
  return host::platform::Handle(copy);
}

/// A process and all that it starts, in a job of their own, which ends them with this object.
class ChildProcess {
 public:
  /// Handles that the process inherits: `output` as standard output, `errors` as standard error,
  /// and `given`; all are inheritable. Standard input is empty.
  struct Files {
    ::HANDLE output = nullptr;
    ::HANDLE errors = nullptr;
    std::vector<::HANDLE> given;
  };

  /// `environment`: entries that each end with a NUL, and one more NUL. Each process may take
  /// `memory_limit` bytes; 0: any number.
  /// errors: AccessFailed.
  [[nodiscard]] static Result<ChildProcess> start(const std::filesystem::path& program,
                                                  const std::vector<std::string>& words,
                                                  std::wstring environment, const Files& files,
                                                  std::size_t memory_limit = 0) {
    host::platform::Handle job(::CreateJobObjectW(nullptr, nullptr));
    ::JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits{};
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE |
                                              JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION |
                                              (memory_limit ? JOB_OBJECT_LIMIT_PROCESS_MEMORY : 0U);
    limits.ProcessMemoryLimit = memory_limit;
    if (!job.valid() || !::SetInformationJobObject(job.get(), JobObjectExtendedLimitInformation,
                                                   &limits, sizeof limits)) {
      return failed();
    }
    const host::platform::Handle nothing(::CreateFileW(L"NUL", GENERIC_READ,
                                                       FILE_SHARE_READ | FILE_SHARE_WRITE, nullptr,
                                                       OPEN_EXISTING, 0, nullptr));
    const host::platform::Handle input = inheritable(nothing.get());
    // Only these, whatever other threads of this process start meanwhile; each once.
    std::vector<::HANDLE> inherited = files.given;
    inherited.insert(inherited.end(), {input.get(), files.output, files.errors});
    std::ranges::sort(inherited);
    // Clang 14 does not compile the range that std::ranges::unique returns in GCC's library.
    inherited.erase(std::unique(inherited.begin(), inherited.end()), inherited.end());
    ::SIZE_T size = 0;
    ::InitializeProcThreadAttributeList(nullptr, 1, 0, &size);
    std::vector<std::byte> memory(size);
    const auto attributes = reinterpret_cast<::LPPROC_THREAD_ATTRIBUTE_LIST>(memory.data());
    if (!::InitializeProcThreadAttributeList(attributes, 1, 0, &size)) return failed();
    ::UpdateProcThreadAttribute(attributes, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, inherited.data(),
                                inherited.size() * sizeof(::HANDLE), nullptr, nullptr);
    ::STARTUPINFOEXW how{};
    how.StartupInfo.cb = sizeof how;
    how.StartupInfo.dwFlags = STARTF_USESTDHANDLES;
    how.StartupInfo.hStdInput = input.get();
    how.StartupInfo.hStdOutput = files.output;
    how.StartupInfo.hStdError = files.errors;
    how.lpAttributeList = attributes;
    std::wstring line = command_line(words);
    ::PROCESS_INFORMATION started{};
    // Suspended until it is in the job, so that what it starts is in it too.
    const auto create = [&] {
      return ::CreateProcessW(program.c_str(), line.data(), nullptr, nullptr, TRUE,
                              CREATE_SUSPENDED | CREATE_UNICODE_ENVIRONMENT | DETACHED_PROCESS |
                                  EXTENDED_STARTUPINFO_PRESENT,
                              environment.data(), nullptr, &how.StartupInfo, &started);
    };
    ::BOOL good = create();
    // Wine fails so, rarely and on a busy machine, where a new process ended before its first code.
    for (int more = 2; !good && more != 0 && ::GetLastError() == ERROR_INTERNAL_ERROR; --more) {
      good = create();
    }
    Status outcome = good ? ok() : failed();
    ::DeleteProcThreadAttributeList(attributes);
    if (!good) return outcome;
    host::platform::Handle process(started.hProcess);
    const host::platform::Handle thread(started.hThread);
    if (!::AssignProcessToJobObject(job.get(), process.get())) {
      outcome = failed();
      ::TerminateProcess(process.get(), 1);
      return outcome;
    }
    ::ResumeThread(thread.get());
    return ChildProcess(std::move(job), std::move(process));
  }

  [[nodiscard]] ::HANDLE handle() const noexcept { return process_.get(); }

  /// Ends all processes of the job. Returns whether one besides the first still ran.
  bool end() noexcept {
    ::JOBOBJECT_BASIC_ACCOUNTING_INFORMATION facts{};
    ::QueryInformationJobObject(job_.get(), JobObjectBasicAccountingInformation, &facts,
                                sizeof facts, nullptr);
    const ::DWORD first = ::WaitForSingleObject(process_.get(), 0) == WAIT_OBJECT_0 ? 0 : 1;
    ::TerminateJobObject(job_.get(), 1);
    ::WaitForSingleObject(process_.get(), INFINITE);
    return facts.ActiveProcesses > first;
  }

 private:
  static Status failed() {
    return error(Error::AccessFailed,
                 "no process for a test: ", host::platform::failure_text(::GetLastError()));
  }

  ChildProcess(host::platform::Handle job, host::platform::Handle process) noexcept
      : job_(std::move(job)), process_(std::move(process)) {}

  host::platform::Handle job_;
  host::platform::Handle process_;
};

}}}  // namespace tenon::TENON_RELEASE::conformance::platform
