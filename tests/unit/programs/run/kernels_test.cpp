// SPDX-License-Identifier: MIT
//
// Programs whose operators were left to the host, with the kernels of a plugin.
#include <string>
#include <vector>

#include "process.hpp"
#include "support/catch.hpp"
#include "support/environment.hpp"

namespace kernels_test {

const std::string fixtures = TENON_TEST_FIXTURES;

// Plugins that are installed on this machine, or that its variables name, must not matter.
test::Outcome run(std::vector<std::string> arguments) {
  const test::ScopedEnvironment environment(test::Variables{{"TENON_DISABLE", "*"}});
  return test::run_program(TENON_RUN, std::move(arguments));
}

/// The fixture `add_dynamic_portable` with its inputs and outputs number `call`.
std::vector<std::string> add_of(const std::string& call) {
  const std::string directory = fixtures + "/add_dynamic_portable/";
  return {directory + "model.pte",
          "--plugin",
          TENON_ARITHMETIC_PLUGIN,
          "--input",
          directory + call + "_in0.npy",
          "--input",
          directory + call + "_in1.npy",
          "--expect",
          directory + call + "_out0.npy",
          "--rtol",
          "0",
          "--atol",
          "0"};
}

}  // namespace kernels_test

TEST_CASE("operators left in a program run with the kernels of a named plugin, at several sizes",
          "[run][kernels]") {
  for (const char* call : {"c0", "c1"}) {
    const auto outcome = kernels_test::run(kernels_test::add_of(call));
    INFO(outcome.out + outcome.err);
    CHECK(outcome.exit_code == 0);
    CHECK_THAT(outcome.out, ContainsSubstring("equal: "));
  }
}

TEST_CASE("a trace says whose kernel ran which operator", "[run][kernels]") {
  const test::TemporaryDirectory directory;
  const std::string trace = directory.file("trace.json");
  auto words = kernels_test::add_of("c0");
  words.insert(words.end(), {"--trace", trace});
  REQUIRE(kernels_test::run(words).exit_code == 0);
  CHECK_THAT(test::read_file(trace), ContainsSubstring("\"name\":\"KernelCall\"") &&
                                         ContainsSubstring("\"operator\":\"aten::add.out\"") &&
                                         ContainsSubstring("\"backend\":\"ArithmeticKernels\""));
}

TEST_CASE("what a plugin with kernels does not have is missing all the same", "[run][kernels]") {
  const std::string directory = kernels_test::fixtures + "/mlp_portable/";
  const auto outcome =
      kernels_test::run({directory + "model.pte", "--plugin", TENON_ARITHMETIC_PLUGIN, "--input",
                         directory + "c0_in0.npy"});
  CHECK(outcome.exit_code == 3);
  CHECK_THAT(outcome.err, ContainsSubstring("OperatorMissing (0x14)") &&
                              ContainsSubstring("ArithmeticKernels: backend ArithmeticKernels has "
                                                "no kernel for aten::addmm.out"));
}
