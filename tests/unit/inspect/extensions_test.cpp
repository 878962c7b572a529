// SPDX-License-Identifier: MIT
//
// What tenon-inspect shows of a plugin whose device has memory, streams and sessions.
#include "support/catch.hpp"
#include "unit/tenon_run/process.hpp"

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
