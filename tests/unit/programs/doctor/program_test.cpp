// SPDX-License-Identifier: MIT
//
// The arguments of tenon-doctor, files that are not valid, and what reaches a terminal.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

#include "doctor_support.hpp"
#include "tenon/abi/version.h"
#include "tenon/host/schema/program_generated.h"

using namespace test;
using tenon::test::delegate_program;

namespace {

bool is_one_line(const std::string& text) { return text.find('\n') == text.size() - 1; }

/// One failure: an exit code, one line on standard error, and no report but one of the failure.
void check_failure(const Bench& bench, Words words, int exit_code, const std::string& name) {
  const Outcome outcome = bench.run(words);
  INFO(outcome.err);
  CHECK(outcome.exit_code == exit_code);
  CHECK(outcome.out.empty());
  CHECK(outcome.err.starts_with("tenon-doctor: " + name + " (0x"));
  CHECK(is_one_line(outcome.err));

  words.emplace_back("--json");
  const Outcome machine = bench.run(words);
  CHECK(machine.exit_code == exit_code);
  CHECK(machine.err == outcome.err);
  const json report = json::parse(machine.out);
  CHECK(report["exit_code"] == exit_code);
  CHECK(report["error"]["name"] == name);
  CHECK(report["summary"].is_null());
  CHECK(report["methods"].empty());
}

/// No byte and no character of UTF-8 that a terminal obeys, but line feeds.
bool is_harmless(const std::string& text) {
  return text.find("\xc2\x9b") == std::string::npos && std::ranges::none_of(text, [](char c) {
           const auto code = static_cast<unsigned char>(c);
           return (code < 0x20 && c != '\n') || code == 0x7f || code == 0x9b;
         });
}

}  // namespace

TEST_CASE("help and version of tenon-doctor are printed with success", "[doctor]") {
  const Bench bench;
  const Outcome help = bench.run({"--help"});
  check_help_and_version(help, bench.run({"--version"}), "tenon-doctor");
  for (const char* text : {"Exit codes:", "--plugin", "--data", "--method"}) {
    CHECK_THAT(help.out, ContainsSubstring(text));
  }
}

TEST_CASE("wrong arguments of tenon-doctor are usage errors in one line", "[doctor]") {
  const Bench bench;
  for (const Words& words :
       {Words{}, Words{""}, Words{sin_model, "--nothing"}, Words{sin_model, "--color", "red"},
        Words{sin_model, "--data"}, Words{sin_model, "--plugin"}, Words{sin_model, "--method"},
        Words{sin_model, sin_model}, Words{"--json"}}) {
    const Outcome outcome = bench.run(words);
    INFO(outcome.err);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.out.empty());
    CHECK(outcome.err.starts_with("tenon-doctor: InvalidArgument (0x12): "));
    CHECK_THAT(outcome.err, ContainsSubstring("tenon-doctor --help"));
    CHECK(is_one_line(outcome.err));
  }
}

TEST_CASE("only the method that is asked for is looked at", "[doctor]") {
  const Bench bench({TENON_JUDGE_PLUGIN});
  ProgramBuilder builder = delegate_program("JudgeBackend", "optimal");
  builder.plan("backward")
      .delegate("Nobody", tenon::schema::DataLocation::INLINE, builder.inline_blob("blob"));
  const std::string model = bench.write(builder);
  CHECK(bench.report(model, 1)["methods"].size() == 2);
  const json forward = bench.report(model, 0, {"--method", "forward"});
  REQUIRE(forward["methods"].size() == 1);
  CHECK(forward["methods"][0]["name"] == "forward");
  CHECK(forward["summary"] == model + ": 1 of 1 method and 1 of 1 delegate can run here");
  CHECK(bench.report(model, 1, {"--method", "backward"})["methods"][0]["name"] == "backward");
}

TEST_CASE("a method that is not there is wrong usage and those that are there are named",
          "[doctor]") {
  const Bench bench;
  for (const char* name : {"backward", "forwar", ""}) {
    check_failure(bench, {sin_model, "--method", name}, 2, "InvalidArgument");
    CHECK_THAT(bench.run({sin_model, "--method", name}).err,
               ContainsSubstring("'" + std::string(name) + "'") && ContainsSubstring("forward"));
  }
}

TEST_CASE("a program that is not there or cut off is refused", "[doctor]") {
  const Bench bench({TENON_DEMO_PLUGIN});
  check_failure(bench, {bench.place() + "/none.pte"}, 3, "AccessFailed");
  check_failure(bench, {bench.write("empty.pte", "")}, 3, "AccessFailed");
  check_failure(bench, {bench.write("text.pte", "this is no program, but long enough\n")}, 3,
                "InvalidProgram");
  const std::string whole = read_file(sin_model);
  for (const std::size_t size :
       {std::size_t{4}, std::size_t{40}, whole.size() / 2, whole.size() - 1}) {
    INFO("cut to " << size << " bytes of " << whole.size());
    check_failure(bench, {bench.write("cut.pte", whole.substr(0, size))}, 3, "InvalidProgram");
  }
}

TEST_CASE("a data file that is not there or cut off is refused", "[doctor]") {
  const Bench bench({TENON_DEMO_PLUGIN});
  check_failure(bench, {sin_model, "--data", bench.place() + "/none.ptd"}, 3, "AccessFailed");
  const std::string whole = read_file(fixtures + "/cuda_mlp/aoti_cuda_blob.ptd");
  for (const std::size_t size : {std::size_t{30}, whole.size() / 2}) {
    INFO("cut to " << size << " bytes of " << whole.size());
    const std::string file = bench.write("cut.ptd", whole.substr(0, size));
    check_failure(bench, {sin_model, "--data", file}, 3, "InvalidExternalData");
  }
  const std::string file = bench.write("whole.ptd", whole);
  check_failure(bench, {sin_model, "--data", file, "--data", file}, 3, "InvalidArgument");
}

TEST_CASE("a named file that is no plugin is refused", "[doctor]") {
  const Bench bench;
  const std::string whole = read_file(TENON_DEMO_PLUGIN);
  for (const std::string& file :
       {bench.place() + "/none.so", bench.write("text.so", "this is no library\n"),
        bench.write("cut.so", whole.substr(0, 3000)), zoo("bad_magic"), zoo("newer_major")}) {
    const Outcome outcome = bench.run({sin_model, "--plugin", file});
    INFO(outcome.err);
    CHECK(outcome.exit_code == 3);
    CHECK(outcome.out.empty());
    CHECK_THAT(outcome.err, ContainsSubstring(file));
    CHECK(is_one_line(outcome.err));
  }
}

TEST_CASE("control characters of a program and a plugin do not reach the terminal", "[doctor]") {
  const Bench bench({TENON_JUDGE_PLUGIN});
  // An escape sequence, a line feed, DEL, and the one-byte and two-byte forms of CSI.
  const std::string odd = "\x1b[31m\nred\x7f\x9b\xc2\x9b";
  ProgramBuilder builder;
  auto plan = builder.plan("forward" + odd);
  const auto blob = builder.inline_blob("drives");
  for (const std::string& id : {"JudgeBackend" + odd, std::string("JudgeBackend")}) {
    const auto delegate = plan.delegate(id, tenon::schema::DataLocation::INLINE, blob);
    plan.compile_spec(delegate, "key" + odd, "value" + odd);
  }
  plan.instruction(tenon::test::kernel_call(plan.op("aten" + odd, odd), {}));
  auto weight = tenon::test::tensor(tenon::ScalarType::Float, {2});
  weight.extra_tensor_info = std::make_unique<tenon::schema::objects::ExtraTensorInfoT>();
  weight.extra_tensor_info->fully_qualified_name = "weight" + odd;
  weight.extra_tensor_info->location = tenon::schema::TensorDataLocation::EXTERNAL;
  plan.value(std::move(weight));
  const std::string model = bench.write(builder, "model\x1b[31m.pte");
  for (const Words& words : {Words{model}, Words{model, "--json"}}) {
    const Outcome outcome = bench.run(words);
    INFO(outcome.out);
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.err.empty());
    CHECK(is_harmless(outcome.out));
    for (const char* text : {"JudgeBackend", "key", "weight", "aten", "forward"}) {
      CHECK_THAT(outcome.out, ContainsSubstring(text));
    }
  }
  // No text of the program is at the beginning of a line.
  CHECK_THAT(bench.run({model}).out, !ContainsSubstring("\nred"));
  CHECK(is_harmless(bench.run({model, "--method", odd}).err));
  CHECK(is_harmless(bench.run({model + "\x1b[2J"}).err));
}

TEST_CASE("compile specs are shown as text when they are text and never at length", "[doctor]") {
  const Bench bench;
  ProgramBuilder builder = delegate_program("Nobody", "blob");
  tenon::test::PlanBuilder plan(*builder.program.execution_plan.front());
  plan.compile_spec(0, "text", "fast");
  plan.compile_spec(0, "none", "");
  plan.compile_spec(0, "one", "\x04");
  plan.compile_spec(0, "bytes", std::string_view("\x00\xff", 2));
  plan.compile_spec(0, "long", std::string(1000, 'x'));
  const std::string model = bench.write(builder);
  const Outcome outcome = bench.run({model});
  INFO(outcome.out);
  for (const std::string& line :
       {std::string("    spec text = \"fast\" (4 bytes)\n"),
        std::string("    spec one = 04 (1 byte)\n"), std::string("    spec none = (empty)\n"),
        std::string("    spec bytes = 00 ff (2 bytes)\n"),
        "    spec long = \"" + std::string(48, 'x') + "\"... (1000 bytes)\n"}) {
    CHECK_THAT(outcome.out, ContainsSubstring(line));
  }
  const json specs = bench.delegate(model, 1)["compile_specs"];
  CHECK(specs.at(3) == json{{"key", "bytes"}, {"size", 2}, {"hex", "00 ff"}});
  CHECK(specs.at(4)["hex"].get<std::string>().size() == 1000 * 3 - 1);
}

TEST_CASE("colours of tenon-doctor are only used where they are asked for", "[doctor]") {
  const Bench bench({TENON_DEMO_PLUGIN});
  CHECK_THAT(bench.run({sin_model}).out, !ContainsSubstring("\x1b["));
  CHECK_THAT(bench.run({sin_model, "--color", "never"}).out, !ContainsSubstring("\x1b["));
  CHECK_THAT(bench.run({sin_model, "--color", "always"}).out, ContainsSubstring("\x1b[32m"));
  const std::string model = fixtures + "/mlp_portable/model.pte";
  CHECK_THAT(bench.run({model, "--color", "always"}).out, ContainsSubstring("\x1b[31m"));
  CHECK_THAT(bench.run({model, "--color", "always", "--json"}).out, !ContainsSubstring("\x1b["));
}

TEST_CASE("a diagnosis that cannot be written is no success", "[doctor]") {
  if (!std::filesystem::exists("/dev/full")) return;
  const Bench bench({TENON_DEMO_PLUGIN});
  for (const Words& words : {Words{sin_model}, Words{sin_model, "--json"}, Words{"--help"}}) {
    const Outcome outcome = bench.run(words, "/dev/full");
    CHECK(outcome.exit_code == 2);
    CHECK_THAT(outcome.err, ContainsSubstring("standard output cannot be written"));
  }
}
