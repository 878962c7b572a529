// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "tenon/host/platform/file_descriptor.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance::platform {

/// The program `name` of a directory; empty when there is none.
[[nodiscard]] inline std::filesystem::path find_program(const std::filesystem::path& directory,
                                                        const char* name) {
  std::filesystem::path path = directory / name;
  return ::access(path.c_str(), X_OK) == 0 ? path : std::filesystem::path();
}

/// A program whose output is read. Its process ends with this object.
class OutputOfProgram {
 public:
  OutputOfProgram(const std::filesystem::path& program, std::vector<std::string> arguments) {
    std::array<int, 2> ends{-1, -1};
#if defined(__linux__)
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
#else
    if (::pipe(ends.data()) != 0) return;
    for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
#endif
    output_ = host::FileDescriptor(ends[0]);
    const host::FileDescriptor input(ends[1]);
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&files, input.get(), STDOUT_FILENO);
    ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    std::vector<char*> words;
    for (std::string& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    // Without the runner's variables: LLVM's program would ask servers for debug information.
    std::array<char*, 1> variables{nullptr};
    if (::posix_spawn(&pid_, program.c_str(), &files, &attributes, words.data(),
                      variables.data()) != 0) {
      pid_ = 0;
    }
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
#if defined(__linux__)
    const rlimit memory{rlim_t{2} << 30, rlim_t{2} << 30};
    if (pid_ != 0) ::prlimit(pid_, RLIMIT_AS, &memory, nullptr);
#endif
  }
  OutputOfProgram(const OutputOfProgram&) = delete;
  OutputOfProgram& operator=(const OutputOfProgram&) = delete;
  ~OutputOfProgram() {
    if (pid_ == 0) return;
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
  }

  /// The output up to its end; empty when that does not come in time, or it has more than `most`
  /// bytes.
  [[nodiscard]] std::string read(std::chrono::milliseconds time_limit, std::size_t most) {
    using Clock = std::chrono::steady_clock;
    const auto deadline = Clock::now() + time_limit;
    std::string out;
    std::array<char, 4096> part;
    while (pid_ != 0 && out.size() <= most) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
      if (left.count() <= 0) break;
      pollfd ready{output_.get(), POLLIN, 0};
      if (::poll(&ready, 1, static_cast<int>(left.count())) <= 0) continue;
      const ::ssize_t size = ::read(output_.get(), part.data(), part.size());
      if (size == 0) return out;
      if (size > 0) out.append(part.data(), static_cast<std::size_t>(size));
      if (size < 0 && errno != EINTR) break;
    }
    return {};
  }

 private:
  host::FileDescriptor output_{-1};
  pid_t pid_ = 0;
};

}}}  // namespace tenon::TENON_RELEASE::conformance::platform
