// SPDX-License-Identifier: MIT
#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <thread>

#include "isolated.hpp"
#include "support/catch.hpp"
#include "support/rounds.hpp"

using namespace tenon;
using namespace tenon::test;

namespace isolated_kill_test { namespace {

TEST_CASE("a worker that is killed at any time costs a call, and nothing is left or wrong") {
  const auto num_kills = static_cast<int>(rounds(number_from_environment("TENON_TEST_KILLS", 30)));
  Application application(TENON_TEST_HELLO);
  auto method =
      application.load(add_program, {{"Add", "isolated.restart", std::int64_t{1'000'000}}});
  REQUIRE(method.ok());
  REQUIRE(add(**method).ok());
  const auto before = open_descriptors();
  std::atomic<bool> is_over = false;
  std::atomic<int> kills = 0;
  std::thread killer([&] {
    std::mt19937 random(7);
    std::uniform_int_distribution<int> pause(0, 3000);
    while (kills < num_kills) {
      std::this_thread::sleep_for(std::chrono::microseconds(pause(random)));
      // The supervisor, the worker, or both.
      for (const pid_t each : worker_processes()) {
        if (random() % 2 == 0) ::kill(each, SIGKILL);
      }
      ++kills;
    }
    is_over = true;
  });
  int right = 0;
  int failed = 0;
  int wrong = 0;
  while (!is_over) {
    const auto got = add(**method, static_cast<float>(right % 100));
    if (!got.ok()) {
      ++failed;
    } else if ((*got)[0] == static_cast<float>(10 + right % 100) && (*got)[5] == 65) {
      ++right;
    } else {
      ++wrong;
    }
  }
  killer.join();
  INFO(right << " calls were right, " << failed << " failed");
  CHECK(wrong == 0);
  CHECK(failed > 0);
  // The last worker may have been killed after the last call.
  auto last = add(**method);
  for (int i = 0; i < 3 && !last.ok(); ++i) last = add(**method);
  INFO(last.text());
  REQUIRE(last.ok());
  CHECK(*last == sum);
  CHECK(open_descriptors().size() == before.size());
  method->reset();
}

}}  // namespace isolated_kill_test
