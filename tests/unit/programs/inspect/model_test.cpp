// SPDX-License-Identifier: MIT
//
// tenon-inspect with programs and data files.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "unit/programs/run/process.hpp"

namespace model_test {

using namespace test;
using Json = nlohmann::json;
using Words = std::vector<std::string>;

const std::string fixtures = TENON_TEST_FIXTURES;

Outcome run(Words arguments) { return run_program(TENON_INSPECT, std::move(arguments)); }

Json json_of(Words words, int exit_code = 0) {
  words.emplace_back("--json");
  const Outcome outcome = run(words);
  INFO(outcome.err);
  CHECK(outcome.exit_code == exit_code);
  return Json::parse(outcome.out);
}

void check_refused(const Words& words, int exit_code, const std::string& text) {
  const Outcome outcome = run(words);
  INFO(outcome.err);
  CHECK(outcome.exit_code == exit_code);
  CHECK_THAT(outcome.err, ContainsSubstring(text));
  CHECK(outcome.err.find('\n') == outcome.err.size() - 1);
}

TEST_CASE("a program shows methods, delegates, compile specs and its memory plan", "[inspect]") {
  const std::string model = fixtures + "/demo_multi_seg/model.pte";
  const Outcome outcome = run({model});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.out ==
        model +
            "\n"
            "  ExecuTorch program, 2199 bytes, 3 segments\n"
            "method forward\n"
            "  input 0: Tensor Float [2, 2]\n"
            "  input 1: Tensor Float [2, 2]\n"
            "  input 2: Tensor Float [2, 2]\n"
            "  output 0: Tensor Float [2, 2]\n"
            "  delegate 0: BackendWithCompilerDemo, blob 0 of 151 bytes in segment 1\n"
            "    spec max_value: 1 byte: 04\n"
            "  delegate 1: BackendWithCompilerDemo, blob 1 of 151 bytes in segment 2\n"
            "    spec max_value: 1 byte: 04\n"
            "  memory plan: 1 buffer, 80 bytes\n"
            "    buffer 1: 80 bytes on cpu\n"
            "  instructions: 3, kernels: aten::sub.out\n");

  const Json document = json_of({model});
  const Json& delegate = document.at("methods").at(0).at("delegates").at(1);
  CHECK(delegate.at("blob") == 1);
  CHECK(delegate.at("compile_specs").at(0).at("first_bytes") == "04");
  CHECK(document.at("segments") == Json::array({0, 151, 151}));
}

TEST_CASE("named data is listed for programs and, with its layout, for data files", "[inspect]") {
  const Json program = json_of({fixtures + "/demo_named_data/model.pte"});
  REQUIRE(program.at("named_data").size() == 4);
  CHECK(program.at("named_data").at(2).at("key") == "aten.mul.Tensor");
  CHECK(program.at("named_data").at(2).at("size") == 3);
  // A dynamic shape has upper bounds.
  const Json dynamic = json_of({fixtures + "/add_dynamic_portable/model.pte"});
  CHECK(dynamic.at("methods").at(0).at("inputs").at(0).at("tensor").at("dynamic") == true);

  const Json data = json_of({fixtures + "/cuda_mlp/aoti_cuda_blob.ptd"});
  CHECK(data.at("kind") == "data");
  CHECK(data.at("methods").empty());
  CHECK(data.at("named_data").at(0).at("size") == 2048);
}

TEST_CASE("a blob is written to a file, by its number among all methods", "[inspect]") {
  const TemporaryDirectory directory;
  const std::string model = fixtures + "/demo_sin_seg/model.pte";
  const std::string blob = directory.file("blob");
  const Json written = json_of({model, "--extract-blob", "0", "-o", blob});
  CHECK(written.at("extracted") == blob);
  CHECK(read_file(blob).starts_with("1version:0#op:demo::aten.sin.default"));
  CHECK(read_file(blob).size() == 82);

  // The second method's blobs follow the first method's.
  const std::string two = fixtures + "/cuda_two_methods/model.pte";
  const Json document = json_of({two});
  const Json& last = document.at("methods").at(1).at("delegates").at(0);
  CHECK(last.at("blob") == 1);
  REQUIRE(run({two, "--extract-blob", "1", "-o", blob}).exit_code == 0);
  CHECK(read_file(blob).size() == last.at("blob_size"));
}

TEST_CASE("an id that no new backend may have is read from a program", "[inspect]") {
  const TemporaryDirectory directory;
  std::string bytes = read_file(fixtures + "/demo_sin_seg/model.pte");
  const std::string id = "BackendWithCompilerDemo";
  bytes.replace(bytes.find(id), id.size(), "Back end/with * (demo)!");
  write_file(directory.file("model.pte"), bytes);
  CHECK_THAT(run({directory.file("model.pte")}).out,
             ContainsSubstring("delegate 0: Back end/with * (demo)!, blob 0"));
}

TEST_CASE("a blob that cannot be written leaves what was there", "[inspect]") {
  const TemporaryDirectory directory;
  const std::string model = directory.file("model.pte");
  std::filesystem::copy_file(fixtures + "/demo_sin_seg/model.pte", model);
  const std::string before = read_file(model);
  const std::string out = directory.file("blob");
  write_file(out, "what was there");

  check_refused({model, "--extract-blob", "1", "-o", out}, 2,
                "--extract-blob 1: " + model + " has 1 blob, counted from 0");
  check_refused({model, "--extract-blob", "18446744073709551615", "-o", out}, 2, "has 1 blob");
  check_refused({model, "--extract-blob", "-1", "-o", out}, 2, "--extract-blob");
  check_refused({model, "--extract-blob", "0", "-o", model}, 2, "is read, and cannot be written");
  check_refused({model, "--extract-blob", "0", "-o", "/no/such/folder/blob"}, 2, "/no/such/folder");
  check_refused({model, "--extract-blob", "0"}, 2, "--extract-blob requires");
  check_refused({model, "-o", out}, 2, "--output requires");
  check_refused({model, "--load"}, 2, "is not a plugin");
  check_refused({TENON_TEST_HELLO, "--extract-blob", "0", "-o", out}, 3, "not a program");
  check_refused({fixtures + "/cuda_mlp/aoti_cuda_blob.ptd", "--extract-blob", "0", "-o", out}, 2,
                "a data file has no blobs");
  CHECK(read_file(out) == "what was there");
  CHECK(read_file(model) == before);
}

TEST_CASE("a damaged program is refused with its reason", "[inspect]") {
  const TemporaryDirectory directory;
  const std::string whole = read_file(fixtures + "/demo_sin_seg/model.pte");
  const std::string model = directory.file("cut.pte");
  for (const std::size_t size : {0u, 7u, 8u, 100u, 600u, 1100u}) {
    write_file(model, whole.substr(0, size));
    check_refused({model}, 3, "cut.pte");
  }
  const Json document = json_of({model}, 3);
  CHECK(document.at("error").at("name") == "InvalidProgram");
  CHECK(document.at("methods").empty());
  check_refused({directory.file("missing.pte")}, 3, "missing.pte");

  // Every byte of the flatbuffer in turn: an answer or a refusal, and nothing for a terminal.
  for (std::size_t at = 0; at < 900; at += 37) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x1b);
    write_file(model, changed);
    const Outcome outcome = run({model});
    CHECK((outcome.exit_code == 0 || outcome.exit_code == 3));
    CHECK(outcome.out.find('\x1b') == std::string::npos);
  }
}

}  // namespace model_test
