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

#include "kit/platform/posix/spawn_self.hpp"
#include "kit/platform/posix/test_messages.hpp"
#include "kit/platform/process_command.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/platform/file_descriptor.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance::platform {

class TestServer;

/// The processes of one test: a process and all that it starts. The thread of its server.
class ProcessGroup {
 public:
  ProcessGroup(ProcessGroup&& other) noexcept
      : server_(other.server_), pid_(std::exchange(other.pid_, 0)), ended_(other.ended_) {}
  ProcessGroup& operator=(ProcessGroup&&) = delete;
  ~ProcessGroup() {
    if (pid_ != 0) end();
  }

  /// How the first process ended, or nothing if it still runs at `deadline`.
  [[nodiscard]] std::optional<ProcessEnd> wait_until(
      std::chrono::steady_clock::time_point deadline);

  /// Ends the rest of the group. Returns whether it had a process besides the first.
  bool end() noexcept;

 private:
  friend class TestServer;
  ProcessGroup(TestServer& server, pid_t pid) noexcept : server_(&server), pid_(pid) {}

  TestServer* server_;
  pid_t pid_;
  bool ended_ = false;
};

/// A process of this program that has read all that tests need, and forks itself for each test: a
/// new process has nothing to start, link or read. Only those load a plugin. One test and one
/// thread at a time, which outlives it; it starts with the first test, and again when a test has
/// ended it.
class TestServer {
 public:
  /// `arguments`: of this program, with its name, as far as they are the same for all tests.
  explicit TestServer(std::vector<std::string> arguments) : arguments_(std::move(arguments)) {}
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;
  ~TestServer() { stop(); }

  /// errors: AccessFailed. The group must be destroyed before the next one starts.
  [[nodiscard]] Result<ProcessGroup> start(const ProcessCommand& command) {
    // A test can have ended the server; a new one has not seen that test.
    for (int attempt = 0; attempt < 2; ++attempt) {
      if (!socket_.valid()) TENON_RETURN_IF_ERROR(start_server());
      if (send(command)) {
        const auto reply = receive(Clock::now() + time_to_start);
        if (reply && reply->kind == ReplyKind::started) return ProcessGroup(*this, reply->first);
        if (reply && reply->kind == ReplyKind::failed) {
          return error(Error::AccessFailed,
                       "no process for a test: ", std::generic_category().message(reply->first));
        }
      }
      stop();
    }
    return error(Error::AccessFailed, "no process for a test: the process that starts them ended");
  }

 private:
  friend class ProcessGroup;
  using Clock = std::chrono::steady_clock;
  // It reads the cases first, which takes longer the more there are.
  static constexpr std::chrono::seconds time_to_start{600};
  // It has to end processes, on a machine that may be busy.
  static constexpr std::chrono::seconds time_to_end{60};

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
    host::FileDescriptor socket(ends[0]);
    const host::FileDescriptor other(ends[1]);
#if !defined(__linux__)
    const int yes = 1;
    for (const int end : ends) {
      ::fcntl(end, F_SETFD, FD_CLOEXEC);
      ::setsockopt(end, SOL_SOCKET, SO_NOSIGPIPE, &yes, sizeof yes);
    }
#endif
    std::vector<std::string> arguments = arguments_;
    arguments.push_back(concat("--server=", number_of_socket));
    TENON_TRY(pid_, spawn_self(std::move(arguments), {{other.get(), number_of_socket}}));
    socket_ = std::move(socket);
    return ok();
  }

  [[nodiscard]] bool send(const ProcessCommand& command) const noexcept {
    const std::string& directory = command.directory.native();
    const RequestHead head{static_cast<std::uint32_t>(directory.size()),
                           static_cast<std::uint32_t>(command.value.size())};
    const std::array<int, num_given> files = {command.files.at(0).descriptor,
                                              command.files.at(1).descriptor, command.output};
    return send_head(socket_.get(), head, files) &&
           send_all(socket_.get(), directory.data(), directory.size()) &&
           send_all(socket_.get(), command.value.data(), command.value.size());
  }

  /// The next reply; nothing at `deadline`, or when the server has ended or was stopped: `lost_`
  /// then has the reason.
  [[nodiscard]] std::optional<Reply> receive(Clock::time_point deadline) {
    for (;;) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
      ::pollfd wanted{socket_.get(), POLLIN, 0};
      // A server that was stopped closes nothing, so it is asked now and then.
      const auto most = std::clamp<std::int64_t>(left.count(), 0, 200);
      const int ready = ::poll(&wanted, 1, static_cast<int>(most));
      Reply reply{};
      if (ready > 0) {
        if (receive_all(socket_.get(), &reply, sizeof reply)) return reply;
        lost_ = "was ended";
        return std::nullopt;
      }
      int status = 0;
      if (::waitpid(pid_, &status, WNOHANG | WUNTRACED) == pid_) {
        lost_ = WIFSTOPPED(status) ? "was stopped" : "was ended";
        if (!WIFSTOPPED(status)) pid_ = 0;
        return std::nullopt;
      }
      if (left.count() <= 0) return std::nullopt;
    }
  }

  /// Ends the server, which has nothing to lose, also where a test stopped it.
  void stop() noexcept {
    socket_ = {};
    lost_ = nullptr;
    const pid_t pid = std::exchange(pid_, 0);
    if (pid != 0) ::kill(pid, SIGKILL);
    int status = 0;
    while (pid != 0 && ::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
  }

  std::vector<std::string> arguments_;
  host::FileDescriptor socket_;
  pid_t pid_ = 0;
  const char* lost_ = nullptr;
};

inline std::optional<ProcessEnd> ProcessGroup::wait_until(
    std::chrono::steady_clock::time_point deadline) {
  const auto reply = server_->receive(deadline);
  if (!reply && !server_->lost_) return std::nullopt;
  ended_ = true;
  if (!reply) {
    return ProcessEnd{concat("the kit's process that started the test ", server_->lost_), true};
  }
  return ProcessEnd{reply->first == CLD_EXITED
                        ? concat("exit(", reply->second, ")")
                        : concat("signal ", reply->second, " ended the process")};
}

inline bool ProcessGroup::end() noexcept {
  const pid_t pid = std::exchange(pid_, 0);
  const bool was_lost = server_->lost_ != nullptr;
  if (!ended_) {
    ::kill(-pid, SIGSTOP);
    ::kill(pid, SIGKILL);
  }
  const auto deadline = std::chrono::steady_clock::now() + TestServer::time_to_end;
  std::optional<Reply> reply;
  const char request = 1;
  if (!was_lost && (ended_ || server_->receive(deadline)) &&
      send_all(server_->socket_.get(), &request, 1)) {
    reply = server_->receive(deadline);
  }
  if (reply) return reply->first != 0;
  server_->stop();
  ::kill(-pid, SIGKILL);
  // Only a process of the group has ended a server that was there when its first process ended.
  return ended_ && !was_lost;
}

}}}  // namespace tenon::TENON_RELEASE::conformance::platform
