// SPDX-License-Identifier: MIT
//
// The checks that a machine with a GPU makes, on the stand-in for the driver, with a model that
// computes by copying.
#include "checks.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "app_stream.hpp"
#include "cuda_host.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/host/layers/arrays/npy.hpp"

using namespace tenon;
using namespace tenon::test;
using gpu_programs::Check;
using gpu_programs::Kind;
using gpu_programs::Outcome;

namespace {

class Collected final : public gpu_programs::Reporter {
 public:
  void report(const Check& check) override { checks.push_back(check); }

  [[nodiscard]] std::vector<std::string> names(Outcome outcome) const {
    std::vector<std::string> out;
    for (const Check& check : checks) {
      if (check.outcome == outcome) out.push_back(check.name.substr(check.name.find(": ") + 2));
    }
    return out;
  }

  std::vector<Check> checks;
};

/// What a run is given and must answer: numbers x -> (3, state), and then the state is x.
struct Run {
  float x;
  float state;
  std::int64_t size = 16;
};

/// A case of a program of copy_model.cpp.
class CopyCase {
 public:
  CopyCase(const CudaParts& parts, const std::vector<Run>& runs) {
    const AlignedBytes program = build_program(parts);
    directory_.write("model.pte", {reinterpret_cast<const char*>(program.bytes().data()),
                                   program.bytes().size()});
    std::string text;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const std::string number = std::to_string(i);
      write("x" + number, runs[i].x, runs[i].size);
      write("w" + number, parts.weight, runs[i].size);
      write("s" + number, runs[i].state, runs[i].size);
      text += std::string(i == 0 ? "" : ",") + R"({"inputs": ["x)" + number +
              R"(.npy"], "expected": ["w)" + number + R"(.npy", "s)" + number + R"(.npy"]})";
    }
    directory_.write("case.json", R"({"name": "copies", "runs": [)" + text + "]}");
  }

  /// Makes the checks on a new stand-in, after `prepare`.
  [[nodiscard]] Collected check(Kind kind, bool compares = true, void (*prepare)() = [] {}) const {
    cuda().set_machine({});
    cuda().reset();
    prepare();
    auto driver = gpu_programs::Driver::open();
    INFO(driver.text());
    REQUIRE(driver.ok());
    Collected out;
    const Status status = gpu_programs::check_case(kind, directory_.path(), TENON_TEST_CUDA_AOTI,
                                                   *driver, compares, out);
    INFO(status.text());
    REQUIRE(status.ok());
    CHECK(driver->misuses().empty());
    return out;
  }

 private:
  void write(const std::string& name, float value, std::int64_t size) const {
    const auto bytes = filled(value, static_cast<std::size_t>(size) * sizeof value);
    REQUIRE(
        host::write_npy(directory_.file(name + ".npy"), ScalarType::Float, {&size, 1}, bytes).ok());
  }

  TemporaryDirectory directory_;
};

const std::vector<std::string> all = {"all runs, loaded twice", "as a CUDA graph", "in sessions",
                                      "on streams of the application", "in two threads"};

}  // namespace

TEST_CASE("a right program passes each check, in each generation", "[cuda]") {
  const int generation = GENERATE(1, 2, 3);
  const CopyCase copies({.generation = generation}, {{1, 10}, {2, 1}, {5, 2}});
  const Collected found = copies.check(Kind::results);
  for (const Check& each : found.checks) {
    INFO(each.name << ": " << each.detail);
    CHECK(each.outcome == Outcome::pass);
  }
  CHECK(found.names(Outcome::pass) == all);
}

TEST_CASE("a wrong result fails each check that compares with the recorded ones", "[cuda]") {
  const CopyCase copies({}, {{1, 10}, {2, 1}, {5, 7}});
  const Collected found = copies.check(Kind::results);
  CHECK(found.names(Outcome::fail) ==
        std::vector<std::string>{"all runs, loaded twice", "in sessions", "in two threads"});
  CHECK_THAT(found.checks.front().detail, ContainsSubstring("load 0, run 2: output 1: "));
}

TEST_CASE("a result that a graph changes fails", "[cuda]") {
  // It counts its runs on the host, and a graph has the count of its capture. The check of all runs
  // expects 3 as well.
  const CopyCase counts({.model = "counts"}, {{1, 10}});
  const Collected found = counts.check(Kind::results);
  const auto graph = std::ranges::find(found.checks, "copies: as a CUDA graph", &Check::name);
  REQUIRE(graph != found.checks.end());
  CHECK(graph->outcome == Outcome::fail);
  CHECK_THAT(graph->detail,
             ContainsSubstring("run 4: byte ") && ContainsSubstring("without this option"));
}

TEST_CASE("a program that cannot be captured fails as a CUDA graph", "[cuda]") {
  const CopyCase waits({.model = "waits"}, {{1, 10}, {2, 1}});
  const Collected found = waits.check(Kind::results);
  CHECK(found.names(Outcome::fail) ==
        std::vector<std::string>{"as a CUDA graph", "in two threads"});
  for (const Check& each : found.checks) {
    if (each.outcome != Outcome::fail) continue;
    CHECK_THAT(each.detail, ContainsSubstring("runs without a CUDA graph: "));
  }
}

TEST_CASE("shapes that change are also run in another order", "[cuda]") {
  const CopyCase dynamic({.is_dynamic = true}, {{10, 10, 16}, {10, 10, 3}, {10, 10, 16}});
  const Collected found = dynamic.check(Kind::results);
  std::vector<std::string> expected = all;
  expected.emplace_back("shapes in another order");
  CHECK(found.names(Outcome::pass) == expected);
}

TEST_CASE("runs are timed by events, and a run that copies cannot be captured", "[cuda]") {
  const CopyCase copies({}, {{1, 10}});
  const Collected found = copies.check(Kind::times);
  REQUIRE(found.checks.size() == 1);
  const Check& times = found.checks.front();
  INFO(times.detail);
  // The state is of the run before.
  CHECK(times.outcome == Outcome::fail);
  CHECK_THAT(times.detail, ContainsSubstring("plain: output 1: "));
  const CopyCase settled({}, {{1, 1}});
  const Collected second = settled.check(Kind::times);
  REQUIRE(second.checks.size() == 1);
  INFO(second.checks.front().detail);
  CHECK(second.names(Outcome::pass) == std::vector<std::string>{"times"});
  CHECK_THAT(second.checks.front().detail,
             Catch::Matchers::StartsWith("{\"load\": ") &&
                 ContainsSubstring(", \"copies\": true, \"plain\": ") &&
                 ContainsSubstring("\"plain_median\": ") &&
                 ContainsSubstring("\"why_not_captured\": \""));
}

TEST_CASE("no check of results passes where nothing is compared", "[cuda]") {
  const CopyCase wrong({}, {{1, 7}});
  const Collected found = wrong.check(Kind::results, false);
  CHECK(found.names(Outcome::skip) == all);
  CHECK_THAT(found.checks.front().detail, ContainsSubstring("results not compared"));
}

TEST_CASE("memory that loads leave on the device is a failure", "[cuda]") {
  const CopyCase copies({}, {{1, 10}});
  CHECK(copies.check(Kind::memory).names(Outcome::pass) == std::vector<std::string>{"memory"});
  // A quarter of a MiB for each load, as if the backend had forgotten it.
  static std::vector<unsigned long long> lost;
  struct Lose {
    static void arm() { cuda().after_call("cuMemGetInfo", &hook, nullptr); }
    static void hook(void*) {
      void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
      auto* const allocate = reinterpret_cast<int (*)(unsigned long long*, std::size_t)>(
          ::dlsym(library, "cuMemAlloc_v2"));
      if (allocate(&lost.emplace_back(), std::size_t{1} << 18) != 0) lost.pop_back();
      arm();
    }
  };
  lost.clear();
  const Collected found = copies.check(Kind::memory, true, &Lose::arm);
  CHECK(found.names(Outcome::fail) == std::vector<std::string>{"memory"});
  const AppDriver app;
  for (const unsigned long long block : lost) CHECK(app.in_context("cuMemFree_v2", block) == 0);
  cuda().reset();
}
