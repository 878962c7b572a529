// SPDX-License-Identifier: MIT
#include "kit/report/options.hpp"

#include <string>

#include "kit/report/all.hpp"
#include "support/catch.hpp"
#include "unit/conformance/report/sample_report.hpp"

using namespace tenon::conformance;

TEST_CASE("addresses are left out, short numbers stay", "[conformance]") {
  CHECK(stable_text("SIGSEGV at 0x7f12a4c01000 (behind input 1)") ==
        "SIGSEGV at 0x\xe2\x80\xa6 (behind input 1)");
  CHECK(stable_text("[0x55d0aa12b3c4]") == "[0x\xe2\x80\xa6]");
  CHECK(stable_text("InvalidProgram (0x23): magic 0x4e4f54") ==
        "InvalidProgram (0x23): magic 0x4e4f54");
  CHECK(stable_text("zoo.so+0x1a2b") == "zoo.so+0x1a2b");
  CHECK(stable_text("at 0x") == "at 0x");
  CHECK(stable_text("word0x7f12a4c01000") == "word0x7f12a4c01000");
}

TEST_CASE("process numbers are left out", "[conformance]") {
  CHECK(stable_text("pid 123, tid 4") == "pid \xe2\x80\xa6, tid \xe2\x80\xa6");
  CHECK(stable_text("==77==ERROR: x == 77") == "==\xe2\x80\xa6==ERROR: x == 77");
  CHECK(stable_text("==77 is not one") == "==77 is not one");
  CHECK(stable_text("/proc/77/maps") == "/proc/\xe2\x80\xa6/maps");
  CHECK(stable_text("rapid 123") == "rapid 123");
  CHECK(stable_text("pid is not a number") == "pid is not a number");
}

TEST_CASE("measured seconds are left out, limits stay", "[conformance]") {
  CHECK(stable_text("took 0.0123 s") == "took \xe2\x80\xa6 s");
  CHECK(stable_text("12.5 ms, 1.5 us") == "\xe2\x80\xa6 ms, \xe2\x80\xa6 us");
  CHECK(stable_text("no answer in 10 s") == "no answer in 10 s");
  CHECK(stable_text("largest difference 0.125") == "largest difference 0.125");
  CHECK(stable_text("version 1.2.3 seconds") == "version 1.2.3 seconds");
  CHECK(stable_text("0.5 sizes") == "0.5 sizes");
}

TEST_CASE("two runs that differ in time and place give the same reports", "[conformance]") {
  const Report first = sample::report_with_all_outcomes();
  Report second = first;
  second.started = "2027-01-01T00:00:00Z";
  second.seconds = 99;
  for (TestResult& each : second.subjects[0].tests) {
    each.seconds *= 3;
    for (Measurement& measured : each.measurements) measured.value *= 2;
    for (Crash& crash : each.crashes) {
      crash.what = "SIGSEGV at 0x7fffffff0000 (behind input 1)";
      crash.backtrace[0] = "write_behind at 0x7ffff7c01000 in zoo.so+0x1a2b";
    }
  }
  const ReportOptions stable{.with_times = false};
  CHECK(to_json(first, stable) == to_json(second, stable));
  CHECK(to_junit(first, stable) == to_junit(second, stable));
  CHECK(to_html(first, stable) == to_html(second, stable));
  CHECK(to_markdown(first, stable) == to_markdown(second, stable));
  CHECK(to_text(first, false, true, stable) == to_text(second, false, true, stable));
  CHECK(to_json(first) != to_json(second));
  CHECK(to_junit(first) != to_junit(second));
  CHECK(to_html(first) != to_html(second));
  CHECK(to_markdown(first) != to_markdown(second));
  CHECK(to_text(first, false, true) != to_text(second, false, true));

  SECTION("another outcome is still seen") {
    second.subjects[0].tests[0].outcome = Outcome::failed;
    CHECK(to_json(first, stable) != to_json(second, stable));
    CHECK(to_html(first, stable) != to_html(second, stable));
  }
  SECTION("no time is left") {
    for (const std::string& text :
         {to_json(first, stable), to_junit(first, stable), to_html(first, stable),
          to_markdown(first, stable), to_text(first, false, true, stable)}) {
      CHECK(text.find("2026-11-21") == text.npos);
      CHECK(text.find("0x7f12") == text.npos);
      CHECK(text.find("0.012") == text.npos);
      CHECK(text.find("12.5") == text.npos);
      CHECK(text.find("1.25e-05") == text.npos);
    }
  }
}

TEST_CASE("a slow test says so on its line of progress unless times are left out",
          "[conformance]") {
  TestResult slow = sample::test_of("unload", "is gone", Outcome::passed);
  slow.seconds = 2.5;
  CHECK(progress_line(7, 212, slow, false) ==
        "[  7/212] unload/is gone/ZooBackend/add ... passed, 2.500 s");
  CHECK(progress_line(7, 212, slow, false, {.with_times = false}) ==
        "[  7/212] unload/is gone/ZooBackend/add ... passed");
}
