// SPDX-License-Identifier: MIT
#include "in_sandbox.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "sandbox/file_access.hpp"
#include "support/catch.hpp"
#include "support/sanitizer.hpp"

namespace tenon::test {
namespace {

struct Shared {
  isolated::Violations violations;
  char failure[512];
};

constexpr int not_restricted = 250;

}  // namespace

std::string Outcome::text() const {
  std::string lines;
  for (const isolated::Violation& violation : violations) {
    lines += isolated::describe(violation) + '\n';
  }
  return lines;
}

bool Outcome::has(const std::string& call) const {
  return std::ranges::any_of(violations,
                             [&](const auto& violation) { return violation.call == call; });
}

Outcome in_sandbox(isolated::SandboxOptions options, const std::function<int()>& work) {
  void* const memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  auto* const shared = new (memory) Shared{};
  options.violations = &shared->violations;
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const auto sandbox = isolated::restrict_process(options);
    if (!sandbox) {
      const std::string text(sandbox.text());
      std::memcpy(shared->failure, text.data(), std::min(text.size(), sizeof shared->failure - 1));
      ::_exit(not_restricted);
    }
    ::_exit(work());
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  Outcome outcome;
  if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  outcome.violations = isolated::read_violations(shared->violations);
  outcome.failure = shared->failure;
  ::munmap(memory, sizeof(Shared));
  return outcome;
}

bool can_run() {
#if defined(TENON_TEST_HAS_SANITIZER)
  WARN("not run: sanitizers make calls and threads of their own");
  return false;
#else
  if (isolated::landlock_version() == 0) WARN("not run: this kernel has no Landlock");
  return isolated::landlock_version() != 0;
#endif
}

}  // namespace tenon::test
