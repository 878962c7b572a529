// SPDX-License-Identifier: MIT
// What the kernel counts for all processes of a user together: a worker leaves enough of it to the
// others.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <functional>
#include <span>

#include "boundary/descriptors.hpp"
#include "in_sandbox.hpp"
#include "sandbox/sandbox.hpp"
#include "support/catch.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace {

using isolated::Profile;
using test::in_sandbox;

constexpr Profile all_profiles[] = {Profile::open, Profile::driver, Profile::strict};

/// The code that `work` returns in a child of a user without privileges, who has no other processes
/// where this one may choose: the kernel lets root exceed most limits.
int as_other_user(const std::function<int()>& work) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    constexpr unsigned number = 54321;
    if (::getuid() == 0 && (::setgid(number) != 0 || ::setuid(number) != 0)) ::_exit(100);
    // As most systems set it.
    const rlimit descriptors{1024, 1024};
    if (::setrlimit(RLIMIT_NOFILE, &descriptors) != 0) ::_exit(101);
    ::_exit(work());
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 102;
}

bool send_descriptors(int socket, int descriptor, std::size_t count, int flags) {
  std::array<int, isolated::max_sent_descriptors> numbers{};
  numbers.fill(descriptor);
  const std::byte byte{};
  return isolated::send_message(socket, {&byte, 1}, std::span(numbers).first(count), flags);
}

TEST_CASE("a worker cannot keep the other processes of its user from sending descriptors",
          "[sandbox]") {
  if (!test::can_run()) return;
  for (const Profile profile : all_profiles) {
    INFO(isolated::profile_name(profile));
    CHECK(as_other_user([&] {
            // No process receives from any of them.
            std::array<std::array<int, 2>, 64> sockets{};
            for (auto& pair : sockets) {
              if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair.data()) != 0) return 1;
            }
            const auto outcome = in_sandbox({.profile = profile}, [&] {
              int num_full = 0;
              for (const auto& pair : sockets) {
                while (send_descriptors(pair[0], pair[0], isolated::max_sent_descriptors,
                                        MSG_DONTWAIT)) {
                }
                if (errno == ETOOMANYREFS) ++num_full;
              }
              return num_full > 0 ? 0 : 1;
            });
            // It has sent all that it may.
            if (outcome.code != 0) return 2;
            std::array<int, 2> own{};
            if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, own.data()) != 0) return 3;
            // More than an application has on its way at a time.
            for (int i = 0; i < 32; ++i) {
              if (!send_descriptors(own[0], own[0], isolated::max_sent_descriptors, 0)) return 4;
            }
            return 0;
          }) == 0);
  }
}

TEST_CASE("a worker takes a small part of what its user may have of signals, threads and messages",
          "[sandbox]") {
  if (!test::can_run()) return;
  for (const Profile profile : all_profiles) {
    INFO(isolated::profile_name(profile));
    const rlimit* const before = [] {
      static std::array<rlimit, 2> limits{};
      ::getrlimit(RLIMIT_NPROC, &limits[0]);
      ::getrlimit(RLIMIT_MSGQUEUE, &limits[1]);
      return limits.data();
    }();
    const auto outcome = in_sandbox({.profile = profile}, [&] {
      // Each timer is a signal that is reserved.
      int num_timers = 0;
      for (; num_timers < 2000; ++num_timers) {
        timer_t timer{};
        sigevent event{};
        event.sigev_notify = SIGEV_SIGNAL;
        event.sigev_signo = SIGUSR1;
        if (::timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) break;
      }
      if (num_timers > 256) return 1;
      rlimit now{};
      for (const auto& [resource, was] :
           {std::pair(RLIMIT_NPROC, before[0]), std::pair(RLIMIT_MSGQUEUE, before[1])}) {
        ::getrlimit(resource, &now);
        const bool is_lower = was.rlim_cur == RLIM_INFINITY || now.rlim_cur < was.rlim_cur;
        if (!is_lower || now.rlim_cur != now.rlim_max) return 2;
      }
      return 0;
    });
    INFO(outcome.text());
    CHECK(outcome.code == 0);
  }
}

TEST_CASE("a worker cannot enlarge its pipes, whose pages count for its user", "[sandbox]") {
  if (!test::can_run()) return;
  for (const Profile profile : {Profile::driver, Profile::strict}) {
    const auto outcome = in_sandbox({.profile = profile}, [] {
      std::array<int, 2> ends{};
      if (::pipe(ends.data()) != 0) return 100;
      return ::fcntl(ends[0], F_SETPIPE_SZ, 1 << 20) < 0 ? errno : 0;
    });
    CHECK(outcome.code == EPERM);
    CHECK(outcome.has("fcntl"));
  }
}

}}}  // namespace tenon::TENON_RELEASE
