// SPDX-License-Identifier: MIT
// The code of docs/hosts/isolation-profiles.md.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "in_sandbox.hpp"
#include "sandbox/sandbox.hpp"
#include "support/catch.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace {

/// `control` and `channel`: descriptors that the worker was given.
Status begin_worker(int control, int channel, isolated::Violations* shared) {
  // [worker]
  isolated::SandboxOptions options;
  options.profile = isolated::Profile::strict;
  options.readable = {"/opt/acme/plugins"};
  options.descriptors = {{control, channel}};  // all others are closed, also 0, 1 and 2
  options.violations = shared;                 // in memory that the application maps, too
  TENON_TRY(const auto sandbox, isolated::restrict_process(options));
  // [worker]
  if (!sandbox.not_enforced.empty()) return error(Error::NotSupported, sandbox.not_enforced[0]);
  return ok();
}

TEST_CASE("a worker begins as the page shows", "[sandbox]") {
  if (!test::can_run()) return;
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const Status begun = begin_worker(0, 1, nullptr);
    if (!begun.ok() && begun.error() != Error::NotSupported) ::_exit(1);
    // A worker ends with its application: giving up capabilities must not end that.
    int ends_by = 0;
    ::prctl(PR_GET_PDEATHSIG, &ends_by);
    ::_exit(ends_by == SIGKILL ? 0 : 2);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

}}}  // namespace tenon::TENON_RELEASE
