// SPDX-License-Identifier: MIT
#include "tenon/host/layers/trace/trace.hpp"

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "tenon/backend/context.hpp"

namespace {

using tenon::Tracer;
using tenon::host::Trace;

// The events of a trace without the one that names the process; fails when it is not valid JSON.
std::vector<nlohmann::json> events_of(const Trace& trace) {
  const auto json = nlohmann::json::parse(trace.json());
  const auto& events = json.at("traceEvents");
  REQUIRE(events.at(0).at("ph") == "M");
  return {events.begin() + 1, events.end()};
}

std::string json_of(std::string_view text) {
  std::string out;
  tenon::host::detail::append_json_string(out, text);
  return out;
}

}  // namespace

TEST_CASE("an event is written with its time in microseconds", "[trace]") {
  Trace trace;
  trace.add("execute", "method", 1'234'567, 1'234'600, {{"method", "forward"}, {"run", "0"}});
  const auto events = events_of(trace);
  REQUIRE(events.size() == 1);
  CHECK(events[0].at("ph") == "X");
  CHECK(events[0].at("name") == "execute");
  CHECK(events[0].at("cat") == "method");
  CHECK(events[0].at("ts").get<double>() == 1234.567);
  CHECK(events[0].at("dur").get<double>() == 0.033);
  CHECK(events[0].at("pid").is_number_integer());
  CHECK(events[0].at("tid").is_number_integer());
  CHECK(events[0].at("args").at("method") == "forward");
  CHECK(events[0].at("args").at("run") == "0");
}

TEST_CASE("a trace without events is valid", "[trace]") {
  const Trace trace;
  CHECK(events_of(trace).empty());
  CHECK(trace.size() == 0);
  CHECK(trace.dropped() == 0);
}

TEST_CASE("the durations of events of one name are added up", "[trace]") {
  Trace trace;
  trace.add("init", "delegate", 10, 15);
  trace.add("init", "delegate", 20, 27);
  trace.add("load", "method", 0, 100);
  CHECK(trace.total_ns("init") == 12);
  CHECK(trace.total_ns("none") == 0);
}

TEST_CASE("an end before the start is a duration of 0", "[trace]") {
  Trace trace;
  trace.add("odd", "test", 2000, 1000);
  CHECK(events_of(trace)[0].at("dur").get<double>() == 0);
}

TEST_CASE("the clock starts with the trace and is monotonic", "[trace]") {
  const Trace trace;
  const auto first = trace.now_ns();
  const auto second = trace.now_ns();
  CHECK(first <= second);
  CHECK(trace.table()->now(trace.table()) >= second);
}

TEST_CASE("a backend's own events arrive through the C table", "[trace]") {
  Trace trace;
  const tenon_tracer* const table = trace.table();
  CHECK(table->struct_size == sizeof(tenon_tracer));
  table->log_event(table, "gemm (rest not counted)", 4, 17, 1000, 3000, "tile=8", 6);
  table->log_event(table, nullptr, 0, -1, 0, 0, nullptr, 0);
  const auto events = events_of(trace);
  REQUIRE(events.size() == 2);
  CHECK(events[0].at("name") == "gemm");
  CHECK(events[0].at("cat") == "backend");
  CHECK(events[0].at("dur").get<double>() == 2);
  CHECK(events[0].at("args").at("debug_handle") == "17");
  CHECK(events[0].at("args").at("metadata") == "tile=8");
  CHECK(events[1].at("name") == "");
  CHECK(events[1].at("args").empty());
}

TEST_CASE("a backend's counters arrive through the C table, with their units", "[trace]") {
  Trace trace;
  const tenon_tracer* const table = trace.table();
  table->log_counter(table, "weights (rest not counted)", 7, "bytes and more", 5, 1500, 0.25);
  table->log_counter(table, "queue", 5, nullptr, 0, 2500, 3);
  table->log_counter(table, "bad", 3, "", 0, 2500, std::numeric_limits<double>::infinity());
  CHECK(trace.dropped() == 1);
  const auto events = events_of(trace);
  REQUIRE(events.size() == 2);
  CHECK(events[0].at("ph") == "C");
  CHECK(events[0].at("name") == "weights");
  CHECK(events[0].at("cat") == "backend");
  CHECK(events[0].at("ts").get<double>() == 1.5);
  CHECK_FALSE(events[0].contains("dur"));
  CHECK(events[0].at("args").at("bytes").get<double>() == 0.25);
  CHECK(events[1].at("args").at("value").get<double>() == 3);
  CHECK(trace.total_ns("queue") == 0);
}

TEST_CASE("a host without log_counter records no counters", "[trace]") {
  Trace trace;
  tenon_tracer without = *trace.table();
  without.log_counter = nullptr;
  Tracer(&without).log_counter("queue", 1, "tasks");
  Tracer(nullptr).log_counter("queue", 1);
  CHECK(trace.size() == 0);
  Tracer(trace.table()).log_counter("queue", 2, "tasks");
  CHECK(events_of(trace).at(0).at("args").at("tasks").get<double>() == 2);
}

TEST_CASE("text of any bytes gives valid JSON", "[trace]") {
  Trace trace;
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  trace.add(all, all, 0, 1, {{all, all}});
  trace.table()->log_event(trace.table(), all.data(), all.size(), 0, 0, 1, all.data(), all.size());
  CHECK(events_of(trace).size() == 2);
}

TEST_CASE("well-formed UTF-8 is kept and the rest replaced", "[trace]") {
  CHECK(json_of("a\"b\\c\nd") == "\"a\\\"b\\\\c\\nd\"");
  CHECK(json_of(std::string_view("\x01\x7f\0", 3)) == "\"\\u0001\\u007f\\u0000\"");
  const std::string good = "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf \xed\x9f\xbf";
  CHECK(json_of(good) == "\"" + good + "\"");
  const std::string sign = "\xef\xbf\xbd";
  // A lone byte, an overlong form, a surrogate, a number above U+10FFFF, and cut sequences.
  CHECK(json_of("\xff") == "\"" + sign + "\"");
  CHECK(json_of("\x80") == "\"" + sign + "\"");
  CHECK(json_of("\xc0\xaf") == "\"" + sign + sign + "\"");
  CHECK(json_of("\xe0\x80\x80") == "\"" + sign + sign + sign + "\"");
  CHECK(json_of("\xed\xa0\x80") == "\"" + sign + sign + sign + "\"");
  CHECK(json_of("\xf4\x90\x80\x80") == "\"" + sign + sign + sign + sign + "\"");
  CHECK(json_of("\xf0\x80\x80\x80") == "\"" + sign + sign + sign + sign + "\"");
  CHECK(json_of("\xc3") == "\"" + sign + "\"");
  CHECK(json_of("\xe2\x82") == "\"" + sign + sign + "\"");
  CHECK(json_of("\xf0\x9f\x98") == "\"" + sign + sign + sign + "\"");
  CHECK(json_of("\xc3(") == "\"" + sign + "(\"");
}

TEST_CASE("threads may report at the same time and are distinguished", "[trace]") {
  Trace trace;
  {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&trace] {
        for (int k = 0; k < 200; ++k) {
          trace.table()->log_event(trace.table(), "step", 4, -1, trace.now_ns(), trace.now_ns(),
                                   nullptr, 0);
        }
      });
    }
    for (auto& thread : threads) thread.join();
  }
  CHECK(trace.size() == 800);
  trace.add("main", "test", 0, 1);
  const auto events = events_of(trace);
  CHECK(events.size() == 801);
  for (const auto& event : events) {
    CHECK(event.at("tid").get<int>() >= 1);
    CHECK(event.at("tid").get<int>() <= 5);
  }
}

TEST_CASE("a trace is written to its file, or the failure names it", "[trace]") {
  Trace trace;
  trace.add("load", "method", 0, 1);
  const auto path = std::filesystem::temp_directory_path() / "tenon_trace_test.json";
  REQUIRE(trace.write(path.string()).ok());
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  CHECK(text == trace.json());
  std::filesystem::remove(path);

  const auto failed = trace.write("/nonexistent/folder/trace.json");
  CHECK(failed.error() == tenon::Error::AccessFailed);
  CHECK_THAT(std::string(failed.text()), ContainsSubstring("/nonexistent/folder/trace.json"));
}
