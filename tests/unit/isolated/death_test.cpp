// SPDX-License-Identifier: MIT
#include <sys/mman.h>

#include <string>
#include <vector>

#include "isolated.hpp"
#include "support/catch.hpp"

using namespace tenon;
using namespace tenon::test;

namespace isolated_death_test { namespace {

/// A way to end a process, and what the application reads of it.
struct Way {
  std::string how;
  std::vector<std::string> texts;
  bool needs_deadline = false;
};

const std::vector<Way> ways = {
    {"segv", {"SIGSEGV at address 0x10 in its thread "}},
    {"abort", {"SIGABRT in its thread "}},
    {"bus", {"SIGBUS at address 0x"}},
    {"fpe", {"SIGFPE "}},
    {"ill", {"SIGILL at address 0x"}},
    {"exit", {"it exited with code 7"}},
    {"_exit", {"it exited with code 8"}},
    {"kill", {"it was ended by SIGKILL"}},
    {"stop", {"it was stopped by SIGSTOP, and was ended"}},
    {"hang", {"it did not return within the deadline of 300 ms, and was ended"}, true},
    {"overflow", {"SIGSEGV at address 0x"}},
    {"terminate", {"SIGABRT in its thread ", "it wrote: terminate called"}},
    {"thread", {"SIGSEGV at address 0x10 in its thread "}},
    {"close", {"it did not return within the deadline of 300 ms, and was ended"}, true},
    {"speak", {"it exited with code 9", "it wrote: the last words"}},
};

std::vector<host::BackendOption> options_of(const Way& way) {
  std::vector<host::BackendOption> out{{"Add", "how", way.how}};
  if (way.needs_deadline) out.push_back({"Add", "isolated.deadline_ms", std::int64_t{300}});
  return out;
}

bool has_text(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

TEST_CASE("a plugin that dies in execute makes the call fail, and the application continues") {
  Application application(TENON_TEST_DIES);
  for (const Way& way : ways) {
    auto method = application.load(add_program, options_of(way));
    REQUIRE(std::string(method.text()) == "");
    auto before = add(**method);
    REQUIRE(before.ok());
    CHECK(*before == sum);

    const auto died = add(**method, 666);
    const std::string text(died.text());
    INFO(way.how << ": " << text);
    REQUIRE_FALSE(died.ok());
    CHECK(died.error() == Error::Internal);
    CHECK(has_text(text, "the worker died in execute of backend Add, delegate "));
    CHECK(has_text(text, " (method forward), call 2, thread "));
    for (const std::string& part : way.texts) CHECK(has_text(text, part));

    const auto later = add(**method);
    CHECK(later.error() == Error::InvalidState);
    CHECK(has_text(later.text(), "the worker has died before: the worker died in execute"));

    auto again = application.load(add_program);
    REQUIRE(std::string(again.text()) == "");
    auto after = add(**again);
    REQUIRE(after.ok());
    CHECK(*after == sum);
  }
}

TEST_CASE("a plugin that dies in init makes the load fail, and the next load starts a new worker") {
  Application application(TENON_TEST_DIES);
  const auto dead =
      application.load(add_program, {{"Add", "how", "segv"}, {"Add", "where", "init"}});
  REQUIRE_FALSE(dead.ok());
  INFO(dead.text());
  CHECK(has_text(dead.text(), "the worker died in init of backend Add"));
  CHECK(has_text(dead.text(), "SIGSEGV at address 0x10"));
  auto method = application.load(add_program);
  REQUIRE(method.ok());
  CHECK(*add(**method) == sum);
}

TEST_CASE("with a worker of its own a delegate does not die with another one") {
  Application application(TENON_TEST_DIES);
  auto other = application.load(add_program);
  REQUIRE(other.ok());
  auto method = application.load(add_program,
                                 {{"Add", "how", "abort"}, {"Add", "isolated.own_worker", true}});
  REQUIRE(method.ok());
  CHECK_FALSE(add(**method, 666).ok());
  CHECK(*add(**other) == sum);
}

TEST_CASE("a delegate is loaded again in a new worker as often as isolated.restart says") {
  Application application(TENON_TEST_DIES);
  auto method = application.load(
      add_program, {{"Add", "how", "segv"}, {"Add", "isolated.restart", std::int64_t{2}}});
  REQUIRE(method.ok());
  for (int i = 0; i < 2; ++i) {
    const auto died = add(**method, 666);
    CHECK(died.error() == Error::Internal);
    const auto after = add(**method);
    INFO(after.text());
    REQUIRE(after.ok());
    CHECK(*after == sum);
  }
  CHECK(add(**method, 666).error() == Error::Internal);
  CHECK(add(**method).error() == Error::InvalidState);
}

TEST_CASE("what a worker writes to an input that is read-only is a failure of the call") {
  Application application(TENON_TEST_DIES);
  auto method = application.load(add_program, {{"Add", "where", "input"}});
  REQUIRE(method.ok());
  // A page that the application may not write.
  void* const page = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(page != MAP_FAILED);
  const std::vector<std::int64_t> sizes{2, 3};
  const std::span<const std::byte> zeros(static_cast<const std::byte*>(page), 24);
  for (std::size_t i = 0; i < 2; ++i) {
    REQUIRE((*method)->set_input(i, host::InputTensor{ScalarType::Float, sizes, zeros}).ok());
  }
  const Status status = (*method)->execute();
  INFO(status.text());
  // A program may plan memory for its inputs: the bytes that were given stay as they are.
  CHECK(static_cast<const float*>(page)[0] == 0);
  ::munmap(page, 4096);
}

TEST_CASE("options of the isolated plugin are checked as any plugin's") {
  Application application(TENON_TEST_DIES);
  const auto load = [&](const char* key, OptionValue value) {
    return application.load(add_program, {{"Add", key, std::move(value)}}).error();
  };
  CHECK(load("isolated.unknown", std::int64_t{1}) == Error::NotFound);
  CHECK(load("isolated.restart", std::string("1")) == Error::InvalidType);
  CHECK(load("isolated.restart", std::int64_t{-1}) == Error::InvalidArgument);
  CHECK(load("isolated.own_worker", std::int64_t{1}) == Error::InvalidType);
  CHECK(load("unknown", std::int64_t{1}) == Error::NotFound);
}

}}  // namespace isolated_death_test
