// SPDX-License-Identifier: MIT
//
// Every plugin of the zoo is caught by its rule and by no other, and correct plugins pass. A run
// over a plugin that crashes or hangs ends like any other.
#include <sys/wait.h>
#ifdef __linux__
#include <features.h>
#endif
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "kit/run/budget.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

namespace {

using tenon::test::TemporaryDirectory;

const std::string kit = TENON_CONFORMANCE;
const std::string zoo = TENON_ZOO;

struct Ran {
  int code = -1;
  std::string output;
};

/// Asserts nothing, as assertions of Catch2 belong to one thread: what did not end by itself has
/// code -1.
Ran run_command(const std::string& command) {
  Ran out;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return out;
  std::array<char, 65536> chunk;
  while (const std::size_t got = std::fread(chunk.data(), 1, chunk.size(), pipe)) {
    out.output.append(chunk.data(), got);
  }
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) out.code = WEXITSTATUS(status);
  return out;
}

Ran run(const std::string& arguments) { return run_command(kit + " " + arguments); }

struct Animal {
  std::string name;
  std::string rule;  ///< "-" for a correct one.
  int level = 2;     ///< The lowest at which it must be caught, from its source's first lines.
};

std::vector<Animal> animals() {
  std::vector<Animal> out;
  std::ifstream list(zoo + "/zoo.txt");
  for (std::string line; std::getline(list, line);) {
    std::istringstream words(line);
    Animal animal;
    if (!(words >> animal.name >> animal.rule)) continue;
    std::string at, level;
    if (animal.rule == "-") {
      animal.level = 9;
    } else if (words >> at >> level) {
      REQUIRE((at == "at" && level == "level" && words >> animal.level));
    }
    out.push_back(animal);
  }
  return out;
}

/// One report: which rules are broken, with the first finding of each.
struct Verdict {
  int code = -1;
  std::set<std::string> rules;
  std::string details;
};

/// Adds what one run of the kit reports to `verdict`.
void judge(const Animal& animal, const std::string& selection, Verdict& verdict) {
  // A hang takes the whole time limit, which is short only for plugins that hang.
  const bool hangs = animal.rule == "TN-BCK-8";
  const Ran ran =
      run("--subject " + zoo + "/zoo.json " + zoo + "/" + animal.name + ".so " + selection +
          " --jobs 1 --json - --timeout " + (hangs ? "2" : "60") + " 2>/dev/null");
  verdict.code = std::max(verdict.code, ran.code);
  const auto report = nlohmann::json::parse(ran.output, nullptr, false);
  if (!report.is_object()) {
    verdict.rules.insert("no report");
    verdict.details += "no report: " + ran.output.substr(0, 500);
    return;
  }
  for (const auto& subject : report.at("subjects")) {
    for (const auto& test : subject.at("tests")) {
      const std::string outcome = test.at("outcome");
      if (outcome == "kit_error") {
        verdict.rules.insert("kit_error");
        verdict.details +=
            test.at("name").get<std::string>() + ": " + test.value("reason", "") + "\n";
      }
      if (!test.contains("findings")) continue;
      for (const auto& finding : test.at("findings")) {
        const std::string rule = finding.at("rule");
        if (rule != animal.rule || verdict.rules.count(rule) == 0) {
          verdict.details += test.at("suite").get<std::string>() + "/" +
                             test.at("name").get<std::string>() + "/" + test.value("case", "") +
                             ": " + rule + ": " + finding.at("text").get<std::string>() + "\n";
        }
        // A thread that remains crashes when its code is gone, in the test that runs just then.
        const bool is_of_a_thread = animal.name == "keeps_a_thread" &&
                                    finding.at("text").get<std::string>().starts_with("SIGSEGV");
        verdict.rules.insert(is_of_a_thread ? animal.rule : rule);
      }
    }
  }
}

/// From level 4 on, all tests of the level at which the mistake must be caught take ten times as
/// long as the tests of level 2 and the tests that judge the rule. All are run with
/// TENON_ZOO_LEVEL, where a higher level must catch the mistakes too, and find nothing else; level
/// 9 then is for each correct plugin, and otherwise for one, with level 3 for its variants, which
/// the kit judges at their levels as subjects (hello, demo_backend, graph_backend).
Verdict judge(const Animal& animal) {
  const auto at_level = [](int level) { return "--level " + std::to_string(level); };
  Verdict verdict;
  if (const char* level = std::getenv("TENON_ZOO_LEVEL")) {
    judge(animal, at_level(std::max(animal.level, std::atoi(level))), verdict);
  } else if (animal.rule == "-") {
    judge(animal, at_level(animal.name == "good" ? animal.level : 3), verdict);
  } else if (animal.level <= 3) {
    judge(animal, at_level(animal.level), verdict);
  } else {
    judge(animal, at_level(2), verdict);
    judge(animal, at_level(animal.level) + " --rule " + animal.rule, verdict);
  }
  return verdict;
}

std::set<std::string> rules_broken_by(const Animal& animal) {
  std::set<std::string> rules{animal.rule};
#ifdef __GLIBC__
  // Since 2.41 it loads no library that asks for an executable stack.
  if (animal.name == "executable_stack" && std::string_view(gnu_get_libc_version()) >= "2.41") {
    rules.insert("TN-BIN-11");
  }
#endif
  return rules;
}

}  // namespace

TEST_CASE("every plugin of the zoo is caught by its rule and by no other", "[zoo]") {
  std::vector<Animal> all = animals();
  REQUIRE(all.size() >= 40);
  if (const char* only = std::getenv("TENON_ZOO_ONLY")) {
    std::erase_if(
        all, [&](const Animal& animal) { return animal.name.find(only) == std::string::npos; });
  }
  // A kit waits for its processes half of the time, so there are more kits than processors.
  std::vector<Verdict> verdicts(all.size());
  std::atomic<std::size_t> next{0};
  {
    std::vector<std::jthread> judges(std::thread::hardware_concurrency() + 1);
    for (std::jthread& each : judges) {
      each = std::jthread([&] {
        for (std::size_t i = next++; i < all.size(); i = next++) {
          verdicts[i] = judge(all[i]);
        }
      });
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Animal& animal = all[i];
    const Verdict& verdict = verdicts[i];
    INFO(animal.name << " breaks " << animal.rule);
    INFO(verdict.details);
    if (animal.rule == "-") {
      CHECK(verdict.rules.empty());
      CHECK(verdict.code == 0);
    } else {
      CHECK(verdict.rules == rules_broken_by(animal));
      CHECK(verdict.code == 1);
    }
  }
}

TEST_CASE("a plugin that crashes does not lose the results of other tests", "[zoo]") {
  const auto report =
      nlohmann::json::parse(run("--subject " + zoo + "/zoo.json " + zoo +
                                "/aborts_in_execute.so --jobs 2 --json - 2>/dev/null")
                                .output);
  const auto good = nlohmann::json::parse(
      run("--subject " + zoo + "/zoo.json " + zoo + "/good.so --jobs 2 --json - 2>/dev/null")
          .output);
  const auto& tests = report.at("subjects").at(0).at("tests");
  const auto& all = good.at("subjects").at(0).at("tests");
  CHECK(tests.size() == all.size());
  std::size_t crashed = 0;
  for (const auto& test : tests) {
    if (!test.contains("crashes") || test.at("crashes").empty()) continue;
    ++crashed;
    const auto& crash = test.at("crashes").at(0);
    CHECK(crash.at("what").get<std::string>().find("SIGABRT") != std::string::npos);
    CHECK(crash.at("in").get<std::string>().find("execute") != std::string::npos);
    CHECK(!crash.at("last_calls").empty());
    // The function is one of the plugin's own, which it does not export.
    std::string frames;
    for (const std::string frame : crash.at("backtrace")) frames += frame + "\n";
    INFO(frames);
    CHECK(frames.find("execute+0x") != std::string::npos);
    CHECK(frames.find(" in " + zoo + "/aborts_in_execute.so+0x") != std::string::npos);
    CHECK(frames.find("/proc/") == std::string::npos);
  }
  CHECK(crashed != 0);
  const auto passed =
      std::ranges::count_if(tests, [](const auto& test) { return test.at("outcome") == "passed"; });
  CHECK(passed != 0);
}

TEST_CASE("the list of tests says what the loads of a slow backend take", "[zoo]") {
  const std::string plain =
      run("--subject " + zoo + "/zoo.json " + zoo + "/good.so --level 10 --list").output;
  CHECK(plain.find(" of loads") == std::string::npos);

  auto subject = nlohmann::json::parse(std::ifstream(zoo + "/zoo.json"));
  for (auto& backend : subject.at("backends")) backend["init_ms"] = 150;
  // Next to the other one, whose paths are relative.
  const std::string path = zoo + "/slow_zoo.json";
  std::ofstream(path) << subject;
  const std::string listed =
      run("--subject " + path + " " + zoo + "/good.so --level 10 --list").output;
  std::filesystem::remove(path);
  INFO(listed);
  for (const tenon::conformance::RepeatedLoads& loads : tenon::conformance::repeated_loads) {
    // Within its budget of 20 s, unless that has no room for 4 rounds.
    const std::size_t at = listed.find(std::string(loads.test) + "/");
    INFO(loads.test);
    REQUIRE(at != std::string::npos);
    const std::string line = listed.substr(at, listed.find('\n', at) - at);
    const std::size_t seconds = line.rfind("; ");
    REQUIRE((seconds != std::string::npos && line.find(" s of loads) ", seconds) != line.npos));
    CHECK(std::stod(line.substr(seconds + 2)) > 1);
    CHECK(std::stod(line.substr(seconds + 2)) <= 20);
  }
  CHECK(listed.find("\nexpected: ") != std::string::npos);
}

TEST_CASE("the same seed gives the same report", "[zoo]") {
  const std::string arguments =
      "--subject " + zoo + "/zoo.json " + zoo +
      "/good.so --level 9 --seed 7 --shuffle --no-times --json - 2>/dev/null";
  const Ran first = run(arguments);
  CHECK(first.code == 0);
  CHECK(run(arguments).output == first.output);
  CHECK(run(arguments + " --jobs 1").output == first.output);
}

TEST_CASE("tests that could not be judged are no pass", "[zoo]") {
  const Ran ran = run("--subject " + zoo + "/zoo.json " + zoo +
                      "/nodelete.so --level 6 --only 'leaks/*loading*' --color never 2>/dev/null");
  INFO(ran.output);
  CHECK(ran.code == 1);
  CHECK(ran.output.find("\nINCOMPLETE: ") != std::string::npos);
  CHECK(ran.output.find("PASS") == std::string::npos);
}

TEST_CASE("a plugin of which no delegate was executed is no pass, in every report", "[zoo]") {
  const TemporaryDirectory directory;
  const auto read = [&](const char* name) {
    std::ifstream file(directory / name);
    return std::string{std::istreambuf_iterator<char>(file), {}};
  };
  const Ran ran = run(zoo + "/reads_a_wrong_address.so --level 3 --color never --json " +
                      directory.file("r.json") + " --junit " + directory.file("r.xml") +
                      " --html " + directory.file("r.html") + " 2>/dev/null");
  INFO(ran.output);
  CHECK(ran.code == 1);
  const std::string why = "there is no case for backend ZooBackend; give some with --cases";
  CHECK(ran.output.find(why) != std::string::npos);
  CHECK(ran.output.find("\nINCOMPLETE: ") != std::string::npos);
  CHECK(ran.output.find("; no delegate was executed\n") != std::string::npos);
  CHECK(ran.output.find("PASS") == std::string::npos);
  const auto report = nlohmann::json::parse(read("r.json"));
  CHECK(report.at("good") == false);
  CHECK(report.at("verdict").get<std::string>().starts_with("INCOMPLETE: "));
  for (const auto& test : report.at("subjects").at(0).at("tests")) {
    CHECK(test.at("executed") == false);
  }
  CHECK(read("r.xml").find("name=\"verdict\" value=\"INCOMPLETE: ") != std::string::npos);
  CHECK(read("r.html").find("<title>INCOMPLETE: ") != std::string::npos);
  // The file alone was asked for.
  const Ran file = run(zoo + "/reads_a_wrong_address.so --level 1 --color never 2>/dev/null");
  CHECK(file.code == 0);
  CHECK(file.output.find("\nPASS: ") != std::string::npos);
  CHECK(file.output.find("; no delegate was executed\n") != std::string::npos);
}

TEST_CASE("a declaration that matches no test is an error", "[zoo]") {
  const auto subject = nlohmann::json::parse(std::ifstream(zoo + "/zoo.json"));
  const auto judge = [&](const char* name, const nlohmann::json& declarations) {
    auto changed = subject;
    changed[name] = declarations;
    const std::string path = zoo + "/declared_zoo.json";
    std::ofstream(path) << changed;
    const Ran ran = run("--subject " + path + " " + zoo + "/good.so --level 1 --color never 2>&1");
    std::filesystem::remove(path);
    return ran;
  };
  const auto declaration = [](const char* test) {
    return nlohmann::json{{"test", test}, {"reason", "known"}};
  };
  // Tests of other levels count.
  CHECK(judge("unsupported", {declaration("leaks/*"), declaration("TN-EXE-2")}).code == 0);
  CHECK(judge("unsupported", {declaration("leaks/unmapped-after-run/*"),
                              declaration("leaks/a library whose backend ran*")})
            .code == 0);
  for (const char* name : {"unsupported", "expected_failure"}) {
    const Ran ran =
        judge(name, {declaration("leaks/*"), declaration("unload/*"), declaration("numerics")});
    INFO(ran.output);
    CHECK(ran.code == 3);
    const std::string where = std::string(name) + "[1].test: 'unload/*' matches no test";
    CHECK(ran.output.find("declared_zoo.json: " + where) != std::string::npos);
    CHECK(ran.output.find("; nor do " + std::string(name) + "[2]\n") != std::string::npos);
  }
  const Ran ran = judge("unsuported", nlohmann::json::array());
  CHECK(ran.code == 3);
  CHECK(ran.output.find("unknown key 'unsuported'; did you mean 'unsupported'?") !=
        std::string::npos);
}

TEST_CASE("the bundle of a finding replays it", "[zoo]") {
  const TemporaryDirectory directory;
  const std::filesystem::path plugin = directory / "it's a plugin.so";
  std::filesystem::copy_file(zoo + "/writes_to_input.so", plugin);
  const Ran ran = run("--subject " + zoo + "/zoo.json \"" + plugin.native() +
                      "\" --level 4 --seed 7 --only 'arguments/*' --repro \"" +
                      directory.file("bundles") + "\" --json - 2>/dev/null");
  CHECK(ran.code == 1);
  const auto report = nlohmann::json::parse(ran.output);
  std::size_t num_findings = 0, num_bundles = 0;
  for (const auto& test : report.at("subjects").at(0).at("tests")) {
    num_findings += test.at("findings").size();
  }
  std::filesystem::path first;
  for (const auto& entry : std::filesystem::directory_iterator(directory / "bundles")) {
    ++num_bundles;
    if (first.empty() || entry.path() < first) first = entry.path();
  }
  REQUIRE(num_findings != 0);
  CHECK(num_bundles == num_findings);
  const auto bundle = nlohmann::json::parse(std::ifstream(first / "repro.json"));
  CHECK(bundle.at("sha256") == report.at("subjects").at(0).at("sha256"));
  CHECK(bundle.at("kit_version") == report.at("kit_version"));
  CHECK(bundle.at("seed") == 7);
  CHECK(bundle.at("rule") == "TN-EXE-2");
  CHECK(bundle.at("test") == "arguments/leaves-inputs-unchanged/ZooBackend/add");
  CHECK(first.filename() == "001-tn-exe-2-arguments-leaves-inputs-unchanged");
  const std::string recorded = bundle.at("command").at(0);
  CHECK(std::filesystem::path(recorded).is_absolute());

  // The command judges that test alone, and finds the same. It takes one program, and the kit may
  // be an emulator with an argument.
  const std::string program = directory.write("kit", "#!/bin/sh\nexec " + kit + " \"$@\"\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const auto replay = [&](const std::string& streams) {
    return run_command("TENON_CONFORMANCE='" + program + "' sh '" + (first / "repro.sh").native() +
                       "' --json - " + streams);
  };
  // Without the variable it is the kit that judged, which need not be on the path.
  if (kit.find(' ') == kit.npos) {
    CHECK(recorded == std::filesystem::canonical(kit));
    const Ran by_itself = run_command("env -u TENON_CONFORMANCE PATH=/usr/bin:/bin sh '" +
                                      (first / "repro.sh").native() + "' --json - 2>/dev/null");
    CHECK(by_itself.code == 1);
    CHECK(nlohmann::json::parse(by_itself.output, nullptr, false).is_object());
  }
  const Ran again = replay("2>/dev/null");
  INFO(again.output.substr(0, 500));
  CHECK(again.code == 1);
  const auto replayed = nlohmann::json::parse(again.output, nullptr, false);
  REQUIRE(replayed.is_object());
  CHECK(replayed.at("all_tests") == false);
  const auto& tests = replayed.at("subjects").at(0).at("tests");
  REQUIRE(tests.size() == 1);
  const auto& finding = tests.at(0).at("findings").at(0);
  CHECK(finding.at("rule") == bundle.at("rule"));
  const std::string start = "SIGSEGV: touched memory of an input";
  CHECK(finding.at("text").get<std::string>().starts_with(start));
  CHECK(bundle.at("text").get<std::string>().starts_with(start));

  // Another file at the path of the plugin is not judged.
  std::filesystem::copy_file(zoo + "/good.so", plugin,
                             std::filesystem::copy_options::overwrite_existing);
  const Ran other = replay("2>&1");
  CHECK(other.code == 3);
  CHECK(other.output.find("the plugin is another file than was judged") != std::string::npos);
}

TEST_CASE("the coverage of a backend shows what it takes and whether its results are right",
          "[zoo]") {
  const TemporaryDirectory directory;
  const auto read = [](const std::string& path) {
    std::ifstream file(path);
    return std::string{std::istreambuf_iterator<char>(file), {}};
  };
  const auto coverage_of = [&](const std::string& name, const std::string& file) {
    const Ran ran =
        run("--subject " + zoo + "/zoo.json " + zoo + "/" + name +
            ".so --only 'numerics/outputs*/add' --coverage " + directory.file(file) + " 2>&1");
    INFO(ran.output);
    CHECK(ran.code == 0);
    return read(directory.file(file));
  };
  // The zoo's compiler takes additions of float32 and nothing else.
  const std::string row = "\n| aten.add.Tensor | ";
  const std::string rest = " | - | - | - | - | - | - | - | - | - |\n";
  for (const auto& [name, cell, reason] : {
           std::array{"good_compiler", "right", ""},
           std::array{"compiles_another_operation", "wrong", "largest difference 1 at"},
           std::array{"refuses_its_own_blobs", "refused", "float32: init: "},
           std::array{"aborts_in_preprocess", "crashed", "float32: SIGABRT"},
       }) {
    const std::string text = coverage_of(name, "matrix.md");
    INFO(text.substr(0, 3000));
    CHECK(text.find(row + cell + rest) != std::string::npos);
    CHECK(text.find("The backend was asked about each operator by itself. 1 operators (1 of ") !=
          std::string::npos);
    CHECK(text.find("cells not taken") != std::string::npos);
    CHECK(text.find(reason) != std::string::npos);
  }
  // Without a compiler the matrix comes from cases, and these record nothing.
  CHECK(coverage_of("good", "matrix.md").find("the matrix comes from its cases. 0 operators") !=
        std::string::npos);
  const std::string page = coverage_of("good_compiler", "matrix.html");
  CHECK(page.starts_with("<!doctype html>"));
  CHECK(page.find("<tr><th>aten.add.Tensor</th><td class=\"good\">right</td>") !=
        std::string::npos);
  const Ran wrong = run(zoo + "/good.so --coverage matrix.txt 2>&1");
  CHECK(wrong.code == 2);
  CHECK(wrong.output.find("expected a file FILE.html or FILE.md") != std::string::npos);
}

TEST_CASE("one test is selected by its path, with its id or with its name", "[zoo]") {
  const std::string path = "numerics/expected-outputs/ZooBackend/add";
  const std::string subject = "--subject " + zoo + "/zoo.json " + zoo + "/good.so --list ";
  for (const std::string& given :
       {path, std::string("numerics/outputs are those that are expected/ZooBackend/add")}) {
    const std::string listed = run(subject + "--test '" + given + "'").output;
    INFO(listed);
    CHECK(listed.starts_with(path + "  (level "));
    CHECK(listed.ends_with(") outputs are those that are expected\n"));
    CHECK(
        run(subject + "--repeat 2 --test '" + given + "/#2'").output.starts_with(path + "/#2  ("));
    CHECK(run(subject + "--only '" + given + "'").output == listed);
  }
  CHECK(run(subject + "--test 'numerics/*' 2>/dev/null").code == 1);
}

TEST_CASE("selecting no test is a failure", "[zoo]") {
  const Ran ran = run(zoo + "/good.so --only nothing/at/all 2>&1");
  CHECK(ran.code == 1);
  CHECK(ran.output.find("no test is selected") != std::string::npos);
}

TEST_CASE("a rule selects the tests that judge it, and an unknown one is refused", "[zoo]") {
  const std::string good = "--subject " + zoo + "/zoo.json " + zoo + "/good.so ";
  const Ran listed = run(good + "--list --rule TN-EXE-2");
  CHECK(listed.code == 0);
  std::istringstream lines(listed.output);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    INFO(line);
    CHECK(line.find("TN-EXE-2") != std::string::npos);
  }
  CHECK(count != 0);
  // A report of some tests is no certificate.
  for (const auto& [selection, is_all] :
       {std::pair{"--level 1", true}, std::pair{"--level 4 --rule TN-EXE-2", false}}) {
    const Ran ran = run(good + selection + " --json - 2>/dev/null");
    CHECK(ran.code == 0);
    CHECK(nlohmann::json::parse(ran.output).at("all_tests") == is_all);
  }
  const Ran unknown = run(good + "--rule no-such-rule 2>&1");
  CHECK(unknown.code == 2);
  CHECK(unknown.output.find("'no-such-rule'") != std::string::npos);
}

TEST_CASE("a missing plugin is reported before anything is judged", "[zoo]") {
  const Ran ran = run(zoo + "/no_such_plugin.so 2>&1");
  CHECK(ran.code == 3);
  CHECK(ran.output.find("no_such_plugin.so") != std::string::npos);
  CHECK(ran.output.find("tests:") == std::string::npos);
}

TEST_CASE("tests run in the process of the kit for a debugger", "[zoo]") {
  const Ran ran = run("--subject " + zoo + "/zoo.json " + zoo +
                      "/good.so --in-process --only 'numerics/*' 2>&1");
  INFO(ran.output);
  CHECK(ran.code == 0);
}

TEST_CASE("the shards of a run contain each test once", "[zoo]") {
  const auto lines = [](const std::string& text) {
    std::multiset<std::string> out;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) out.insert(line);
    return out;
  };
  const std::string subject = "--subject " + zoo + "/zoo.json " + zoo + "/good.so --list ";
  std::multiset<std::string> parts;
  for (const char* shard : {"1/3", "2/3", "3/3"}) {
    parts.merge(lines(run(subject + "--shard " + shard).output));
  }
  CHECK(parts == lines(run(subject).output));
  CHECK(run(subject + "--shard 4/3 2>/dev/null").code == 2);
}

TEST_CASE("reports of shards are merged into the report of the whole run", "[zoo]") {
  const TemporaryDirectory directory;
  const auto file = [&](const std::string& name) { return (directory.path() / name).string(); };
  const auto read = [&](const std::string& name) {
    std::ifstream stream(file(name));
    return std::string(std::istreambuf_iterator<char>(stream), {});
  };
  const std::string judge = "--subject " + zoo + "/zoo.json " + zoo + "/good.so --level 4 ";
  const std::string reports = " --no-times --color never ";
  CHECK(run(judge + reports + "--json " + file("whole.json")).code == 0);
  std::string parts;
  for (const char* part : {"1", "2"}) {
    const std::string name = std::string("shard-") + part + ".json";
    CHECK(run(judge + reports + "--shard " + part + "/2 --shuffle --json " + file(name)).code == 0);
    parts += " " + file(name);
  }
  const Ran merged = run("--merge" + parts + reports + "--json " + file("merged.json") +
                         " --junit " + file("merged.xml") + " --baseline " + file("whole.json"));
  INFO(merged.output);
  CHECK(merged.code == 0);
  CHECK_THAT(merged.output, ContainsSubstring("PASS"));
  CHECK(read("merged.json") == read("whole.json"));
  CHECK_THAT(read("merged.xml"), ContainsSubstring("<testsuite"));

  const Ran missing = run("--merge " + file("shard-2.json") + " 2>&1");
  CHECK(missing.code == 3);
  CHECK_THAT(missing.output,
             ContainsSubstring("1 report of 2 shards") && ContainsSubstring("tests missing"));
  CHECK(run("--merge " + file("whole.json") + " 2>/dev/null").code == 3);
  CHECK(run("--merge " + file("none.json") + " 2>/dev/null").code == 3);
  CHECK(run("--merge " + file("merged.xml") + " 2>/dev/null").code == 3);
  const std::string list = " --list 2>/dev/null";
  CHECK(run("--merge" + parts + list).code == 2);
}
