// SPDX-License-Identifier: MIT
#include "supervisor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "boundary/descriptors.hpp"
#include "boundary/protocol.hpp"

namespace tenon::isolated {
namespace {

/// As a new process has them, whatever the application ignores or blocks.
void reset_signals() noexcept {
  struct sigaction initial{};
  initial.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) ::sigaction(number, &initial, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// The end of all that the child writes to standard output and error.
class LastWords {
 public:
  explicit LastWords(int descriptor) noexcept : descriptor_(descriptor) {}
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

  void read() {
    char buffer[4096];
    // The child may write without end.
    for (int i = 0; i < 16; ++i) {
      const ssize_t size = ::read(descriptor_, buffer, sizeof buffer);
      if (size <= 0) return;
      text_.append(buffer, static_cast<std::size_t>(size));
      if (text_.size() > sizeof(Ending::text)) text_.erase(0, text_.size() - sizeof(Ending::text));
    }
  }
  void put(Ending& to) const noexcept {
    to.text_size = static_cast<std::uint32_t>(text_.size());
    std::copy(text_.begin(), text_.end(), to.text);
  }

 private:
  int descriptor_;
  std::string text_;
};

/// Ends the process with a text that the supervisor reports.
[[noreturn]] void fail(const Status& status) noexcept {
  const std::string_view text = status.text();
  static_cast<void>(::write(STDERR_FILENO, text.data(), text.size()));
  ::_exit(EXIT_FAILURE);
}

[[noreturn]] void be_worker(pid_t supervisor, int output, Result<WorkerRestriction>& restriction,
                            Serve* serve) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != supervisor) ::_exit(EXIT_SUCCESS);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null >= 0) ::dup2(null, STDIN_FILENO);
  ::fcntl(worker_socket, F_SETFD, FD_CLOEXEC);
  // Nothing of the supervisor's: what is left are the streams and the worker's socket.
  ::close(supervisor_socket);
  close_descriptors_from(worker_socket + 1);
  reset_signals();
  // No core file; a limit of 1 byte counts for a program that takes cores, too.
  const rlimit no_core{1, 1};
  ::setrlimit(RLIMIT_CORE, &no_core);
  const Status restricted =
      restriction.ok() ? restriction->apply(worker_socket) : std::move(restriction).status();
  if (!restricted.ok()) fail(restricted);
  ::_exit(serve(worker_socket, !restriction->is_none()));
}

/// Waits until the child has ended, and ends it when it has stopped or is not wanted any more.
Ending watch(pid_t child, int signals, LastWords& words) {
  bool is_wanted = true;
  bool has_stopped = false;
  Ending out{};
  for (;;) {
    pollfd waited[] = {{signals, POLLIN, 0},
                       {words.descriptor(), POLLIN, 0},
                       {is_wanted ? supervisor_socket : -1, POLLIN, 0},
                       {is_wanted ? application_pidfd : -1, POLLIN, 0}};
    if (::poll(waited, std::size(waited), -1) < 0 && errno != EINTR) is_wanted = false;
    words.read();
    signalfd_siginfo ignored{};
    while (::read(signals, &ignored, sizeof ignored) > 0) {
    }
    siginfo_t info{};
    while (::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WSTOPPED | WNOHANG) == 0 &&
           info.si_pid != 0) {
      const bool is_stop = info.si_code == CLD_STOPPED;
      if (!has_stopped) {
        out.code = info.si_code;
        out.status = info.si_status;
      }
      if (!is_stop) {
        words.read();
        return out;
      }
      has_stopped = true;
      ::kill(child, SIGKILL);
      info = {};
    }
    if ((waited[2].revents | waited[3].revents) != 0) {
      is_wanted = false;
      ::kill(child, SIGKILL);
    }
  }
}

}  // namespace

int supervise(const RestrictionRequest& request, Serve* serve) {
  ::setsid();
  ::prctl(PR_SET_NAME, "tenon-worker");
  reset_signals();
  sigset_t children;
  ::sigemptyset(&children);
  ::sigaddset(&children, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &children, nullptr);
  const int signals = ::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
  int output[2];
  if (signals < 0 || ::pipe2(output, O_CLOEXEC | O_NONBLOCK) != 0) return EXIT_FAILURE;
  // The plugin's process writes as to any pipe.
  ::fcntl(output[1], F_SETFL, 0);
  auto restriction = WorkerRestriction::prepare(request);
  const pid_t self = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return EXIT_FAILURE;
  if (child == 0) be_worker(self, output[1], restriction, serve);
  ::close(output[1]);
  ::close(worker_socket);
  LastWords words(output[0]);
  Ending ending = watch(child, signals, words);
  words.put(ending);
  if (restriction.ok()) {
    const std::string refusals = restriction->refusals();
    ending.refusals_size =
        static_cast<std::uint32_t>(refusals.copy(ending.refusals, sizeof ending.refusals));
  }
  // The application may have ended.
  static_cast<void>(send_message(supervisor_socket, std::as_bytes(std::span(&ending, 1)), {}));
  return EXIT_SUCCESS;
}

}  // namespace tenon::isolated
