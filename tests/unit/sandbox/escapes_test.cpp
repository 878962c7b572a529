// SPDX-License-Identifier: MIT
// What a plugin might try from `strict`: each attempt is refused, and the application sees its
// name.
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "in_sandbox.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace {

using isolated::Profile;
using test::in_sandbox;
using test::Outcome;

/// 0 when a call succeeded, else its errno.
int outcome_of(long result) { return result < 0 ? errno : 0; }

int opens(const std::string& path, int flags) {
  return outcome_of(::open(path.c_str(), flags | O_CLOEXEC, 0600));
}

/// The process goes on, with this error of the call.
void is_refused(const Outcome& outcome, const std::string& call, int error_number = EPERM) {
  INFO(outcome.text() << outcome.failure);
  CHECK(outcome.code == error_number);
  CHECK(outcome.has(call));
}

/// The call ended the process, and is named.
void is_ended(const Outcome& outcome, const std::string& call) {
  INFO(outcome.text() << outcome.failure);
  CHECK(outcome.signal == SIGSYS);
  REQUIRE(!outcome.violations.empty());
  CHECK(outcome.violations.back().ended);
  CHECK(outcome.violations.back().call == call);
  CHECK(outcome.violations.back().address != 0);
}

TEST_CASE("escape from strict: files of the user are not read", "[escape]") {
  if (!test::can_run()) return;
  const Outcome outcome = in_sandbox({}, [] { return opens("/etc/passwd", O_RDONLY); });
  is_refused(outcome, "openat", EACCES);
  REQUIRE(outcome.violations.size() == 1);
  CHECK(outcome.violations[0].path == "/etc/passwd");
  CHECK_THAT(outcome.text(), ContainsSubstring("refused openat of /etc/passwd, at 0x"));
}

TEST_CASE("escape from strict: no file is made or written", "[escape]") {
  if (!test::can_run()) return;
  const test::TemporaryDirectory folder;
  const std::string plugin = folder.write("plugin.so", "code").string();
  const isolated::SandboxOptions options{.readable = {folder.path().string()}};
  is_refused(in_sandbox(options, [] { return opens("/tmp/left-by-a-plugin", O_WRONLY | O_CREAT); }),
             "openat", EACCES);
  is_refused(
      in_sandbox(options, [&] { return opens(folder.file("beside.so"), O_WRONLY | O_CREAT); }),
      "openat", EACCES);
  is_refused(in_sandbox(options, [&] { return opens(plugin, O_RDWR); }), "openat", EACCES);
  is_refused(in_sandbox(options, [&] { return outcome_of(::unlink(plugin.c_str())); }), "unlink");
  is_refused(in_sandbox(options, [&] { return outcome_of(::truncate(plugin.c_str(), 0)); }),
             "truncate");
  is_refused(in_sandbox(options, [&] { return outcome_of(::chmod(plugin.c_str(), 0777)); }),
             "chmod");
  // A link through the process' own directory is the file that it names.
  is_refused(in_sandbox(options, [] { return opens("/proc/self/root/etc/passwd", O_RDONLY); }),
             "openat", EACCES);
  for (const std::string file : {"net/tcp", "mountinfo", "environ", "task/self/environ"}) {
    const Outcome outcome = in_sandbox(options, [&] {
      const std::string thread = std::to_string(::getpid());
      const bool of_thread = file.starts_with("task/self");
      return opens("/proc/self/" + (of_thread ? "task/" + thread + file.substr(9) : file),
                   O_RDONLY);
    });
    is_refused(outcome, "openat", EACCES);
  }
  const Outcome reads = in_sandbox(options, [&] { return opens(plugin, O_RDONLY); });
  CHECK(reads.code == 0);
  CHECK(reads.violations.empty());
}

TEST_CASE("escape from strict: there is no network and no socket of another process", "[escape]") {
  if (!test::can_run()) return;
  for (const int family : {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK, AF_PACKET, AF_ALG}) {
    is_refused(in_sandbox({}, [&] { return outcome_of(::socket(family, SOCK_DGRAM, 0)); }),
               "socket");
  }
  std::array<int, 2> pair{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()) == 0);
  is_refused(in_sandbox({},
                        [&] {
                          sockaddr_un name{.sun_family = AF_UNIX, .sun_path = "\0tenon-test"};
                          return outcome_of(::connect(
                              pair[0], reinterpret_cast<const sockaddr*>(&name), sizeof name));
                        }),
             "connect");
  is_ended(
      in_sandbox({},
                 [&] {
                   sockaddr_un name{.sun_family = AF_UNIX, .sun_path = "\0tenon-test"};
                   return outcome_of(::sendto(
                       pair[0], "x", 1, 0, reinterpret_cast<const sockaddr*>(&name), sizeof name));
                 }),
      "sendto");
  ::close(pair[0]);
  ::close(pair[1]);
}

TEST_CASE("escape from strict: other processes are not read, written, traced or signalled",
          "[escape]") {
  if (!test::can_run()) return;
  const pid_t parent = ::getpid();
  is_ended(in_sandbox({}, [&] { return outcome_of(::ptrace(PTRACE_ATTACH, parent, 0, 0)); }),
           "ptrace");
  is_ended(in_sandbox({}, [&] { return outcome_of(::ptrace(PTRACE_TRACEME, 0, 0, 0)); }), "ptrace");
  char byte = 1;
  iovec local{&byte, 1};
  iovec remote{&byte, 1};
  is_ended(
      in_sandbox({},
                 [&] { return outcome_of(::process_vm_readv(parent, &local, 1, &remote, 1, 0)); }),
      "process_vm_readv");
  is_ended(
      in_sandbox({},
                 [&] { return outcome_of(::process_vm_writev(parent, &local, 1, &remote, 1, 0)); }),
      "process_vm_writev");
  for (const std::string file : {"mem", "maps", "environ"}) {
    const std::string path = "/proc/" + std::to_string(parent) + "/" + file;
    const Outcome outcome = in_sandbox({}, [&] { return opens(path, O_RDONLY); });
    is_refused(outcome, "openat", EACCES);
    CHECK(outcome.violations.at(0).path == path);
  }
  is_ended(in_sandbox({}, [&] { return outcome_of(::kill(parent, SIGTERM)); }), "kill");
  is_ended(in_sandbox({}, [&] { return outcome_of(::kill(0, SIGTERM)); }), "kill");
  is_ended(in_sandbox({}, [&] { return outcome_of(::kill(-1, SIGTERM)); }), "kill");
  is_ended(
      in_sandbox({}, [&] { return outcome_of(::syscall(SYS_tgkill, parent, parent, SIGTERM)); }),
      "tgkill");
  is_refused(in_sandbox({}, [&] { return outcome_of(::syscall(SYS_tkill, parent, SIGTERM)); }),
             "tkill");
  is_ended(in_sandbox({}, [&] { return outcome_of(::syscall(SYS_pidfd_open, parent, 0)); }),
           "pidfd_open");
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  is_refused(in_sandbox({}, [&] { return outcome_of(::fcntl(ends[0], F_SETOWN, parent)); }),
             "fcntl");
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("escape from strict: no process is made, and no program is run", "[escape]") {
  if (!test::can_run()) return;
  is_ended(in_sandbox({},
                      [] {
                        char* arguments[] = {nullptr};
                        return outcome_of(::execve("/bin/true", arguments, arguments));
                      }),
           "execve");
  is_ended(in_sandbox({},
                      [] {
                        const int code = ::memfd_create("program", 0);
                        char* arguments[] = {nullptr};
                        return outcome_of(
                            ::syscall(SYS_execveat, code, "", arguments, arguments, AT_EMPTY_PATH));
                      }),
           "execveat");
  // The first turn of a fork bomb; glibc forks by clone, without CLONE_THREAD.
  is_ended(in_sandbox({}, [] { return outcome_of(::fork()); }), "clone");
  is_ended(
      in_sandbox({}, [] { return outcome_of(::syscall(SYS_clone, CLONE_NEWUSER, 0, 0, 0, 0)); }),
      "clone");
  // Its flags are in memory, so no filter sees them.
  char arguments[64] = {};
  CHECK(in_sandbox({}, [&] { return outcome_of(::syscall(SYS_clone3, arguments, 64)); }).code ==
        ENOSYS);
}

TEST_CASE("escape from strict: the kernel is not configured, and large parts of it are closed",
          "[escape]") {
  if (!test::can_run()) return;
  is_ended(in_sandbox({}, [] { return outcome_of(::mount("none", "/tmp", "tmpfs", 0, nullptr)); }),
           "mount");
  is_ended(in_sandbox({}, [] { return outcome_of(::unshare(CLONE_NEWUSER)); }), "unshare");
  is_ended(in_sandbox({}, [] { return outcome_of(::chroot("/tmp")); }), "chroot");
  is_ended(in_sandbox({}, [] { return outcome_of(::syscall(SYS_keyctl, 0, 0, 0, 0, 0)); }),
           "keyctl");
  is_ended(in_sandbox({}, [] { return outcome_of(::syscall(SYS_bpf, 0, nullptr, 0)); }), "bpf");
  is_ended(in_sandbox({}, [] { return outcome_of(::syscall(SYS_init_module, nullptr, 0, "")); }),
           "init_module");
  is_ended(
      in_sandbox({},
                 [] { return outcome_of(::syscall(SYS_open_by_handle_at, AT_FDCWD, nullptr, 0)); }),
      "open_by_handle_at");
  is_ended(in_sandbox({}, [] { return outcome_of(::setuid(0)); }), "setuid");
  is_refused(in_sandbox({}, [] { return outcome_of(::syscall(SYS_io_uring_setup, 1, nullptr)); }),
             "io_uring_setup");
  is_refused(
      in_sandbox({},
                 [] { return outcome_of(::syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0)); }),
      "perf_event_open");
  is_refused(in_sandbox({}, [] { return outcome_of(::syscall(SYS_userfaultfd, 0)); }),
             "userfaultfd");
  char typed = 'x';
  is_refused(in_sandbox({}, [&] { return outcome_of(::ioctl(0, TIOCSTI, &typed)); }), "ioctl");
}

TEST_CASE("escape from strict: the restriction stays", "[escape]") {
  if (!test::can_run()) return;
  is_refused(in_sandbox({}, [] { return outcome_of(::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)); }),
             "prctl");
  is_refused(in_sandbox({}, [] { return outcome_of(::prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0)); }),
             "prctl");
  // Its handler names what is refused.
  is_refused(in_sandbox({},
                        [] {
                          struct sigaction ignored{};
                          ignored.sa_handler = SIG_IGN;
                          return outcome_of(::sigaction(SIGSYS, &ignored, nullptr));
                        }),
             "rt_sigaction");
  const Outcome asked = in_sandbox({}, [] {
    struct sigaction found{};
    found.sa_handler = SIG_IGN;
    return ::sigaction(SIGSYS, nullptr, &found) == 0 && found.sa_handler == SIG_DFL ? 0 : 1;
  });
  CHECK(asked.code == 0);
  CHECK(asked.violations.empty());
  const Outcome blocked = in_sandbox({}, [] {
    sigset_t all;
    ::sigfillset(&all);
    if (::sigprocmask(SIG_SETMASK, &all, nullptr) != 0) return 100;
    sigset_t now;
    ::sigprocmask(SIG_SETMASK, nullptr, &now);
    if (::sigismember(&now, SIGTERM) != 1) return 101;
    if (::sigismember(&now, SIGSYS) != 0) return 102;
    return opens("/etc/passwd", O_RDONLY);
  });
  is_refused(blocked, "openat", EACCES);
}

#if defined(__x86_64__)
TEST_CASE("escape from strict: calls of 32 bits are no way around the filter", "[escape]") {
  if (!test::can_run()) return;
  const Outcome of_32_bits = in_sandbox({}, [] {
    // getpid of i386.
    long result = 20;
    asm volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
    return result > 0 ? 0 : 1;
  });
  is_ended(of_32_bits, "call 20 of another architecture");
  is_ended(in_sandbox({}, [] { return outcome_of(::syscall(0x40000000 + SYS_getpid)); }),
           "number " + std::to_string(0x40000000 + SYS_getpid));
}
#endif

TEST_CASE("a call that the headers of the build do not know is one that the kernel does not have",
          "[sandbox]") {
  if (!test::can_run()) return;
  const Outcome outcome = in_sandbox({}, [] { return outcome_of(::syscall(4000)); });
  CHECK(outcome.code == ENOSYS);
  CHECK(outcome.violations.empty());
}

TEST_CASE("refusals that repeat are counted, and the last of many kinds is kept when it ends",
          "[sandbox]") {
  if (!test::can_run()) return;
  const Outcome outcome = in_sandbox({}, [] {
    for (int i = 0; i < 40; ++i) {
      opens("/etc/passwd", O_RDONLY);
      opens("/etc/" + std::to_string(i), O_WRONLY | O_CREAT);
    }
    return outcome_of(::ptrace(PTRACE_TRACEME, 0, 0, 0));
  });
  is_ended(outcome, "ptrace");
  CHECK(outcome.violations.size() == isolated::Violations::max_entries);
  CHECK(outcome.violations[0].count == 40);
  CHECK_THAT(outcome.text(), ContainsSubstring("openat of /etc/passwd, 40 times"));
  CHECK_THAT(outcome.text(), ContainsSubstring("ended by ptrace(0x0, 0x0"));
}

}}}  // namespace tenon::TENON_RELEASE
