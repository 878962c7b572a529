// SPDX-License-Identifier: MIT
#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <tenon/backend/event_watcher.hpp>
#include <thread>

#include "support/catch.hpp"
#include "support/event_calls.hpp"

using namespace tenon;
using tenon::test::EventCalls;

namespace {

std::uint64_t passed_ns(std::chrono::steady_clock::time_point begin) {
  const auto passed = std::chrono::steady_clock::now() - begin;
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(passed).count());
}

}  // namespace

TEST_CASE("a wait by questions ends with the event, or with its limit", "[backend][TN-EVT-15]") {
  int asked = 0, waited = 0;
  const auto wait = [&] {
    ++waited;
    return error(Error::EndOfMethod, "the outcome");
  };
  const auto never = [&] {
    ++asked;
    return false;
  };
  // Without a limit nothing is asked.
  CHECK(wait_by_query(TENON_NO_TIMEOUT, never, wait).error() == Error::EndOfMethod);
  CHECK((asked == 0 && waited == 1));

  CHECK(wait_by_query(0, never, wait).error() == Error::TimedOut);
  CHECK((asked == 1 && waited == 1));
  constexpr std::uint64_t limit = 3'000'000;
  const auto begin = std::chrono::steady_clock::now();
  const Status late = wait_by_query(limit, never, wait);
  CHECK(late.error() == Error::TimedOut);
  CHECK_THAT(std::string(late.text()), ContainsSubstring("complete in 3000000 ns"));
  CHECK(passed_ns(begin) >= limit);
  CHECK(waited == 1);

  int left = 5;
  const auto soon = [&]() -> Result<bool> { return --left == 0; };
  CHECK(wait_by_query(TENON_NO_TIMEOUT - 1, soon, wait).error() == Error::EndOfMethod);
  CHECK((left == 0 && waited == 2));
  const auto fails = []() -> Result<bool> { return error(Error::AccessFailed, "no answer"); };
  CHECK(wait_by_query(limit, fails, wait).error() == Error::AccessFailed);
}

TEST_CASE("a watcher calls each function once, when its event is complete",
          "[backend][threads][TN-EVT-16][TN-EVT-17]") {
  std::atomic<bool> first = false, second = false;
  EventCalls of_first, of_second, of_failed, of_thrown;
  EventWatcher watcher;
  const auto add = [&](auto is_complete, EventCalls& calls) {
    return watcher.add(is_complete, {&EventCalls::add, &calls}).ok();
  };
  REQUIRE(add([&] { return first.load(); }, of_first));
  REQUIRE(add([&] { return second.load(); }, of_second));
  CHECK((of_first.count() == 0 && of_second.count() == 0));
  second = true;  // Also before an earlier one.
  CHECK(of_second.wait_for_one());
  CHECK(of_first.count() == 0);
  REQUIRE(add([]() -> Result<bool> { return error(Error::Internal, "lost"); }, of_failed));
  CHECK(of_failed.wait_for_one());
  REQUIRE(add([]() -> Result<bool> { throw std::runtime_error("lost"); }, of_thrown));
  CHECK(of_thrown.wait_for_one());
  first = true;
  CHECK(of_first.wait_for_one());
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(of_first.count() == 1);
  CHECK(of_second.count() == 1);
}

TEST_CASE("a watcher ends with its backend, used or not", "[backend][threads][TN-BCK-5]") {
  {
    const EventWatcher unused;
  }
  EventCalls calls;
  {
    EventWatcher watcher;
    REQUIRE(watcher.add([] { return true; }, {&EventCalls::add, &calls}).ok());
    REQUIRE(calls.wait_for_one());
    REQUIRE(watcher.add([] { return false; }, {&EventCalls::add, &calls}).ok());
  }
  CHECK(calls.count() == 1);
}
