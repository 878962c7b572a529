// SPDX-License-Identifier: MIT
#include "arguments.hpp"

#include <string>
#include <variant>
#include <vector>

#include "support/catch.hpp"
#include "tenon/abi/version.h"

namespace {

using tenon::PrintAndExit;
using tenon::run::Arguments;

auto parse(std::vector<const char*> words) {
  words.insert(words.begin(), "tenon-run");
  return tenon::run::parse_arguments(static_cast<int>(words.size()), words.data());
}

Arguments accept(std::vector<const char*> words) {
  auto result = parse(std::move(words));
  INFO(result.text());
  REQUIRE(result.ok());
  REQUIRE(std::holds_alternative<Arguments>(*result));
  return std::get<Arguments>(*result);
}

std::string refuse(std::vector<const char*> words) {
  const auto result = parse(std::move(words));
  REQUIRE_FALSE(result.ok());
  CHECK(result.error() == tenon::Error::InvalidArgument);
  return std::string(result.text());
}

std::string print(const char* word) {
  const auto result = parse({word});
  REQUIRE(result.ok());
  REQUIRE(std::holds_alternative<tenon::PrintAndExit>(*result));
  return std::get<tenon::PrintAndExit>(*result).text;
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("a model alone is enough", "[arguments]") {
  const auto arguments = accept({"m.pte"});
  CHECK(arguments.model == "m.pte");
  CHECK(arguments.method.empty());
  CHECK(arguments.repeat == 1);
  CHECK_FALSE(arguments.json);
  CHECK_FALSE(arguments.rtol.has_value());
}

TEST_CASE("every argument is read", "[arguments]") {
  const auto arguments =
      accept({"m.pte",   "--method", "f",      "--plugin", "a.so",     "--plugin=b.so", "--data",
              "w.ptd",   "--input",  "x",      "--input",  "y",        "--expect",      "z",
              "--rtol",  "1e-3",     "--atol", "0",        "--output", "out",           "--option",
              "B.k=v=w", "--repeat", "7",      "--trace",  "t.json",   "--json"});
  CHECK(arguments.method == "f");
  CHECK(arguments.plugins == Words{"a.so", "b.so"});
  CHECK(arguments.data == Words{"w.ptd"});
  CHECK(arguments.inputs == Words{"x", "y"});
  CHECK(arguments.expected == Words{"z"});
  CHECK(arguments.rtol == 1e-3);
  CHECK(arguments.atol == 0.0);
  CHECK(arguments.output == "out");
  CHECK(arguments.options == Words{"B.k=v=w"});
  CHECK(arguments.repeat == 7);
  CHECK(arguments.trace == "t.json");
  CHECK(arguments.json);
}

TEST_CASE("limits are set one by one, the last of a name counts", "[arguments]") {
  const auto arguments = accept({"m.pte", "--limit", "instructions=5", "--limit=planned_bytes=2K",
                                 "--limit", "instructions=6", "--limit", "output_bytes=none",
                                 "--limit", "printed_values=3", "--limit", "trace_events=4"});
  CHECK(arguments.limits.output_bytes == tenon::host::HostLimits::none);
  CHECK(arguments.limits.printed_values == 3);
  CHECK(arguments.limits.trace_events == 4);
  CHECK(arguments.limits.of_host.instructions == 6);
  CHECK(arguments.limits.of_host.planned_bytes == 2048);
  CHECK(arguments.limits.of_host.values == tenon::host::HostLimits().values);
  CHECK_THAT(refuse({"m.pte", "--limit", "instructions"}),
             ContainsSubstring("--limit: limit inst"));
  CHECK_THAT(
      refuse({"m.pte", "--limit", "printed=1"}),
      ContainsSubstring("there is no limit 'printed'; there are: name_bytes, ") &&
          ContainsSubstring(
              "run_milliseconds, intermediate_bytes, output_bytes, printed_values, trace_events"));
}

TEST_CASE("a time-out is a limit in seconds", "[arguments]") {
  CHECK(accept({"m.pte"}).limits.of_host.run_milliseconds == tenon::host::HostLimits::none);
  CHECK(accept({"m.pte", "--timeout", "1.5"}).limits.of_host.run_milliseconds == 1500);
  for (const char* wrong : {"0", "-1", "0.0001", "1e9", "nan", "inf", "soon", ""}) {
    CHECK_THAT(refuse({"m.pte", "--timeout", wrong}),
               ContainsSubstring("--timeout: expected seconds from 0.001 to 31536000, found ") &&
                   ContainsSubstring(wrong));
  }
}

TEST_CASE("hints for the backends have names", "[arguments]") {
  CHECK(accept({"m.pte"}).scheduling == tenon::Scheduling());
  const auto hints = accept({"m.pte", "--priority", "high", "--goal", "latency", "--power", "low"});
  CHECK(hints.scheduling ==
        tenon::Scheduling{tenon::Priority::High, tenon::Goal::Latency, tenon::Power::Low});
  for (const char* hint : {"--priority", "--goal", "--power"}) {
    for (const char* wrong : {"any", "higher", "2", ""}) {
      CHECK_THAT(refuse({"m.pte", hint, wrong}), ContainsSubstring(hint));
    }
  }
}

TEST_CASE("a pool has a number of threads", "[arguments]") {
  CHECK(accept({"m.pte"}).threads == 0);
  CHECK(accept({"m.pte", "--threads", "2"}).threads == 2);
  for (const char* wrong : {"0", "-1", "1025", "many", ""}) {
    CHECK_THAT(refuse({"m.pte", "--threads", wrong}), ContainsSubstring("--threads"));
  }
}

TEST_CASE("a budget has bytes by device", "[arguments]") {
  const auto arguments =
      accept({"m.pte", "--budget", "cpu=2K", "--budget", "cuda:3=none", "--memory"});
  REQUIRE(arguments.budget.size() == 2);
  CHECK(arguments.budget[0].device.device_type == TENON_DL_CPU);
  CHECK(arguments.budget[0].nbytes == 2048);
  CHECK(arguments.budget[1].device.device_type == TENON_DL_CUDA);
  CHECK(arguments.budget[1].device.device_id == 3);
  CHECK(arguments.budget[1].nbytes == tenon::host::HostLimits::none);
  CHECK(arguments.memory);
  CHECK_FALSE(accept({"m.pte"}).memory);
  for (const char* wrong : {"npu=1", "cuda:=1", "cuda:-1=1", "cuda:x=1", "=1", "1G"}) {
    CHECK_THAT(refuse({"m.pte", "--budget", wrong}),
               ContainsSubstring("--budget: expected a device such as cpu, cuda, cuda:1 or metal"));
  }
  CHECK_THAT(refuse({"m.pte", "--budget", "cpu"}), ContainsSubstring("limit cpu: expected"));
  CHECK_THAT(refuse({"m.pte", "--budget", "cpu=many"}), ContainsSubstring("limit cpu: expected"));
}

TEST_CASE("a list argument takes one value and leaves the model alone", "[arguments]") {
  const auto arguments = accept({"--plugin", "a.so", "m.pte"});
  CHECK(arguments.plugins == Words{"a.so"});
  CHECK(arguments.model == "m.pte");
}

TEST_CASE("a value that begins with a bracket or holds a comma is kept", "[arguments]") {
  CHECK(accept({"m.pte", "--input", "[a,b].npy"}).inputs == Words{"[a,b].npy"});
}

TEST_CASE("wrong arguments are refused by name", "[arguments]") {
  CHECK_THAT(refuse({}), ContainsSubstring("MODEL"));
  CHECK_THAT(refuse({"a.pte", "b.pte"}), ContainsSubstring("b.pte"));
  CHECK_THAT(refuse({"m.pte", "--unknown"}), ContainsSubstring("--unknown"));
  CHECK_THAT(refuse({"m.pte", "--plugin"}), ContainsSubstring("--plugin"));
  CHECK_THAT(refuse({"m.pte", "--method", "a", "--method", "b"}), ContainsSubstring("--method"));
  for (const char* bad : {"x", "-1", "nan", "inf", ""}) {
    CAPTURE(bad);
    CHECK_THAT(refuse({"m.pte", "--rtol", bad}), ContainsSubstring("--rtol"));
    CHECK_THAT(refuse({"m.pte", "--atol", bad}), ContainsSubstring("--atol"));
  }
  for (const char* bad : {"0", "-1", "x", "1.5", "10000001"}) {
    CAPTURE(bad);
    CHECK_THAT(refuse({"m.pte", "--repeat", bad}), ContainsSubstring("--repeat"));
  }
}

TEST_CASE("help shows each argument, examples and exit codes", "[arguments]") {
  const std::string help = print("--help");
  for (const char* word : {"MODEL", "--method", "--plugin", "--data", "--input", "--expect",
                           "--rtol", "--atol", "--output", "--option", "--repeat", "--trace",
                           "--json", "--version", "Examples:", "Exit codes:"}) {
    CAPTURE(word);
    CHECK_THAT(help, ContainsSubstring(word));
  }
}

TEST_CASE("version is the SDK's", "[arguments]") {
  CHECK(print("--version") == "tenon-run " TENON_VERSION_STRING "\n");
}
