// SPDX-License-Identifier: MIT
// A kernel without Landlock, for which a filter makes this one.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "in_sandbox.hpp"
#include "sandbox/sandbox.hpp"
#include "support/catch.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace {

using isolated::Profile;

bool take_landlock_away() {
  constexpr std::uint32_t create_ruleset = 444;
  std::array<sock_filter, 4> code{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, create_ruleset, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{.len = code.size(), .filter = code.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// The code that `work` returns in a child on such a kernel.
int without_landlock(const std::function<int()>& work) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) ::_exit(take_landlock_away() ? work() : 100);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 101;
}

TEST_CASE("without Landlock strict and driver are not supported, with the reason", "[sandbox]") {
  if (!test::can_run()) return;
  for (const Profile profile : {Profile::strict, Profile::driver}) {
    CHECK(without_landlock([&] {
            const auto sandbox = isolated::restrict_process({.profile = profile});
            if (sandbox.error() != Error::NotSupported) return 1;
            return sandbox.text().starts_with("this kernel has no Landlock, which limits") ? 0 : 2;
          }) == 0);
  }
}

TEST_CASE("without Landlock an application may accept that files stay open, and is reminded of it",
          "[sandbox]") {
  if (!test::can_run()) return;
  CHECK(without_landlock([] {
          const auto sandbox = isolated::restrict_process({.accept_open_files = true});
          if (!sandbox.ok()) return 1;
          if (sandbox->landlock_version != 0 || sandbox->not_enforced.size() != 1) return 2;
          // Calls are filtered all the same.
          if (::unlink("/tmp/tenon-not-there") != -1 || errno != EPERM) return 3;
          return sandbox->violations->count == 1 ? 0 : 4;
        }) == 0);
  CHECK(without_landlock([] {
          const auto sandbox = isolated::restrict_process({.profile = Profile::open});
          return sandbox.ok() && sandbox->not_enforced.size() == 1 ? 0 : 1;
        }) == 0);
}

TEST_CASE("without Landlock open refuses signals to other processes, by any call", "[sandbox]") {
  if (!test::can_run()) return;
  const pid_t other = ::getpid();
  CHECK(without_landlock([other] {
          if (!isolated::restrict_process({.profile = Profile::open}).ok()) return 1;
          const auto is_refused = [](long result) { return result < 0 && errno == EPERM; };
          int ends[2];
          if (::pipe(ends) != 0) return 2;
          siginfo_t info{};
          if (!is_refused(::kill(other, 0)) || !is_refused(::kill(0, 0))) return 3;
          if (!is_refused(::syscall(SYS_tkill, other, 0))) return 4;
          if (!is_refused(::syscall(SYS_tgkill, other, other, 0))) return 5;
          if (!is_refused(::syscall(SYS_rt_sigqueueinfo, other, 0, &info))) return 6;
          if (!is_refused(::syscall(SYS_rt_tgsigqueueinfo, other, other, 0, &info))) return 7;
          if (!is_refused(::fcntl(ends[0], F_SETOWN, other))) return 8;
          return ::kill(::getpid(), 0) == 0 && ::raise(0) == 0 ? 0 : 9;
        }) == 0);
}

}}}  // namespace tenon::TENON_RELEASE
