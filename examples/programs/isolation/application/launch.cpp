// SPDX-License-Identifier: MIT
#include "launch.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <utility>

#include "boundary/descriptors.hpp"
#include "worker/supervisor.hpp"

namespace tenon::isolated {
namespace {

/// Threads of the application block no more than they did, also when this fails.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;
  ~AllSignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

/// Two processes run for a moment in the memory of this one: the first makes the second and ends,
/// so that the second is no child of the application; the second becomes the program.
struct Birth {
  int supervisor = -1;
  int service = -1;
  int application = -1;  ///< -1 on a system without such descriptors.
  int program = -1;
  char* second_stack = nullptr;
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  int process = -1;  ///< Of the second; the first shares the table of descriptors.
  int failure = 0;   ///< An errno.
};

constexpr std::size_t stack_size = std::size_t{64} * 1024;

/// The kernel's own call. A function of the library would find the books that a sanitizer keeps in
/// this memory of the application's threads and descriptors, and the two have others.
template <class... Words>
int own_call(long number, Words... words) noexcept {
  return static_cast<int>(::syscall(number, words...));
}

[[noreturn]] void end(int status) noexcept {
  for (;;) own_call(SYS_exit_group, status);
}

// The address sanitizer does not know the stacks of the two.
[[gnu::no_sanitize_address]] int become_program(void* data) noexcept {
  auto& birth = *static_cast<Birth*>(data);
  // Away from the numbers that they are to have.
  int moved[] = {birth.supervisor, birth.service, birth.application, birth.program};
  constexpr int free_numbers = program_descriptor + 1;
  for (int& one : moved) {
    if (one >= 0) one = own_call(SYS_fcntl, one, F_DUPFD_CLOEXEC, free_numbers);
  }
  const int null = own_call(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC);
  for (int i = 0; i <= STDERR_FILENO; ++i) {
    if (null != i) own_call(SYS_dup3, null, i, 0);
  }
  constexpr int wanted[] = {supervisor_socket, worker_socket, application_pidfd};
  for (int i = 0; i < 3; ++i) {
    if (moved[i] >= 0) {
      own_call(SYS_dup3, moved[i], wanted[i], 0);
    } else {
      own_call(SYS_close, wanted[i]);
    }
  }
  own_call(SYS_dup3, moved[3], program_descriptor, O_CLOEXEC);
  close_descriptors_from(free_numbers);
  ::syscall(SYS_execveat, program_descriptor, "", birth.arguments, birth.environment,
            AT_EMPTY_PATH);
  birth.failure = errno;
  end(EXIT_FAILURE);
}

[[gnu::no_sanitize_address]] int make_second(void* data) noexcept {
  auto& birth = *static_cast<Birth*>(data);
  const int made = ::clone(&become_program, birth.second_stack + stack_size,
                           CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, data, &birth.process);
  if (made < 0) birth.failure = errno;
  end(EXIT_SUCCESS);
}

/// As `exec` takes them.
std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& each : texts) out.push_back(each.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

Result<Launched> launch(const std::string& path, host::Trust trust, const Start& start) {
  TENON_TRY(const host::OpenedFile program, host::open_file(path, trust));
  TENON_TRY(auto supervision, socket_pair());
  TENON_TRY(auto service, socket_pair());
  // As small as it gets: lanes that a worker does not take are few.
  const int smallest = 0;
  ::setsockopt(service.first.get(), SOL_SOCKET, SO_SNDBUF, &smallest, sizeof smallest);
  constexpr long pidfd_open_number = 434;
  const host::FileDescriptor self(static_cast<int>(::syscall(pidfd_open_number, ::getpid(), 0u)));
  void* const stacks = ::mmap(nullptr, 2 * stack_size, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stacks == MAP_FAILED)
    return error(Error::MemoryAllocationFailed, "no memory of ", 2 * stack_size,
                 " bytes for the stacks of a worker: ", errno_text(errno));
  Birth birth;
  birth.supervisor = supervision.second.get();
  birth.service = service.second.get();
  birth.application = self.get();
  birth.program = program.descriptor.get();
  std::vector<std::string> arguments{"tenon-worker"};
  arguments.insert(arguments.end(), start.arguments.begin(), start.arguments.end());
  std::vector<std::string> environment = start.environment;
  const std::vector<char*> argument_pointers = pointers_to(arguments);
  const std::vector<char*> environment_pointers = pointers_to(environment);
  birth.arguments = argument_pointers.data();
  birth.environment = environment_pointers.data();
  birth.second_stack = static_cast<char*>(stacks);
  int first = -1;
  {
    const AllSignalsBlocked blocked;
    // No signal at its end (0), and the table of descriptors is this one.
    first = ::clone(&make_second, birth.second_stack + 2 * stack_size,
                    CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_FS, &birth);
    if (first < 0) birth.failure = errno;
  }
  if (first > 0) {
    while (::waitpid(first, nullptr, __WALL) < 0 && errno == EINTR) {
    }
  }
  ::munmap(stacks, 2 * stack_size);
  Launched out;
  out.process = host::FileDescriptor(birth.process);
  if (birth.failure != 0) {
    return error(birth.failure == EACCES || birth.failure == EPERM ? Error::AccessFailed
                                                                   : Error::OutOfResources,
                 "the worker ", path, " cannot be started: ", errno_text(birth.failure));
  }
  out.supervisor = std::move(supervision.first);
  out.service = std::move(service.first);
  return out;
}

}  // namespace tenon::isolated
