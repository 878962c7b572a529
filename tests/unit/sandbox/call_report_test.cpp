// SPDX-License-Identifier: MIT
#include "sandbox/call_report.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <thread>

#include "in_sandbox.hpp"
#include "sandbox/system_calls.hpp"
#include "support/catch.hpp"

namespace tenon::isolated { namespace {

TEST_CASE("what a process asked for is reported: calls by name, files, its threads and programs",
          "[report]") {
  if (!test::can_run()) return;
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (!report_calls(ends[1]).ok()) ::_exit(1);
    for (int i = 0; i < 5; ++i) ::close(::open("/etc/passwd", O_RDONLY));
    ::close(::open("/dev/null", O_WRONLY));
    std::jthread([] { ::getppid(); }).join();
    ::_exit(std::system("exec true") == 0 ? 0 : 2);
  }
  ::close(ends[1]);
  auto reporter = CallReporter::receive(ends[0]);
  REQUIRE(reporter.ok());
  const auto report = reporter->serve();
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  REQUIRE(report.ok());
  CHECK(report->calls.at("getppid") >= 1);
  CHECK(report->calls.at("openat") >= 6);
  CHECK(report->calls.at("execve") >= 1);
  CHECK(report->files.at("/etc/passwd") == false);
  CHECK(report->files.at("/dev/null") == true);
  ::close(ends[0]);
}

TEST_CASE("a process that ends before it reports is an error with a text", "[report]") {
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  ::close(ends[1]);
  CHECK(CallReporter::receive(ends[0]).text() == "the worker ended before it reported calls");
  ::close(ends[0]);
}

TEST_CASE("a reader of a report knows what each profile does with a call", "[report]") {
  CHECK(answer_of("read", Profile::strict) == Answer::allow);
  CHECK(answer_of("socket", Profile::strict) == Answer::refuse);
  CHECK(answer_of("socket", Profile::open) == Answer::allow);
  CHECK(answer_of("ptrace", Profile::open) == Answer::end);
  CHECK(answer_of("setuid", Profile::driver) == Answer::end);
}

}}  // namespace tenon::isolated
