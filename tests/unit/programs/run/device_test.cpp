// SPDX-License-Identifier: MIT
//
// tenon-run with programs whose memory is on a device. The device is the stand-in of
// tests/plugins/far/far_memory.cpp, whose memory kills a process that touches it from the host.
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "process.hpp"
#include "support/catch.hpp"
#include "support/device_program.hpp"
#include "support/environment.hpp"
#include "tenon/host/layers/arrays/npy.hpp"

namespace {

using tenon::test::device_program;
using tenon::test::ProgramBuilder;
using tenon::test::resident_program;
using test::Outcome;
using Words = std::vector<std::string>;

Outcome run(Words arguments) {
  const test::Variables nothing_installed{{"TENON_DISABLE", "*"}};
  const test::ScopedEnvironment environment(nothing_installed);
  return test::run_program(TENON_RUN, std::move(arguments));
}

std::string write(const test::TemporaryDirectory& directory, const ProgramBuilder& builder) {
  const auto file = builder.build();
  const auto bytes = file.bytes();
  const std::string path = directory.file("model.pte");
  test::write_file(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  return path;
}

std::string write_floats(const test::TemporaryDirectory& directory, const std::string& name,
                         float first, float step) {
  std::vector<float> values;
  for (int i = 0; i < 6; ++i) values.push_back(first + static_cast<float>(i) * step);
  const std::string path = directory.file(name);
  REQUIRE(tenon::host::write_npy(path, tenon::ScalarType::Float, std::vector<std::int64_t>{2, 3},
                                 std::as_bytes(std::span(values)))
              .ok());
  return path;
}

}  // namespace

TEST_CASE("tenon-run runs a program whose memory is on a device") {
  const test::TemporaryDirectory directory;
  const std::string model = write(directory, device_program());
  const Outcome outcome =
      run({model, "--plugin", TENON_FAR_PLUGIN, "--input", write_floats(directory, "a.npy", 1, 0),
           "--input", write_floats(directory, "b.npy", 1, 1), "--expect",
           write_floats(directory, "sum.npy", 2, 1)});
  INFO(outcome.err + outcome.out);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.err.empty());
}

TEST_CASE("tenon-run shows, writes and compares outputs on a device") {
  const test::TemporaryDirectory directory;
  const std::string model = write(directory, resident_program(true));
  const std::string input = write_floats(directory, "in.npy", 3, 2);
  const Outcome outcome = run({model, "--plugin", TENON_FAR_PLUGIN, "--input", input, "--expect",
                               input, "--output", directory.file("out"), "--json"});
  INFO(outcome.err + outcome.out);
  REQUIRE(outcome.exit_code == 0);
  const auto report = nlohmann::json::parse(outcome.out);
  CHECK_THAT(report.dump(), ContainsSubstring("3, 5, 7, 9, 11, 13"));
  CHECK(test::read_file(directory.file("out/output0.npy")) == test::read_file(input));
}

TEST_CASE("tenon-run exits with 4 and one message when no backend serves the device") {
  const test::TemporaryDirectory directory;
  const std::string model = write(directory, device_program("add", 5));
  const Outcome outcome =
      run({model, "--plugin", TENON_FAR_PLUGIN, "--input", write_floats(directory, "a.npy", 1, 0),
           "--input", write_floats(directory, "b.npy", 1, 1)});
  CHECK(outcome.exit_code == 4);
  CHECK(outcome.err ==
        "tenon-run: NotFound (0x20): planned buffer 2 of 96 bytes on CUDA device 5: no backend "
        "serves CUDA device 5: FarBackend: backend FarBackend finds CUDA device 0, CUDA device "
        "1\n");
}
