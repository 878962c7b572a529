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
#include "descendants.hpp"

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
/// `guard` can be read when the guard has ended.
Ending watch(pid_t child, int signals, int guard, LastWords& words) {
  bool is_wanted = true;
  bool has_stopped = false;
  Ending out{};
  for (;;) {
    pollfd waited[] = {{signals, POLLIN, 0},
                       {words.descriptor(), POLLIN, 0},
                       {is_wanted ? supervisor_socket : -1, POLLIN, 0},
                       {is_wanted ? application_pidfd : -1, POLLIN, 0},
                       {is_wanted ? guard : -1, POLLIN, 0}};
    if (::poll(waited, std::size(waited), -1) < 0 && errno != EINTR) is_wanted = false;
    words.read();
    signalfd_siginfo ignored{};
    while (::read(signals, &ignored, sizeof ignored) > 0) {
    }
    siginfo_t info{};
    while (::waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOHANG | __WALL) == 0 &&
           info.si_pid != 0) {
      if (std::exchange(info.si_pid, 0) != child) continue;  // An orphan that was adopted.
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
    }
    if ((waited[2].revents | waited[3].revents | waited[4].revents) != 0) {
      is_wanted = false;
      ::kill(child, SIGKILL);
    }
  }
}

/// Runs the plugin's process and reports how it ended.
int run_worker(const RestrictionRequest& request, Serve* serve, int signals, int guard) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  int output[2];
  if (::pipe2(output, O_CLOEXEC | O_NONBLOCK) != 0) return EXIT_FAILURE;
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
  Ending ending = watch(child, signals, guard, words);
  words.put(ending);
  if (restriction.ok()) {
    const std::string refusals = restriction->refusals();
    ending.refusals_size =
        static_cast<std::uint32_t>(refusals.copy(ending.refusals, sizeof ending.refusals));
  }
  // The application may have ended. It does not wait for what the plugin started.
  static_cast<void>(send_message(supervisor_socket, std::as_bytes(std::span(&ending, 1)), {}));
  end_descendants();
  return EXIT_SUCCESS;
}

/// Waits until the supervisor has ended. When it was killed, what it had is this one's.
int guard_supervisor(pid_t supervisor, int signals) {
  for (const int each : {supervisor_socket, worker_socket, application_pidfd}) ::close(each);
  for (;;) {
    pollfd waited{signals, POLLIN, 0};
    ::poll(&waited, 1, -1);
    signalfd_siginfo signal{};
    while (::read(signals, &signal, sizeof signal) == sizeof signal) {
      // Of the application, which waits for a supervisor that was stopped.
      if (signal.ssi_signo == SIGTERM) ::kill(supervisor, SIGKILL);
    }
    for (siginfo_t info{};
         ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | __WALL) == 0 && info.si_pid != 0;) {
      if (std::exchange(info.si_pid, 0) != supervisor) continue;
      end_descendants();
      return EXIT_SUCCESS;
    }
  }
}

}  // namespace

int supervise(const RestrictionRequest& request, Serve* serve) {
  ::setsid();
  ::prctl(PR_SET_NAME, "tenon-worker");
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  reset_signals();
  sigset_t handled;
  ::sigemptyset(&handled);
  ::sigaddset(&handled, SIGCHLD);
  ::sigaddset(&handled, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &handled, nullptr);
  const int signals = ::signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK);
  // The end that is written to is the guard's alone.
  int guard[2];
  if (signals < 0 || ::pipe2(guard, O_CLOEXEC) != 0) return EXIT_FAILURE;
  const pid_t supervisor = ::fork();
  if (supervisor < 0) return EXIT_FAILURE;
  if (supervisor == 0) {
    ::close(guard[1]);
    return run_worker(request, serve, signals, guard[0]);
  }
  ::close(guard[0]);
  return guard_supervisor(supervisor, signals);
}

}  // namespace tenon::isolated
