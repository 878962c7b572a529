// SPDX-License-Identifier: MIT
//
// What tenon-inspect shows of a plugin whose device has memory, streams and sessions, and of one
// with kernels.
#include <nlohmann/json.hpp>

#include "support/catch.hpp"
#include "unit/tools/run/process.hpp"

TEST_CASE("--load shows device memory, streams and sessions among the extensions") {
  const test::Outcome outcome = test::run_program(TENON_INSPECT, {TENON_FAR_PLUGIN, "--load"});
  INFO(outcome.err);
  CHECK_THAT(outcome.out,
             ContainsSubstring("  backend FarBackend\n"
                               "    available: yes\n"
                               "    extensions: tenon.device_memory/1, tenon.devices/1, "
                               "tenon.sessions/1, tenon.streams/1\n"
                               "    device 2:0 stand-in, memory that the host cannot touch\n"
                               "    device 2:1 stand-in, memory that the host cannot touch\n"));
}

TEST_CASE("a backend with kernels says so, and --load lists their operators") {
  const test::Outcome plain = test::run_program(TENON_INSPECT, {TENON_ARITHMETIC_PLUGIN});
  CHECK_THAT(plain.out, ContainsSubstring("  backend ArithmeticKernels: aten::add.out and "
                                          "aten::mul.out of float32\n"
                                          "    has kernels for operators of programs\n"));
  const test::Outcome loaded =
      test::run_program(TENON_INSPECT, {TENON_ARITHMETIC_PLUGIN, "--load"});
  CHECK_THAT(loaded.out, ContainsSubstring("    extensions: tenon.kernels/1\n"
                                           "    kernels for 2 operators: aten::add.out, "
                                           "aten::mul.out\n"));
  const auto json = nlohmann::json::parse(
      test::run_program(TENON_INSPECT, {TENON_ARITHMETIC_PLUGIN, "--load", "--json"}).out);
  CHECK(json["record"]["backends"][0]["offers_kernels"] == true);
  const auto& backend = json["loaded"]["backends"][0];
  CHECK(backend["operators"] == nlohmann::json{"aten::add.out", "aten::mul.out"});
  CHECK(backend["operators_error"].is_null());
}
