// SPDX-License-Identifier: MIT
#pragma once

#if defined(__linux__)
#include <sys/prctl.h>
#endif
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "kit/platform/posix/spawn_self.hpp"
#include "kit/platform/posix/test_messages.hpp"
#include "kit/platform/process_command.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance::platform {

/// The kernel ends this process when its parent has ended, so that no test is left when the runner
/// is killed.
inline void end_with_parent() noexcept {
#if defined(__linux__)
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
}

/// In a new process: takes the files and the directory of a test, and says that it has started,
/// before the test can end the server. Does not return when the system refuses something.
[[nodiscard]] inline GivenProcess become_test(int socket, const std::array<int, num_given>& files,
                                              const std::string& directory, std::string value) {
  end_with_parent();
  const std::array<int, num_given + 1> numbers = {first_given, first_given + 1, STDOUT_FILENO,
                                                  STDERR_FILENO};
  const std::array<int, num_given + 1> from = {files[0], files[1], files[2], files[2]};
  bool is_ready = ::setpgid(0, 0) == 0 && ::setenv("TMPDIR", directory.c_str(), 1) == 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    is_ready = is_ready && ::dup2(from[i], numbers[i]) == numbers[i];
  }
  // A runner without standard streams has their numbers for its files.
  for (const int file : files) {
    if (file > STDERR_FILENO) ::close(file);
  }
  const Reply reply{ReplyKind::started, ::getpid(), 0};
  // The server says how it ended.
  if (!is_ready || !send_all(socket, &reply, sizeof reply)) ::_exit(1);
  ::close(socket);
  return {std::move(value), {first_given, first_given + 1}};
}

/// Waits until `pid` ends, says so, and ends the rest of its group when the runner asks for it.
/// False when the runner has ended.
[[nodiscard]] inline bool wait_and_end(int socket, pid_t pid) noexcept {
  siginfo_t info{};
  // It stays a zombie, so that no other process can get the id of its group.
  while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  const Reply end{ReplyKind::ended, info.si_code, info.si_status};
  char request = 0;
  const bool is_open = send_all(socket, &end, sizeof end) && receive_all(socket, &request, 1);
  // The zombie is in the group as well; others are seen once it is reaped.
  ::kill(-pid, SIGSTOP);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  const Reply cleared{ReplyKind::cleared, ::kill(-pid, SIGKILL) == 0 ? 1 : 0, 0};
  return is_open && send_all(socket, &cleared, sizeof cleared);
}

/// In the server, which has one thread: forks a process for each request that comes from `socket`.
/// Returns in each of them what the runner gave it, and in the server nothing, once the runner has
/// closed the other end.
[[nodiscard]] inline std::optional<GivenProcess> fork_tests(int socket) {
  ::fcntl(socket, F_SETFD, FD_CLOEXEC);
  end_with_parent();
  for (;;) {
    RequestHead head{};
    std::array<int, num_given> files{};
    if (!receive_head(socket, head, files)) return std::nullopt;
    std::string directory(head.directory_size, '\0');
    std::string value(head.value_size, '\0');
    if (!receive_all(socket, directory.data(), directory.size()) ||
        !receive_all(socket, value.data(), value.size())) {
      return std::nullopt;
    }
    const pid_t pid = ::fork();
    if (pid == 0) return become_test(socket, files, directory, std::move(value));
    const Reply failure{ReplyKind::failed, errno, 0};
    for (const int file : files) ::close(file);
    const bool is_open =
        pid < 0 ? send_all(socket, &failure, sizeof failure) : wait_and_end(socket, pid);
    if (!is_open) return std::nullopt;
  }
}

}}}  // namespace tenon::TENON_RELEASE::conformance::platform
