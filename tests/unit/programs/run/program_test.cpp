// SPDX-License-Identifier: MIT
//
// tenon-run as its users see it: arguments in, exit code, text and files out.
#include <sys/resource.h>

#include <filesystem>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "process.hpp"
#include "support/catch.hpp"
#include "support/environment.hpp"
#include "tenon/abi/version.h"
#include "tenon/host/layers/arrays/npy.hpp"

namespace program_test {
namespace {

using test::Outcome;
using test::read_file;
using test::TemporaryDirectory;
using test::write_file;
using Words = std::vector<std::string>;

const std::string fixtures = TENON_TEST_FIXTURES;
const std::string sin_model = fixtures + "/demo_sin_seg/model.pte";
const std::string sin_input = fixtures + "/demo_sin_seg/c0_in0.npy";
const std::string sin_output = fixtures + "/demo_sin_seg/c0_out0.npy";

// Plugins that are installed on this machine, or that its variables name, must not matter.
Outcome run(Words arguments, const test::Variables& variables = {{"TENON_DISABLE", "*"}}) {
  const test::ScopedEnvironment environment(variables);
  return test::run_program(TENON_RUN, std::move(arguments));
}

// The arguments that run the fixture `demo_sin_seg` with success, and more behind them.
Words sin_with(const Words& more) {
  Words words{sin_model, "--plugin", TENON_DEMO_PLUGIN, "--input", sin_input};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

void check_fails(const Outcome& outcome, int exit_code, const std::string& start,
                 const std::string& text) {
  INFO(outcome.err);
  CHECK(outcome.exit_code == exit_code);
  CHECK(outcome.err.starts_with("tenon-run: " + start));
  CHECK_THAT(outcome.err, ContainsSubstring(text));
  // One line, with its end.
  CHECK(outcome.err.find('\n') == outcome.err.size() - 1);
  CHECK((outcome.out.empty() || outcome.out.starts_with('{')));
}

// A copy of the fixture's program in which `from` reads `to`, of the same length.
std::string altered_model(const TemporaryDirectory& directory, const std::string& from,
                          const std::string& to) {
  std::string bytes = read_file(sin_model);
  const std::size_t at = bytes.find(from);
  REQUIRE(at != std::string::npos);
  REQUIRE(from.size() == to.size());
  bytes.replace(at, from.size(), to);
  const std::string path = directory.file("altered.pte");
  write_file(path, bytes);
  return path;
}

std::string write_floats(const std::string& path, const std::vector<std::int64_t>& shape,
                         const std::vector<float>& values) {
  REQUIRE(tenon::host::write_npy(path, tenon::ScalarType::Float, shape,
                                 std::as_bytes(std::span(values)))
              .ok());
  return path;
}

// Runs a no-op program with the backend that fills its output (fill_plugin.cpp).
Outcome run_fill(const TemporaryDirectory& directory, const Words& more) {
  const auto input = write_floats(directory.file("x.npy"), {4}, {1, 2, 3, 4});
  Words words{fixtures + "/bench/noop_call_1.pte", "--plugin", TENON_FILL_PLUGIN, "--input", input};
  words.insert(words.end(), more.begin(), more.end());
  return run(std::move(words));
}

// What the program prints for its input with --json.
nlohmann::json json_of(const Outcome& outcome) {
  INFO(outcome.out);
  REQUIRE(nlohmann::json::accept(outcome.out));
  return nlohmann::json::parse(outcome.out);
}

}  // namespace

TEST_CASE("help and version are printed with success", "[run]") {
  test::check_help_and_version(run({"--help"}), run({"--version"}), "tenon-run");
}

TEST_CASE("a program runs and its outputs are shown", "[run]") {
  const auto outcome = run(sin_with({}));
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.err.empty());
  CHECK_THAT(outcome.out, ContainsSubstring("method forward"));
  CHECK_THAT(outcome.out, ContainsSubstring("input 0: Float [1, 4] from " + sin_input));
  CHECK_THAT(outcome.out, ContainsSubstring("output 0: Float [1, 4]: "));
  CHECK_THAT(outcome.out, ContainsSubstring("time: open "));
}

TEST_CASE("expected outputs are compared", "[run]") {
  const auto equal = run(sin_with({"--expect", sin_output}));
  INFO(equal.out + equal.err);
  CHECK(equal.exit_code == 0);
  CHECK_THAT(equal.out, ContainsSubstring("equal: 4 elements"));

  const TemporaryDirectory directory;
  const auto wrong = write_floats(directory.file("wrong.npy"), {1, 4}, {9, 9, 9, 9});
  const auto far = run(sin_with({"--expect", wrong}));
  CHECK(far.exit_code == 1);
  CHECK(far.err.empty());
  CHECK_THAT(far.out, ContainsSubstring("differs: 4 of 4 elements (100 %)"));
  CHECK_THAT(far.out, ContainsSubstring("largest absolute difference"));

  const auto wide = run(sin_with({"--expect", wrong, "--atol", "9"}));
  CHECK(wide.exit_code == 0);
  CHECK_THAT(wide.out, ContainsSubstring("within rtol 1.3e-06, atol 9"));

  const auto other_shape = write_floats(directory.file("shape.npy"), {4}, {0, 0, 0, 0});
  const auto shape = run(sin_with({"--expect", other_shape}));
  CHECK(shape.exit_code == 1);
  CHECK_THAT(shape.out, ContainsSubstring("differs: shape is [1, 4], expected [4]"));
}

TEST_CASE("outputs are written as files that can be read back", "[run]") {
  const TemporaryDirectory directory;
  const std::string results = directory.file("new/results");
  const auto outcome = run(sin_with({"--output", results}));
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  const std::string written = results + "/output0.npy";
  CHECK_THAT(outcome.out, ContainsSubstring("written to " + written));
  // What was written is what a second run computes, to the last bit.
  const auto again = run(sin_with({"--expect", written, "--rtol", "0", "--atol", "0"}));
  CHECK(again.exit_code == 0);
  CHECK_THAT(again.out, ContainsSubstring("equal: 4 elements, no difference"));
}

TEST_CASE("outputs that differ are still written", "[run]") {
  const TemporaryDirectory directory;
  const auto wrong = write_floats(directory.file("wrong.npy"), {1, 4}, {9, 9, 9, 9});
  const auto outcome = run(sin_with({"--expect", wrong, "--output", directory.file("out")}));
  CHECK(outcome.exit_code == 1);
  CHECK(std::filesystem::exists(directory.file("out/output0.npy")));
}

TEST_CASE("the JSON object has what the text has", "[run]") {
  const TemporaryDirectory directory;
  const auto wrong = write_floats(directory.file("wrong.npy"), {1, 4}, {9, 9, 9, 9});
  const auto outcome = run(sin_with({"--json", "--repeat", "3", "--expect", wrong}));
  CHECK(outcome.exit_code == 1);
  const auto json = json_of(outcome);
  CHECK(json.at("status") == "differs");
  CHECK(json.at("exit_code") == 1);
  CHECK(json.at("error").is_null());
  CHECK(json.at("program") == sin_model);
  CHECK(json.at("method") == "forward");
  CHECK(json.at("plugins").at(0).at("file") == TENON_DEMO_PLUGIN);
  CHECK(json.at("plugins").at(0).at("backends") == Words{"BackendWithCompilerDemo"});
  CHECK(json.at("inputs").at(0).at("dtype") == "Float");
  CHECK(json.at("outputs").at(0).at("kind") == "Tensor");
  CHECK(json.at("outputs").at(0).at("dtype") == "Float");
  CHECK(json.at("outputs").at(0).at("shape") == std::vector<int>{1, 4});
  CHECK(json.at("outputs").at(0).at("file").is_null());
  const auto& compare = json.at("outputs").at(0).at("compare");
  CHECK(compare.at("file") == wrong);
  CHECK(compare.at("equal") == false);
  CHECK(compare.at("num_mismatches") == 4);
  CHECK(compare.at("largest_absolute").at("index").size() == 2);
  CHECK(compare.at("rtol") == 1.3e-6);
  CHECK(json.at("timings").at("execute").at("count") == 3);
  CHECK(json.at("timings").at("execute").at("min_ns") <=
        json.at("timings").at("execute").at("median_ns"));
}

TEST_CASE("a failure is in the JSON object and on standard error", "[run]") {
  const auto outcome = run({fixtures + "/demo_sin_seg/fixture.json", "--json"});
  check_fails(outcome, 3, "InvalidProgram (0x23): ", "fixture.json");
  const auto json = json_of(outcome);
  CHECK(json.at("status") == "error");
  CHECK(json.at("exit_code") == 3);
  CHECK(json.at("error").at("name") == "InvalidProgram");
  CHECK(json.at("error").at("code") == 0x23);
  CHECK_THAT(json.at("error").at("text").get<std::string>(), ContainsSubstring("fixture.json"));
  CHECK(json.at("method").is_null());
}

TEST_CASE("a trace shows loading, init, calls and the backend's own events", "[run]") {
  const TemporaryDirectory directory;
  const auto path = directory.file("trace.json");
  const auto outcome = run(sin_with({"--trace", path, "--repeat", "2"}));
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  const auto trace = nlohmann::json::parse(read_file(path));
  std::map<std::string, int> count;
  for (const auto& event : trace.at("traceEvents")) ++count[event.at("name")];
  CHECK(count["open"] == 1);
  CHECK(count["load"] == 1);
  CHECK(count["init"] == 1);
  CHECK(count["execute"] == 2);
  CHECK(count["DELEGATE_CALL"] == 2);
  CHECK(count["aten.sin.default"] == 2);
}

TEST_CASE("a trace is written for a run that fails, too", "[run]") {
  const TemporaryDirectory directory;
  const auto outcome =
      run({sin_model, "--input", sin_input, "--trace", directory.file("trace.json")});
  CHECK(outcome.exit_code == 4);
  CHECK(nlohmann::json::accept(read_file(directory.file("trace.json"))));
}

TEST_CASE("several plugins may be given, and each is used for what it serves", "[run]") {
  const auto outcome =
      run(sin_with({"--plugin", TENON_NOOP_PLUGIN, "--plugin", TENON_HELLO_PLUGIN, "--json"}));
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  const auto json = json_of(outcome);
  CHECK(json.at("plugins").size() == 3);
  CHECK(json.at("plugins").at(1).at("backends") == Words{"NoopBackend"});
  CHECK(json.at("plugins").at(2).at("backends") == Words{"Add"});
}

TEST_CASE("a plugin that is found serves what no --plugin does", "[run]") {
  const TemporaryDirectory directory;
  std::filesystem::copy_file(TENON_DEMO_PLUGIN, directory / "demo.so");
  const Words words{sin_model, "--input", sin_input, "--expect", sin_output};
  const Outcome found = run(words, {{"TENON_PLUGIN_PATH", directory.path().native()}});
  INFO(found.err);
  CHECK(found.exit_code == 0);
  CHECK_THAT(found.out, ContainsSubstring("equal: 4 elements"));

  const Outcome disabled =
      run(words, {{"TENON_PLUGIN_PATH", directory.path().native()}, {"TENON_DISABLE", "*"}});
  check_fails(disabled, 4, "NotFound", "is disabled by TENON_DISABLE; registered are: none");

  std::filesystem::permissions(directory / "demo.so", std::filesystem::perms::all);
  const Outcome refused = run(words, {{"TENON_PLUGIN_PATH", directory.path().native()}});
  check_fails(refused, 4, "NotFound", "writable by every user (mode 0777)");
}

TEST_CASE("one delegate may be called many times", "[run]") {
  const TemporaryDirectory directory;
  const auto input = write_floats(directory.file("x.npy"), {4}, {1, 2, 3, 4});
  const auto outcome = run(
      {fixtures + "/bench/noop_call_1000.pte", "--plugin", TENON_NOOP_PLUGIN, "--input", input});
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
}

TEST_CASE("an option reaches the backend in the type that it declares", "[run]") {
  const TemporaryDirectory directory;
  const auto initial = run_fill(directory, {});
  INFO(initial.err);
  CHECK(initial.exit_code == 0);
  CHECK_THAT(initial.out, ContainsSubstring("output 0: Float [4]: 0.5, 0.5, 0.5, 0.5"));
  // Declared as a real number: an integer on the command line is one, too.
  const auto set = run_fill(directory, {"--option", "NoopBackend.value=3"});
  INFO(set.err);
  CHECK(set.exit_code == 0);
  CHECK_THAT(set.out, ContainsSubstring("output 0: Float [4]: 3, 3, 3, 3"));

  check_fails(run_fill(directory, {"--option", "NoopBackend.value=much"}), 2,
              "InvalidType (0x13): ", "expected a value of type double, found 'much'");
  check_fails(run_fill(directory, {"--option", "NoopBackend.valu=3"}), 2,
              "NotFound (0x20): ", "the backend has: value, chatty");
}

TEST_CASE("what a plugin logs as an error is shown in one line, the rest is not", "[run]") {
  const TemporaryDirectory directory;
  const auto outcome = run_fill(directory, {"--option", "NoopBackend.chatty=true"});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.err == "tenon-run: log of fill.so: two\\nlines\n");
}

TEST_CASE("a backend that is not available says why", "[run][backend]") {
  const TemporaryDirectory directory;
  ::setenv("TENON_TEST_NO_DEVICE", "1", 1);
  const auto outcome = run_fill(directory, {});
  ::unsetenv("TENON_TEST_NO_DEVICE");
  check_fails(outcome, 4, "NotFound (0x20): ",
              "backend NoopBackend is not available: no device, says the environment");
}

TEST_CASE("the command line is checked before anything runs", "[run][usage]") {
  check_fails(run({}), 2, "InvalidArgument (0x12): ", "MODEL");
  check_fails(run(sin_with({"--wrong"})), 2, "InvalidArgument (0x12): ", "--wrong");
  check_fails(run(sin_with({"--rtol", "-1"})), 2, "InvalidArgument (0x12): ", "--rtol");
  check_fails(run(sin_with({"--repeat", "0"})), 2, "InvalidArgument (0x12): ", "--repeat");
}

TEST_CASE("a missing input is named with its dtype and shape", "[run][usage]") {
  const auto none = run({sin_model, "--plugin", TENON_DEMO_PLUGIN});
  check_fails(none, 2, "InvalidArgument (0x12): ", "input 0 (Float [1, 4])");
  const auto dynamic = run({fixtures + "/add_dynamic_portable/model.pte", "--input",
                            fixtures + "/add_dynamic_portable/c0_in0.npy"});
  check_fails(dynamic, 2, "InvalidArgument (0x12): ", "input 1 (Float up to [16, 3])");
}

TEST_CASE("inputs that do not fit are refused", "[run][usage]") {
  const TemporaryDirectory directory;
  const auto with_input = [](const std::string& path) {
    return run({sin_model, "--plugin", TENON_DEMO_PLUGIN, "--input", path});
  };
  check_fails(run(sin_with({"--input", sin_input})), 2,
              "InvalidArgument (0x12): ", "takes 1 tensors, but --input was given 2 times");
  check_fails(with_input(directory.file("none.npy")), 2, "AccessFailed (0x22): ", "none.npy");
  write_file(directory.file("text.npy"), "no array");
  check_fails(with_input(directory.file("text.npy")), 2,
              "InvalidExternalData (0x24): ", "text.npy");
  const std::vector<std::int64_t> integers{1, 2, 3, 4};
  REQUIRE(tenon::host::write_npy(directory.file("int.npy"), tenon::ScalarType::Long,
                                 std::vector<std::int64_t>{1, 4},
                                 std::as_bytes(std::span(integers)))
              .ok());
  check_fails(with_input(directory.file("int.npy")), 2,
              "InvalidType (0x13): ", "npy elements are '<i8'; Float needs '<f4'");
  const auto shape = write_floats(directory.file("shape.npy"), {2, 2}, {1, 2, 3, 4});
  const auto refused = with_input(shape);
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("[2, 2]"));
}

TEST_CASE("expectations that do not fit are refused", "[run][usage]") {
  check_fails(run(sin_with({"--expect", sin_output, "--expect", sin_output})), 2,
              "InvalidArgument (0x12): ", "it has 1 outputs, but --expect was given 2 times");
  check_fails(run(sin_with({"--expect", "/none.npy"})), 2, "AccessFailed (0x22): ", "/none.npy");
}

TEST_CASE("an unknown method names those there are", "[run][usage]") {
  check_fails(run(sin_with({"--method", "backward"})), 2,
              "InvalidArgument (0x12): ", "the program has: forward");
}

TEST_CASE("options are for backends that the method uses", "[run][usage]") {
  check_fails(run(sin_with({"--option", "Other.key=1"})), 2,
              "InvalidArgument (0x12): ", "it uses: BackendWithCompilerDemo");
  check_fails(run(sin_with({"--option", "nonsense"})), 2,
              "InvalidArgument (0x12): ", "BACKEND.KEY=VALUE");
}

TEST_CASE("results that cannot be written are wrong usage", "[run][usage]") {
  const TemporaryDirectory directory;
  write_file(directory.file("taken"), "");
  check_fails(run(sin_with({"--output", directory.file("taken")})), 2,
              "AccessFailed (0x22): ", "taken");
  check_fails(run(sin_with({"--trace", directory.file("none/trace.json")})), 2,
              "AccessFailed (0x22): ", "none/trace.json");
}

TEST_CASE("a result that does not fit on the disk is an error and leaves the old one",
          "[run][usage]") {
  const TemporaryDirectory directory;
  write_file(directory.file("output0.npy"), "before");
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  // A result has 144 bytes. SIGXFSZ has its default, which would end the program.
  const rlimit small{140, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const auto outcome = run(sin_with({"--output", directory.path().native()}));
  ::setrlimit(RLIMIT_FSIZE, &before);
  check_fails(outcome, 2, "OutOfResources (0x25): ", "output0.npy: cannot write: File too large");
  CHECK(read_file(directory.file("output0.npy")) == "before");
  CHECK(std::distance(std::filesystem::directory_iterator(directory.path()), {}) == 1);
}

TEST_CASE("a trace may be written to standard output, before the report", "[run]") {
  const auto outcome = run(sin_with({"--trace", "/dev/stdout"}));
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.out.starts_with("{\"displayTimeUnit\""));
  CHECK_THAT(outcome.out, ContainsSubstring("]") && ContainsSubstring("output 0: Float"));
}

TEST_CASE("two plugins for one backend are wrong usage", "[run][usage]") {
  check_fails(run(sin_with({"--plugin", TENON_DEMO_PLUGIN})), 2,
              "RegistrationAlreadyRegistered (0x16): ", "BackendWithCompilerDemo");
}

TEST_CASE("a file that is not a program is refused", "[run][file]") {
  const TemporaryDirectory directory;
  check_fails(run({directory.file("none.pte")}), 3, "AccessFailed (0x22): ", "none.pte");
  const std::string bytes = read_file(sin_model);
  write_file(directory.file("cut.pte"), bytes.substr(0, bytes.size() / 2));
  check_fails(run({directory.file("cut.pte")}), 3, "InvalidProgram (0x23): ", "cut.pte");
}

TEST_CASE("a file that is not a plugin is refused", "[run][file]") {
  const auto outcome = run({sin_model, "--input", sin_input, "--plugin", sin_model});
  check_fails(outcome, 3, "InvalidArgument (0x12): ", "model.pte");
  check_fails(run({sin_model, "--plugin", "/none.so"}), 3, "NotFound (0x20): ", "/none.so");
}

TEST_CASE("a file that is not external data is refused", "[run][file]") {
  check_fails(run(sin_with({"--data", sin_model})), 3, "InvalidExternalData (0x24): ", "model.pte");
}

TEST_CASE("an operator without a kernel is refused when the method is loaded", "[run][file]") {
  const std::string directory = fixtures + "/demo_multi_seg/";
  const auto outcome = run({directory + "model.pte", "--plugin", TENON_DEMO_PLUGIN, "--input",
                            directory + "c0_in0.npy", "--input", directory + "c0_in1.npy",
                            "--input", directory + "c0_in2.npy"});
  check_fails(outcome, 3, "OperatorMissing (0x14): ", "aten::sub.out");
}

TEST_CASE("a backend that no plugin serves is named", "[run][backend]") {
  const auto none = run({sin_model, "--input", sin_input});
  check_fails(none, 4, "NotFound (0x20): ", "BackendWithCompilerDemo");
  const auto other = run({sin_model, "--input", sin_input, "--plugin", TENON_NOOP_PLUGIN});
  check_fails(other, 4, "NotFound (0x20): ", "NoopBackend");
}

TEST_CASE("a plugin that serves nothing of the method is a warning", "[run][backend]") {
  const auto outcome = run(sin_with({"--plugin", TENON_NOOP_PLUGIN, "--json"}));
  CHECK(outcome.exit_code == 0);
  const std::string warning =
      tenon::concat("--plugin ", TENON_NOOP_PLUGIN,
                    ": serves nothing: it has NoopBackend; method forward names "
                    "BackendWithCompilerDemo");
  CHECK(outcome.err == "tenon-run: warning: " + warning + "\n");
  CHECK(json_of(outcome).at("warnings") == Words{warning});
  const auto used = run(sin_with({"--json"}));
  CHECK(used.err.empty());
  CHECK(json_of(used).at("warnings").empty());

  // Kernels serve operators, not delegates; without operators they serve nothing.
  const auto kernels = run(sin_with({"--plugin", TENON_ARITHMETIC_PLUGIN}));
  CHECK_THAT(kernels.err, ContainsSubstring("serves nothing"));
  const std::string directory = fixtures + "/add_dynamic_portable/";
  const auto needed = run({directory + "model.pte", "--plugin", TENON_ARITHMETIC_PLUGIN, "--input",
                           directory + "c0_in0.npy", "--input", directory + "c0_in1.npy"});
  CHECK(needed.exit_code == 0);
  CHECK(needed.err.empty());
}

TEST_CASE("a failed init gives the backend's own error", "[run][backend]") {
  const TemporaryDirectory directory;
  const auto model = altered_model(directory, "version:0#", "version:9#");
  const auto outcome = run({model, "--input", sin_input, "--plugin", TENON_DEMO_PLUGIN});
  check_fails(outcome, 4,
              "DelegateInvalidCompatibility (0x30): ", "delegate 0 (BackendWithCompilerDemo)");
}

TEST_CASE("a failed execute gives the backend's own error", "[run][execute]") {
  const TemporaryDirectory directory;
  const auto model = altered_model(directory, "numel:4,", "numel:5,");
  const auto outcome = run({model, "--input", sin_input, "--plugin", TENON_DEMO_PLUGIN});
  check_fails(outcome, 5, "InvalidArgument (0x12): ", "expected 5 elements, found 4");
}

TEST_CASE("control characters from a file do not reach the terminal", "[run]") {
  const TemporaryDirectory directory;
  const auto model = altered_model(directory, "aten.sin.default", "aten.\x1b[31m.defal");
  const auto outcome = run({model, "--input", sin_input, "--plugin", TENON_DEMO_PLUGIN});
  CHECK(outcome.exit_code == 4);
  CHECK(outcome.err.find('\x1b') == std::string::npos);
}

#ifdef __linux__
TEST_CASE("results that do not reach standard output are a failure", "[run]") {
  const auto outcome = test::run_program(TENON_RUN, {"--help"}, "/dev/full");
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.err, ContainsSubstring("standard output"));
}
#endif

}  // namespace program_test
