// SPDX-License-Identifier: MIT
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "tenon/conformance/platform/posix/spawn_self.hpp"
#include "tenon/conformance/platform/posix/test_messages.hpp"
#include "tenon/conformance/platform/process_command.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/platform/file_descriptor.hpp"

namespace tenon::conformance::platform {

/// The processes of one test: a process and all that it starts. One thread at a time.
class ProcessGroup {
 public:
  ProcessGroup(ProcessGroup&& other) noexcept
      : socket_(other.socket_), pid_(std::exchange(other.pid_, 0)), ended_(other.ended_) {}
  ProcessGroup& operator=(ProcessGroup&&) = delete;
  ~ProcessGroup() {
    if (pid_ != 0) end();
  }

  /// How the first process ended, or nothing if it still runs at `deadline`.
  [[nodiscard]] std::optional<ProcessEnd> wait_until(
      std::chrono::steady_clock::time_point deadline) {
    for (;;) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
      ::pollfd wanted{socket_, POLLIN, 0};
      const auto most = std::clamp<std::int64_t>(left.count(), 0, 1'000'000);
      const int ready = ::poll(&wanted, 1, static_cast<int>(most));
      if (ready > 0) break;
      if (ready == 0 && left.count() <= 0) return std::nullopt;
    }
    EndReply reply{};
    ended_ = true;
    if (!receive_all(socket_, &reply, sizeof reply)) {
      return ProcessEnd{"the kit's process that started the test was ended", true};
    }
    return ProcessEnd{reply.code == CLD_EXITED
                          ? concat("exit(", reply.status, ")")
                          : concat("signal ", reply.status, " ended the process")};
  }

  /// Ends the rest of the group. Returns whether it had a process besides the first.
  bool end() noexcept {
    const pid_t pid = std::exchange(pid_, 0);
    EndReply reply{};
    const bool is_running = !ended_;
    if (is_running) {
      ::kill(-pid, SIGSTOP);
      ::kill(pid, SIGKILL);
    }
    const char request = 1;
    char others = 0;
    const bool was_answered = (!is_running || receive_all(socket_, &reply, sizeof reply)) &&
                              send_all(socket_, &request, 1) && receive_all(socket_, &others, 1);
    // Without its server the group is not a zombie's, and may be all that is left of it.
    if (!was_answered) ::kill(-pid, SIGKILL);
    return others != 0;
  }

 private:
  friend class TestServer;
  ProcessGroup(int socket, pid_t pid) noexcept : socket_(socket), pid_(pid) {}

  int socket_;  ///< Of the server.
  pid_t pid_;
  bool ended_ = false;
};

/// A process of this program that has read all that tests need, and forks itself for each test: a
/// new process has nothing to start, link or read. Only those load a plugin. One test and one
/// thread at a time; it starts with the first test, and again when a test has ended it.
class TestServer {
 public:
  /// `arguments`: of this program, with its name, as far as they are the same for all tests.
  explicit TestServer(std::vector<std::string> arguments) : arguments_(std::move(arguments)) {}
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;
  ~TestServer() { stop(); }

  /// errors: AccessFailed. The group must be destroyed before the next one starts.
  [[nodiscard]] Result<ProcessGroup> start(const ProcessCommand& command) {
    StartReply reply{};
    // A test can have ended the server; a new one has not seen that test.
    for (int attempt = 0; attempt < 2; ++attempt) {
      if (!socket_.valid()) TENON_RETURN_IF_ERROR(start_server());
      if (send(command) && receive_all(socket_.get(), &reply, sizeof reply)) {
        if (reply.pid > 0) return ProcessGroup(socket_.get(), reply.pid);
        return error(Error::AccessFailed,
                     "no process for a test: ", std::generic_category().message(-reply.pid));
      }
      stop();
    }
    return error(Error::AccessFailed, "no process for a test: the process that starts them ended");
  }

 private:
  [[nodiscard]] Status start_server() {
    std::array<int, 2> ends{-1, -1};
#if defined(__linux__)
    const int failed = ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data());
#else
    const int failed = ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data());
#endif
    if (failed != 0) {
      return error(Error::AccessFailed, "no process for a test: no pair of sockets: ",
                   std::generic_category().message(errno));
    }
    socket_ = host::FileDescriptor(ends[0]);
    const host::FileDescriptor other(ends[1]);
#if !defined(__linux__)
    const int yes = 1;
    for (const int end : ends) {
      ::fcntl(end, F_SETFD, FD_CLOEXEC);
      ::setsockopt(end, SOL_SOCKET, SO_NOSIGPIPE, &yes, sizeof yes);
    }
#endif
    std::vector<std::string> arguments = arguments_;
    arguments.push_back(concat("--server=", first_given));
    auto started = spawn_self(std::move(arguments), {{other.get(), first_given}});
    if (!started.ok()) {
      socket_ = {};
      return std::move(started).status();
    }
    pid_ = *started;
    return ok();
  }

  [[nodiscard]] bool send(const ProcessCommand& command) const noexcept {
    const std::string& folder = command.folder.native();
    const RequestHead head{static_cast<std::uint32_t>(folder.size()),
                           static_cast<std::uint32_t>(command.value.size())};
    const std::array<int, num_given> files = {command.files.at(0).descriptor,
                                              command.files.at(1).descriptor, command.output};
    return send_head(socket_.get(), head, files) &&
           send_all(socket_.get(), folder.data(), folder.size()) &&
           send_all(socket_.get(), command.value.data(), command.value.size());
  }

  void stop() noexcept {
    socket_ = {};
    const pid_t pid = std::exchange(pid_, 0);
    int status = 0;
    while (pid != 0 && ::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
  }

  std::vector<std::string> arguments_;
  host::FileDescriptor socket_;
  pid_t pid_ = 0;
};

}  // namespace tenon::conformance::platform
