// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "kit/platform/windows/child_process.hpp"
#include "tenon/host/platform/windows/api.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance::platform {

/// The program `name` of a directory; empty when there is none.
[[nodiscard]] inline std::filesystem::path find_program(const std::filesystem::path& directory,
                                                        const char* name) {
  std::filesystem::path path = directory / name;
  path += ".exe";
  std::error_code failed;
  return std::filesystem::is_regular_file(path, failed) ? path : std::filesystem::path();
}

/// A program whose output is read. Its process ends with this object.
class OutputOfProgram {
 public:
  OutputOfProgram(const std::filesystem::path& program, const std::vector<std::string>& arguments) {
    ::HANDLE from = nullptr;
    ::HANDLE to = nullptr;
    if (!::CreatePipe(&from, &to, nullptr, 0)) return;
    output_ = host::platform::Handle(from);
    const host::platform::Handle input(to);
    const host::platform::Handle given = inheritable(to);
    // Without the runner's variables: LLVM's program would ask servers for debug information.
    auto started = ChildProcess::start(program, arguments, std::wstring(2, L'\0'),
                                       {given.get(), given.get(), {}}, std::size_t{2} << 30);
    if (started.ok()) process_.emplace(*std::move(started));
  }
  OutputOfProgram(const OutputOfProgram&) = delete;
  OutputOfProgram& operator=(const OutputOfProgram&) = delete;

  /// The output up to its end; empty when that does not come in time, or it has more than `most`
  /// bytes.
  [[nodiscard]] std::string read(std::chrono::milliseconds time_limit, std::size_t most) {
    using Clock = std::chrono::steady_clock;
    const auto deadline = Clock::now() + time_limit;
    std::string out;
    std::array<char, 4096> part;
    while (process_ && out.size() <= most && Clock::now() < deadline) {
      ::DWORD ready = 0;
      if (!::PeekNamedPipe(output_.get(), nullptr, 0, nullptr, &ready, nullptr)) {
        return ::GetLastError() == ERROR_BROKEN_PIPE ? out : std::string();
      }
      ::DWORD done = 0;
      if (ready == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      } else if (::ReadFile(output_.get(), part.data(), static_cast<::DWORD>(part.size()), &done,
                            nullptr)) {
        out.append(part.data(), done);
      }
    }
    return {};
  }

 private:
  host::platform::Handle output_;
  std::optional<ChildProcess> process_;
};

}}}  // namespace tenon::TENON_RELEASE::conformance::platform
