// SPDX-License-Identifier: MIT
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "case_support.hpp"
#include "support/catch.hpp"
#include "tenon/conformance/case.hpp"
#include "tenon/conformance/subject.hpp"

using namespace tenon;
using namespace tenon::conformance;
using case_test::Directory;

namespace subject_test {
namespace {

// The error for a subject file, after its name.
std::string complaint(std::string_view json, Error expected = Error::InvalidArgument) {
  const Directory directory;
  directory.add_case("cases/add");
  directory.add_case("more/add");
  const auto read = read_subject(directory.write("acme.json", json));
  REQUIRE_FALSE(read.ok());
  CHECK(read.error() == expected);
  const std::string text(read.text());
  const std::string front = directory.file("acme.json") + ": ";
  REQUIRE(text.starts_with(front));
  return text.substr(front.size());
}

TestResult test_result(std::string suite, std::string name, std::string backend,
                       std::vector<std::string> rules) {
  TestResult out;
  out.suite = std::move(suite);
  out.name = std::move(name);
  out.backend = std::move(backend);
  out.rules = std::move(rules);
  return out;
}

}  // namespace

TEST_CASE("a subject and a case can be read from text", "[subject]") {
  const Directory directory;
  directory.add_case("cases/add");
  const std::filesystem::path place(directory.file(""));
  const auto subject = parse_subject(R"({"backends": {"Acme": {"cases": ["cases"]}}})", "a", place);
  INFO(subject.text());
  REQUIRE(subject.ok());
  CHECK(subject->backends[0].cases.size() == 1);
  CHECK(subject->file.empty());
  CHECK(parse_subject("[]", "the name", place).text().starts_with("the name: "));
  const auto one = parse_case(R"({"name": "x"})", "a", place / "cases/add");
  INFO(one.text());
  REQUIRE(one.ok());
  CHECK(one->name == "x");
  CHECK(parse_case("{}", "the name", place).text().starts_with("the name: "));
}

TEST_CASE("a subject file says all that an author can declare", "[subject]") {
  const Directory directory;
  directory.add_case("cases/add");
  directory.add_case("cases/mul");
  directory.add_case("float/sin");
  (void)directory.write("acme.so", "");
  (void)directory.write("list.txt",
                        "# A comment\naoti_torch_a\nat::_ops::a::call\r\naoti_torch_b # b");
  const auto read = read_subject(directory.write("acme.json", R"({
    "$schema": "x", "plugin": "acme.so",
    "backends": {
      "Acme": {
        "options": {"threads": 2}, "runtime_specs": {"device": "cpu:0"},
        "cases": ["cases", "float/s*"],
        "tolerances": {"float32": {"max": 0.5}},
        "deterministic": false, "max_threads": 4, "steady_allocations": 1,
        "cancel_ms": 50, "estimate_factor": 1.5,
        "init_ms": 150, "seconds_per_test": 30,
        "fallback_kernels": "list.txt"
      },
      "Small": {"no_cases": "made where they run"}
    },
    "unsupported": [{"test": "unload/*", "reason": "keeps a thread of the driver"}],
    "expected_failure": [{"test": "TN-EXE-2", "reason": "fixed in 2.1"}],
    "left_files": [{"pattern": ".ses", "reason": "telemetry"}],
    "printed_lines": [{"pattern": "INFO: *", "reason": "no switch"}],
    "environment": [{"name": "ACME_CACHE", "value": "", "reason": "no cache in tests"}]
  })"));
  REQUIRE(read.ok());
  CHECK(read->file == directory / "acme.json");
  CHECK(read->plugin == directory / "acme.so");
  REQUIRE(read->backends.size() == 2);
  const SubjectBackend* acme = read->backend("Acme");
  REQUIRE(acme);
  REQUIRE(acme->options.size() == 1);
  CHECK(acme->options[0].first == "threads");
  CHECK(acme->options[0].second == OptionValue(std::int64_t{2}));
  REQUIRE(acme->runtime_specs.size() == 1);
  CHECK(acme->runtime_specs[0].second == OptionValue(std::string("cpu:0")));
  REQUIRE(acme->cases.size() == 3);
  CHECK(acme->cases[0].name == "add");
  CHECK(acme->cases[1].name == "mul");
  CHECK(acme->cases[2].name == "sin");
  CHECK_FALSE(acme->deterministic);
  CHECK(acme->max_threads == 4U);
  CHECK(acme->steady_allocations == 1U);
  CHECK(acme->cancel_ms == 50);
  CHECK(acme->estimate_factor == 1.5);
  CHECK(acme->init_ms == 150U);
  CHECK(acme->seconds_per_test == 30U);
  CHECK(acme->fallback_kernels == std::vector<std::string>{"aoti_torch_a", "aoti_torch_b"});
  CHECK(read->backend("None") == nullptr);

  const SubjectBackend* small = read->backend("Small");
  REQUIRE(small);
  CHECK(small->cases.empty());
  CHECK(small->no_cases == "made where they run");
  CHECK(small->deterministic);
  CHECK_FALSE(small->max_threads);
  CHECK_FALSE(small->steady_allocations);
  CHECK_FALSE(small->fallback_kernels);
  CHECK(small->cancel_ms == 1000);
  CHECK(small->estimate_factor == 2);
  CHECK_FALSE(small->init_ms);
  CHECK(small->seconds_per_test == 20);
  REQUIRE(read->unsupported_tests.size() == 1);
  CHECK(read->unsupported_tests[0].reason == "keeps a thread of the driver");
  CHECK(read->unsupported_tests[0].where == "unsupported[0]");
  REQUIRE(read->expected_failure_tests.size() == 1);
  REQUIRE(read->left_files.size() == 1);
  CHECK(read->left_files[0].pattern == ".ses");
  CHECK(read->left_files[0].reason == "telemetry");
  CHECK(read->left_files[0].where == "left_files[0]");
  REQUIRE(read->printed_lines.size() == 1);
  CHECK(read->printed_lines[0].matches("INFO: ready"));
  CHECK_FALSE(read->printed_lines[0].matches("WARNING: slow"));
  CHECK(read->printed_lines[0].reason == "no switch");
  CHECK(read->printed_lines[0].where == "printed_lines[0]");
  REQUIRE(read->environment.size() == 1);
  CHECK(read->environment[0].name == "ACME_CACHE");
  CHECK(read->environment[0].value.empty());
  CHECK(read->environment[0].reason == "no cache in tests");
}

TEST_CASE("left files and variables need a reason, and variables are the plugin's", "[subject]") {
  CHECK(complaint(R"({"left_files": [{"pattern": "x"}]})") ==
        "left_files[0].reason: is missing, expected a text that is not empty");
  CHECK(complaint(R"({"left_files": [{"patern": "x", "reason": "y"}]})") ==
        "left_files[0]: unknown key 'patern'; did you mean 'pattern'?");
  CHECK(complaint(R"({"left_files": {}})").starts_with("left_files: expected an array"));
  CHECK(complaint(R"({"printed_lines": [{"pattern": "x"}]})") ==
        "printed_lines[0].reason: is missing, expected a text that is not empty");
  CHECK(complaint(R"({"environment": [{"name": "A", "value": "1"}]})") ==
        "environment[0].reason: is missing, expected a text that is not empty");
  CHECK(complaint(R"({"environment": [{"name": "A", "reason": "y"}]})") ==
        "environment[0].value: is missing, expected a text");
  CHECK(complaint(R"({"environment": [{"name": "A", "value": 1, "reason": "y"}]})")
            .starts_with("environment[0].value: expected"));
  CHECK(complaint(R"({"environment": [{"name": "A=B", "value": "1", "reason": "y"}]})") ==
        "environment[0].name: expected a name without '=', found 'A=B'");
  for (const std::string name : {"TMPDIR", "TEMP", "TMP", "TENON_NO_UNLOAD"}) {
    CHECK(complaint(R"({"environment": [{"name": ")" + name +
                    R"(", "value": "1", "reason": "y"}]})") ==
          "environment[0].name: expected a variable of the plugin, found '" + name +
              "', which the kit decides about");
  }
  CHECK(complaint(R"({"environment": [{"name": "A", "value": "1", "reason": "y"},
                                      {"name": "A", "value": "2", "reason": "y"}]})") ==
        "environment[1].name: there are two variables 'A'");
}

TEST_CASE("an empty subject file declares nothing", "[subject]") {
  const Directory directory;
  const auto read = read_subject(directory.write("acme.json", "{}"));
  REQUIRE(read.ok());
  CHECK_FALSE(read->plugin);
  CHECK(read->backends.empty());
  CHECK(read->unsupported(test_result("arguments", "x", "Acme", {})) == nullptr);
}

TEST_CASE("limits of a backend count before a case's, and these before the default", "[subject]") {
  const auto limit = [](double max) {
    CaseTolerance out;
    out.max = max;
    return out;
  };
  Case of_case;
  of_case.tolerances.set(ScalarType::Float, limit(1));
  of_case.tolerances.set(ScalarType::Half, limit(2));
  SubjectBackend backend;
  backend.tolerances.set(ScalarType::Float, limit(3));
  const Tolerances both = backend.tolerances_for(of_case);
  CHECK(both.of(ScalarType::Float) == limit(3));
  CHECK(both.of(ScalarType::Half) == limit(2));
  CHECK(both.of(ScalarType::Double) == default_tolerance(ScalarType::Double));
}

TEST_CASE("declarations are found by the path of a test or by a rule", "[subject]") {
  Subject subject;
  subject.unsupported_tests = {{"unload/*", "a", "unsupported[0]"},
                               {"TN-BCK-*", "b", "unsupported[1]"},
                               // A comma does not separate: names of tests contain commas.
                               {"arguments/one, two/Acme", "c", "unsupported[2]"}};
  subject.expected_failure_tests = {{"*/Acme/add", "d", "expected_failure[0]"}};
  const std::vector<std::string> rules{"TN-EXE-1", "TN-BCK-8"};
  const auto reason = [](const Declaration* found) {
    return found ? std::string_view(found->reason) : "none";
  };
  const auto unsupported = [&](const TestResult& test) {
    return reason(subject.unsupported(test));
  };

  CHECK(unsupported(test_result("unload", "it is gone", "Acme", {})) == "a");
  CHECK(unsupported(test_result("threads", "x", "", rules)) == "b");
  CHECK(unsupported(test_result("threads", "x", "", {})) == "none");
  CHECK(unsupported(test_result("arguments", "one, two", "Acme", {})) == "c");
  CHECK(unsupported(test_result("arguments", "one", "", {})) == "none");
  CHECK(unsupported(test_result("load unload", "x", "", {})) == "none");
  TestResult close = test_result("numerics", "close", "Acme", {});
  close.of_case = "add";
  CHECK(reason(subject.expected_failure(close)) == "d");
  close.of_case = "mul";
  CHECK(reason(subject.expected_failure(close)) == "none");
}

TEST_CASE("a declaration names a test by its id or by its name", "[subject]") {
  TestResult test = test_result("arguments", "a run leaves its inputs unchanged", "Acme", {});
  test.id = "arguments/leaves-inputs-unchanged";
  for (const char* glob : {"arguments/leaves-inputs-unchanged/Acme",
                           "arguments/a run leaves its inputs unchanged/Acme", "*/leaves-inputs-*",
                           "*leaves its inputs*", "arguments/*"}) {
    INFO(glob);
    CHECK(Declaration{glob, "known", "unsupported[0]"}.matches(test));
    CHECK(matches_path(glob, test));
  }
  for (const char* glob : {"arguments/leaves-inputs-unchanged", "arguments/leaves-inputs/Acme"}) {
    INFO(glob);
    CHECK_FALSE(Declaration{glob, "known", "unsupported[0]"}.matches(test));
  }
}

TEST_CASE("declarations that match no test are listed", "[subject]") {
  Subject subject;
  subject.unsupported_tests = {{"unload/*", "a", "unsupported[0]"},
                               {"unlod/*", "b", "unsupported[1]"}};
  subject.expected_failure_tests = {{"TN-EXE-2", "c", "expected_failure[0]"},
                                    {"TN-EXE-9", "d", "expected_failure[1]"}};
  const std::vector<TestResult> tests{
      test_result("unload", "it is gone", "", {"TN-BCK-7"}),
      test_result("arguments", "inputs stay", "Acme", {"TN-EXE-2"}),
  };
  const auto unmatched = subject.unmatched(tests);
  REQUIRE(unmatched.size() == 2);
  CHECK(unmatched[0]->where == "unsupported[1]");
  CHECK(unmatched[1]->where == "expected_failure[1]");
  CHECK(subject.unmatched({}).size() == 4);
}

TEST_CASE("an error in a subject file names the member, and what was expected and found",
          "[subject]") {
  const auto [json, text] = GENERATE(table<std::string, std::string>({
      {"{", "is not JSON"},
      {R"({"plugin": "a.so", "plugin": "b.so"})", "the key 'plugin' is written twice"},
      {"3", "expected an object, found '3'"},
      {R"({"backend": {}})", "unknown key 'backend'; did you mean 'backends'?"},
      {R"({"plugin": "acme.so"})", "plugin: expected a file, found none at '"},
      {R"({"plugin": 1})", "plugin: expected a text, found '1'"},
      {R"({"backends": []})",
       "backends: expected an object of backends by id, found an array of 0"},
      {R"({"backends": {"": {}}})", "the id has 0 bytes, expected 1 to "},
      {R"({"backends": {"A": 1}})", "backends.A: expected an object, found '1'"},
      {R"({"backends": {"A": {"case": []}}})", "backends.A: unknown key 'case'; did you mean 'c"},
      {R"({"backends": {"A": {"options": []}}})", "backends.A.options: expected an object of opt"},
      {R"({"backends": {"A": {"options": {"k": []}}}})", "backends.A.options.k: expected true"},
      {R"({"backends": {"A": {"runtime_specs": 1}}})", "backends.A.runtime_specs: expected an ob"},
      {R"({"backends": {"A": {"cases": "cases"}}})", "backends.A.cases: expected an array of pat"},
      {R"({"backends": {"A": {"cases": [1]}}})", "backends.A.cases[0]: expected a text, found"},
      {R"({"backends": {"A": {"cases": ["/x"]}}})", "backends.A.cases[0]: expected a path relat"},
      {R"({"backends": {"A": {"cases": ["cases", "more"]}}})",
       "backends.A.cases[1]: there are two cases with the name 'add': "},
      {R"({"backends": {"A": {"no_cases": " "}}})",
       "backends.A.no_cases: expected a text that is not empty, found"},
      {R"({"backends": {"A": {"cases": ["cases"], "no_cases": "x"}}})",
       "backends.A: it has both cases and no_cases"},
      {R"({"backends": {"A": {"tolerances": {"float3": {}}}}})",
       "backends.A.tolerances: unknown dtype 'float3'"},
      {R"({"backends": {"A": {"deterministic": "no"}}})",
       "backends.A.deterministic: expected true or false, found '\"no\"'"},
      {R"({"backends": {"A": {"max_threads": -1}}})",
       "backends.A.max_threads: expected an integer from 0 on, found '-1'"},
      {R"({"backends": {"A": {"steady_allocations": 1.5}}})",
       "backends.A.steady_allocations: expected an integer from 0 on, found '1.5'"},
      {R"({"backends": {"A": {"init_ms": "150"}}})",
       "backends.A.init_ms: expected an integer from 0 on, found '\"150\"'"},
      {R"({"backends": {"A": {"seconds_per_test": 5}}})",
       "backends.A: seconds_per_test needs init_ms"},
      {R"({"unsupported": {}})", "unsupported: expected an array of objects, found an object of 0"},
      {R"({"unsupported": ["x"]})", "unsupported[0]: expected an object, found '\"x\"'"},
      {R"({"unsupported": [{"reason": "x"}]})", "unsupported[0].test: is missing"},
      {R"({"unsupported": [{"test": "x"}]})", "unsupported[0].reason: is missing"},
      {R"({"unsupported": [{"test": "x", "reason": " "}]})",
       "unsupported[0].reason: expected a text that is not empty, found '\" \"'"},
      {R"({"expected_failure": [{"test": "", "reason": "x"}]})",
       "expected_failure[0].test: expected a text that is not empty"},
      {R"({"expected_failure": [{"test": "x", "reason": "x", "rule": "x"}]})",
       "expected_failure[0]: unknown key 'rule'"},
  }));
  CAPTURE(json);
  CHECK_THAT(complaint(json), ContainsSubstring(text));
}

TEST_CASE("missing or invalid cases are reported with the member of the subject", "[subject]") {
  CHECK_THAT(complaint(R"({"backends": {"A": {"cases": ["none_*"]}}})", Error::NotFound),
             ContainsSubstring("backends.A.cases[0]: ") && ContainsSubstring("none_*"));
}

TEST_CASE("a subject file that cannot be read is an error", "[subject]") {
  const Directory directory;
  const auto read = read_subject(directory / "none.json");
  CHECK(read.error() == Error::AccessFailed);
  CHECK_THAT(std::string(read.text()), ContainsSubstring("none.json: cannot be read"));
}

}  // namespace subject_test
