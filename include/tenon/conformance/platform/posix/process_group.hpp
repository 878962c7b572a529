// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "tenon/conformance/platform/process_command.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"

extern "C" char** environ;

namespace tenon::conformance::platform {

/// The processes of one test: a process and all that it starts. Any thread.
class ProcessGroup {
 public:
  /// errors: AccessFailed.
  [[nodiscard]] static Result<ProcessGroup> start(ProcessCommand command) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&files, command.output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&files, command.output, STDERR_FILENO);
    int number = first_given;
    for (const GivenFile& file : command.files) {
      ::posix_spawn_file_actions_adddup2(&files, file.descriptor, number);
      command.arguments.push_back(concat(file.option, number++));
    }
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    const auto pointers = [](std::vector<std::string>& texts) {
      std::vector<char*> out;
      for (std::string& text : texts) out.push_back(text.data());
      out.push_back(nullptr);
      return out;
    };
    std::vector<std::string> variables = {concat("TMPDIR=", command.folder.native())};
    for (char** entry = environ; *entry; ++entry) {
      const std::string_view variable = *entry;
      if (variable.starts_with("TMPDIR=") || variable.starts_with(variables_of_runner)) continue;
      variables.emplace_back(variable);
    }
    pid_t pid = 0;
    const int failed =
        ::posix_spawn(&pid, "/proc/self/exe", &files, &attributes,
                      pointers(command.arguments).data(), pointers(variables).data());
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
    if (failed != 0) {
      return error(Error::AccessFailed,
                   "no process for a test: ", std::generic_category().message(failed));
    }
    return ProcessGroup(pid);
  }
  ProcessGroup(ProcessGroup&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}
  ProcessGroup& operator=(ProcessGroup&&) = delete;
  ~ProcessGroup() {
    if (pid_ != 0) end();
  }

  /// How the first process ended, in words ("exit(3)", "signal 9 ended the process"), or nothing
  /// if it still runs at `deadline`. It stays a zombie, so that no other process can get the id of
  /// its group.
  [[nodiscard]] std::optional<std::string> wait_until(
      std::chrono::steady_clock::time_point deadline) const {
    std::chrono::milliseconds pause(1);
    for (;;) {
      siginfo_t info{};
      if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
          info.si_pid == pid_) {
        return info.si_code == CLD_EXITED ? concat("exit(", info.si_status, ")")
                                          : concat("signal ", info.si_status, " ended the process");
      }
      if (std::chrono::steady_clock::now() >= deadline) return std::nullopt;
      std::this_thread::sleep_for(pause);
      pause = std::min(pause + std::chrono::milliseconds(1), std::chrono::milliseconds(20));
    }
  }

  /// Ends the rest of the group. Returns whether it had a process besides the first.
  bool end() {
    // The zombie is in the group as well; others are seen once it is reaped.
    ::kill(-pid_, SIGSTOP);
    ::kill(pid_, SIGKILL);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    const bool others = ::kill(-std::exchange(pid_, 0), SIGKILL) == 0;
    return others;
  }

 private:
  // Above the descriptors that the runner has open, and those that a plugin will open.
  static constexpr int first_given = 100;

  explicit ProcessGroup(pid_t pid) noexcept : pid_(pid) {}
  pid_t pid_;
};

/// A new directory that only this user can look into.
/// errors: AccessFailed.
[[nodiscard]] inline Result<std::filesystem::path> make_temporary_folder() {
  std::error_code failed;
  std::string name = (std::filesystem::temp_directory_path(failed) / "tenon-XXXXXX").native();
  if (!failed && ::mkdtemp(name.data())) return std::filesystem::path(std::move(name));
  return error(Error::AccessFailed, "no directory for files of tests: ", name);
}

}  // namespace tenon::conformance::platform
