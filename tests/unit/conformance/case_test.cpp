// SPDX-License-Identifier: MIT
#include <filesystem>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "case_support.hpp"
#include "kit/case/settings_reader.hpp"
#include "support/catch.hpp"
#include "tenon/conformance/case.hpp"

using namespace tenon;
using namespace tenon::conformance;
using case_test::Directory;

namespace case_test {
namespace {

// The error for a case.json, after the name of the file. Expects InvalidArgument.
std::string complaint(std::string_view json) {
  const Directory directory;
  const auto read = read_case(directory.case_with(json));
  REQUIRE_FALSE(read.ok());
  CHECK(read.error() == Error::InvalidArgument);
  const std::string front = (directory / "c/case.json").string() + ": ";
  const std::string text(read.text());
  REQUIRE(text.starts_with(front));
  return text.substr(front.size());
}

std::string runs(std::string_view inputs) {
  return concat(R"({"runs": [{"expected": ["b.npy"], "inputs": [)", inputs, "]}]}");
}

}  // namespace

TEST_CASE("a directory with the default names is a case without a case.json", "[case]") {
  const Directory directory;
  directory.add_case("add");
  (void)directory.write("add/weights_b.ptd", "");
  (void)directory.write("add/weights_a.ptd", "");
  directory.array("add/input_1.npy", {3, 4});
  directory.array("add/input_x.npy", {5});

  const auto read = read_case(directory / "add");
  REQUIRE(read.ok());
  CHECK(read->name == "add");
  CHECK(read->directory == directory / "add");
  CHECK(read->program == directory / "add/model.pte");
  CHECK(read->data_files ==
        std::vector{directory / "add/weights_a.ptd", directory / "add/weights_b.ptd"});
  CHECK(read->method == "forward");
  CHECK(read->runtime_specs.empty());
  CHECK(read->tolerances.of(ScalarType::Float) == default_tolerance(ScalarType::Float));
  REQUIRE(read->runs.size() == 1);
  CHECK_FALSE(read->runs[0].fresh);
  CHECK(read->runs[0].inputs == std::vector<CaseValue>{ArrayFile{directory / "add/input_0.npy"},
                                                       ArrayFile{directory / "add/input_1.npy"}});
  CHECK(read->runs[0].expected ==
        std::vector<CaseValue>{ArrayFile{directory / "add/expected_0.npy"}});
}

TEST_CASE("case.json sets every part of a case", "[case]") {
  const Directory directory;
  const auto read = read_case(directory.case_with(R"({
    "$schema": "https://example.org/x", "name": "two states", "description": "counts",
    "program": "../c/model.pte", "data": ["b.npy", "a.npy"], "method": "step",
    "runs": [
      {"inputs": ["a.npy", 3, 2.5, true, {"text": "mean"}, null], "expected": ["b.npy", null]},
      {"inputs": [-4], "expected": [], "fresh": true}
    ],
    "tolerances": {"float32": {"nmse": 1e-6, "max": 1e-4}, "bfloat16": {"rtol": 0.1, "atol": 0}},
    "runtime_specs": {"Acme": {"fast": true, "n": 3, "f": 3.0, "s": "x", "b": {"bytes": "00fF"}}},
    "made_by": {"anything": [1, 2]}
  })"));
  REQUIRE(read.ok());
  CHECK(read->name == "two states");
  CHECK(read->description == "counts");
  CHECK(read->program == directory / "c/model.pte");
  CHECK(read->data_files == std::vector{directory / "c/b.npy", directory / "c/a.npy"});
  CHECK(read->method == "step");
  REQUIRE(read->runs.size() == 2);
  const CaseRun& first = read->runs[0];
  CHECK(first.inputs == std::vector<CaseValue>{ArrayFile{directory / "c/a.npy"}, std::int64_t{3},
                                               2.5, true, std::string("mean"), std::monostate()});
  CHECK(first.expected ==
        std::vector<CaseValue>{ArrayFile{directory / "c/b.npy"}, std::monostate()});
  CHECK_FALSE(first.fresh);
  CHECK(read->runs[1].inputs == std::vector<CaseValue>{std::int64_t{-4}});
  CHECK(read->runs[1].expected.empty());
  CHECK(read->runs[1].fresh);

  const CaseTolerance floats = read->tolerances.of(ScalarType::Float);
  CHECK(floats.nmse == 1e-6);
  CHECK(floats.max == 1e-4);
  CHECK_FALSE(floats.peak);  // Limits of a dtype are replaced together.
  CHECK(read->tolerances.of(ScalarType::BFloat16).rtol == 0.1);
  CHECK(read->tolerances.of(ScalarType::Half) == default_tolerance(ScalarType::Half));

  REQUIRE(read->runtime_specs.size() == 5);
  for (const host::BackendOption& option : read->runtime_specs) {
    CHECK(option.backend_id == "Acme");
    if (option.key == "fast") CHECK(option.value == OptionValue(true));
    if (option.key == "n") CHECK(option.value == OptionValue(std::int64_t{3}));
    if (option.key == "f") CHECK(option.value == OptionValue(3.0));
    if (option.key == "s") CHECK(option.value == OptionValue(std::string("x")));
    if (option.key == "b") {
      CHECK(option.value == OptionValue(std::vector{std::byte{0}, std::byte{0xff}}));
    }
  }
}

TEST_CASE("an error in case.json names the member, and what was expected and found", "[case]") {
  const auto [json, text] = GENERATE(table<std::string, std::string>({
      {"", "is not JSON"},
      {"[]", "expected an object, found an array of 0"},
      {R"({"name": 1})", "name: expected a text, found '1'"},
      {R"({"name": " "})", "name: expected a text that is not empty, found '\" \"'"},
      {R"({"name": "a/b"})", "name: expected a text without '/', found '\"a/b\"'"},
      {R"({"name": "a", "name": "b"})", "the key 'name' is written twice"},
      {R"({"programm": "x"})", "unknown key 'programm'; did you mean 'program'?"},
      {R"({"description": []})", "description: expected a text, found an array of 0"},
      {R"({"program": "no.pte"})", "program: expected a file, found none at '"},
      {R"({"program": "/etc/hosts"})", "program: expected a path relative to "},
      {R"({"program": ""})", "program: expected a text that is not empty, found '\"\"'"},
      {R"({"data": "b.ptd"})", "data: expected an array of paths, found '\"b.ptd\"'"},
      {R"({"data": ["a.npy", "b.ptd"]})", "data[1]: expected a file, found none at '"},
      {R"({"method": ""})", "method: expected a text that is not empty"},
      {R"({})", "runs: is missing, and so is expected_0.npy: nothing would be compared"},
      {R"({"runs": []})", "runs: expected an array of at least one object, found an array of 0"},
      {R"({"runs": [3]})", "runs[0]: expected an object, found '3'"},
      {R"({"runs": [{"expected": []}]})", "runs[0].inputs: is missing, expected an array"},
      {R"({"runs": [{"inputs": []}]})", "runs[0].expected: is missing, expected an array"},
      {R"({"runs": [{"inputs": [], "expected": "b.npy"}]})",
       "runs[0].expected: expected an array of files and numbers, found '\"b.npy\"'"},
      {R"({"runs": [{"inputs": [], "expected": [], "frsh": true}]})",
       "runs[0]: unknown key 'frsh'; did you mean 'fresh'?"},
      {R"({"runs": [{"inputs": [], "expected": [], "fresh": 1}]})",
       "runs[0].fresh: expected true or false, found '1'"},
      {runs(R"("a.npy", "c.npy")"), "runs[0].inputs[1]: expected a file, found none at '"},
      {runs(R"([1])"), "runs[0].inputs[0]: expected a file, a number, true, false, null or"},
      {runs(R"({"txt": "x"})"), "runs[0].inputs[0]: expected a file, a number, true, false"},
      {runs(R"({"text": 1})"), "runs[0].inputs[0].text: expected a text, found '1'"},
      {runs("9223372036854775808"), "runs[0].inputs[0]: expected an integer of 64 bits"},
  }));
  CAPTURE(json);
  CHECK_THAT(complaint(json), ContainsSubstring(text));
}

TEST_CASE("an error in tolerances and options names the member", "[case]") {
  const auto [member, text] = GENERATE(table<std::string, std::string>({
      {R"("tolerances": 1)", "tolerances: expected an object of limits by dtype, found '1'"},
      {R"("tolerances": {"float": {}})", "tolerances: unknown dtype 'float'"},
      {R"("tolerances": {"float23": {}})", "did you mean 'float32'?"},
      {R"("tolerances": {"bool": {"max": 1}})", "tolerances.bool: booleans are equal or not"},
      {R"("tolerances": {"float32": 1e-3})", "tolerances.float32: expected an object of limits"},
      {R"("tolerances": {"float32": {"maximum": 1}})", "tolerances.float32: unknown key 'maximum'"},
      {R"("tolerances": {"float32": {"max": -1}})",
       "tolerances.float32.max: expected a number from 0 on, found '-1'"},
      {R"("tolerances": {"float32": {"nmse": "1"}})",
       "tolerances.float32.nmse: expected a number from 0 on"},
      {R"("runtime_specs": [])", "runtime_specs: expected an object of options by backend"},
      {R"("runtime_specs": {"A": 3})", "runtime_specs.A: expected an object of options"},
      {R"("runtime_specs": {"A": {"k": null}})", "runtime_specs.A.k: expected true, false, a num"},
      {R"("runtime_specs": {"A": {"k": {"bytes": "0g"}}})",
       "runtime_specs.A.k.bytes: expected two hexadecimal digits for each byte, found '\"0g\"'"},
      {R"("runtime_specs": {"A": {"k": {"bytes": "000"}}})", "two hexadecimal digits"},
      {R"("runtime_specs": {"A": {"k": {"bytes": 0}}})", "runtime_specs.A.k.bytes: expected a te"},
  }));
  CAPTURE(member);
  const std::string json =
      concat(R"({"runs": [{"inputs": ["a.npy"], "expected": ["b.npy"]}], )", member, "}");
  CHECK_THAT(complaint(json), ContainsSubstring(text));
}

TEST_CASE("a missing number among numbered files is an error", "[case]") {
  const Directory directory;
  directory.add_case("add");
  directory.array("add/input_2.npy", {3, 4});
  const auto read = read_case(directory / "add");
  REQUIRE_FALSE(read.ok());
  CHECK_THAT(std::string(read.text()),
             ContainsSubstring("there is input_2.npy, but no input_1.npy"));
}

TEST_CASE("a path that is not a directory, or cannot be read, is an error", "[case]") {
  const Directory directory;
  (void)directory.write("file", "");
  const auto none = read_case(directory / "none");
  CHECK(none.error() == Error::AccessFailed);
  CHECK_THAT(std::string(none.text()), ContainsSubstring("none: expected the directory of a case"));
  CHECK_THAT(std::string(read_case(directory / "file").text()), ContainsSubstring("found a file"));

  std::filesystem::create_directories(directory / "odd/case.json");
  CHECK(read_case(directory / "odd").error() == Error::AccessFailed);
  std::filesystem::create_directories(directory / "large");
  (void)directory.write("large/case.json",
                        std::string(conformance::detail::max_settings_size + 1, ' '));
  CHECK_THAT(std::string(read_case(directory / "large").text()),
             ContainsSubstring("expected at most"));
}

TEST_CASE("a case has the name of its directory whatever the form of the path", "[case]") {
  const Directory directory;
  directory.add_case("add");
  const std::string path = directory.file("add");
  for (const std::string& name : {path + "/", path + "/.", directory.file("add/../add")}) {
    const auto read = read_case(name);
    REQUIRE(read.ok());
    CHECK(read->name == "add");
    CHECK(read->program == directory / "add/model.pte");
  }
}

TEST_CASE("cases are found in a directory, in its subdirectories and by a pattern", "[case]") {
  const Directory directory;
  for (const char* name : {"b_mul", "a_add", "a_sub"}) directory.add_case(name);
  std::filesystem::create_directories(directory / "notes");
  (void)directory.write("readme.md", "");
  const auto names = [&](const std::filesystem::path& place) {
    const auto cases = read_cases(place);
    REQUIRE(cases.ok());
    std::vector<std::string> out;
    for (const Case& of : *cases) out.push_back(of.name);
    return out;
  };
  CHECK(names(directory / "a_add") == std::vector<std::string>{"a_add"});
  CHECK(names(directory.path()) == std::vector<std::string>{"a_add", "a_sub", "b_mul"});
  CHECK(names(directory / "a_*") == std::vector<std::string>{"a_add", "a_sub"});

  const auto none = read_cases(directory / "c_*");
  CHECK(none.error() == Error::NotFound);
  CHECK_THAT(std::string(none.text()), ContainsSubstring("expected a directory with case.json"));
  CHECK(read_cases(directory / "notes").error() == Error::NotFound);

  (void)directory.write("a_sub/case.json", "{");
  CHECK(read_cases(directory.path()).error() == Error::InvalidArgument);
}

TEST_CASE("values of a case become arrays of the requested dtype", "[case]") {
  const Directory directory;
  directory.array("a.npy", {1, 2});
  const CaseValue file = ArrayFile{directory / "a.npy"};
  const auto array = read_array(file, ScalarType::Float);
  REQUIRE(array.ok());
  CHECK(array->shape == std::vector<std::int64_t>{2});
  CHECK(array->data.size() == 8);

  const auto number = read_array(std::int64_t{-3}, ScalarType::Long);
  REQUIRE(number.ok());
  CHECK(number->shape.empty());
  CHECK(number->data.size() == 8);
  CHECK(read_array(std::int64_t{2}, ScalarType::Double).ok());
  CHECK(read_array(2.5, ScalarType::Double).ok());
  CHECK(read_array(true, ScalarType::Bool)->data.size() == 1);
}

TEST_CASE("a value that is not an array of the requested dtype is refused", "[case]") {
  const Directory directory;
  directory.array("a.npy", {1, 2});
  const auto other = read_array(ArrayFile{directory / "a.npy"}, ScalarType::Int);
  CHECK(other.error() == Error::InvalidType);
  CHECK_THAT(std::string(other.text()),
             ContainsSubstring("a.npy") && ContainsSubstring("'<f4'; Int needs '<i4'"));
  CHECK(read_array(ArrayFile{directory / "none.npy"}, ScalarType::Int).error() != Error::Ok);
  const auto [value, found] = GENERATE(table<CaseValue, std::string>({
      {CaseValue(2.5), "a real number"},
      {CaseValue(std::int64_t{1}), "an integer"},
      {CaseValue(true), "a boolean"},
      {CaseValue(std::string("x")), "a text"},
      {CaseValue(), "nothing"},
  }));
  const auto refused = read_array(value, ScalarType::Float);
  CHECK(refused.error() == Error::InvalidType);
  CHECK(refused.text() == "expected an array of dtype Float, found " + found);
}

}  // namespace case_test
