// SPDX-License-Identifier: MIT
//
// Collects the numbered rules of the boundary and the tests that name them.
//
//     tenon-rules ROOT check   fails if a rule or a test is wrong, or the files below are outdated
//     tenon-rules ROOT write   writes tests/conformance/kit/verdict/rule_table.hpp, test_table.hpp
//                              beside it and tests/conformance/test_ids.txt
//
// ROOT is the directory of the repository. Exit codes: 0 success, 1 a problem was found, 2 usage.
#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conformance/rules/render.hpp"

namespace fs = std::filesystem;
using namespace tenon::rulebook;

namespace {

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path.string() + ": cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The texts of the files below `directory` with one of `endings`, by their paths below `root`.
std::map<std::string, std::string> read_files(const fs::path& root, std::string_view directory,
                                              std::vector<std::string_view> endings) {
  std::map<std::string, std::string> out;
  if (!fs::is_directory(root / directory)) return out;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / directory)) {
    const std::string ending = entry.path().extension().string();
    if (!entry.is_regular_file() || std::ranges::find(endings, ending) == endings.end()) continue;
    out.emplace(entry.path().lexically_relative(root).generic_string(), read_file(entry.path()));
  }
  return out;
}

void append(std::vector<Problem>& all, std::vector<Problem> more) {
  std::ranges::move(more, std::back_inserter(all));
}

/// Everything in the repository that concerns rules. `problems` gets the mistakes in headers and
/// suites.
Survey read_repository(const fs::path& root, std::vector<Problem>& problems) {
  Survey survey;
  Rules rules = read_headers(read_files(root / "include", "tenon/abi", {".h"}));
  survey.rules = std::move(rules.rules);
  for (Problem& problem : rules.problems) {
    if (problem.line != 0) problem.file.insert(0, "include/");
    problems.push_back(std::move(problem));
  }
  const std::string suites = "tests/conformance/kit/suites";
  for (const auto& [file, text] : read_files(root, suites, {".cpp"})) {
    ConformanceTests suite = read_suite(file, text);
    std::ranges::move(suite.tests, std::back_inserter(survey.tests));
    append(problems, std::move(suite.problems));
  }
  for (const auto& [file, text] : read_files(root, "tests", {".cpp", ".py"})) {
    if (file.starts_with(suites + "/")) continue;
    for (const std::string& rule : rule_tags(text)) survey.files[rule].insert(file);
  }
  const fs::path exceptions = root / not_observable_file;
  if (fs::exists(exceptions)) survey.not_observable = read_not_observable(read_file(exceptions));
  return survey;
}

void write_file(const fs::path& path, std::string_view text) {
  if (fs::exists(path) && read_file(path) == text) return;
  fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) throw std::runtime_error(path.string() + ": cannot be written");
  std::cout << "wrote " << path.string() << "\n";
}

/// The first difference between the texts.
Problem difference(std::string_view name, std::string_view found, std::string_view expected) {
  std::size_t at = 0;
  while (at < found.size() && at < expected.size() && found[at] == expected[at]) ++at;
  const auto line = static_cast<std::size_t>(std::ranges::count(found.substr(0, at), '\n')) + 1;
  return {std::string(name), line, "differs from the headers and tests; run ./dev rules"};
}

int run(const fs::path& root, bool write) {
  std::vector<Problem> problems;
  const Survey survey = read_repository(root, problems);
  const std::pair<std::string_view, std::string> files[] = {
      {"tests/conformance/kit/verdict/rule_table.hpp", render_table(survey)},
      {"tests/conformance/kit/verdict/test_table.hpp", render_tests(survey)},
      {"tests/conformance/test_ids.txt", render_ids(survey)}};
  if (write) {
    for (const auto& [name, text] : files) write_file(root / name, text);
  } else {
    append(problems, wrong_tests(survey));
    append(problems, wrong_exceptions(survey));
    append(problems, untested_by_hosts(survey));
    append(problems, untested_by_plugins(survey));
    for (const auto& [name, text] : files) {
      const std::string found = fs::exists(root / name) ? read_file(root / name) : "";
      if (found != text) problems.push_back(difference(name, found, text));
    }
  }
  for (const Problem& problem : problems) {
    std::cout << "not ok: " << problem.file << ":" << problem.line << ": " << problem.text << "\n";
  }
  std::cout << survey.rules.size() << " rules, " << survey.tests.size() << " conformance tests, "
            << problems.size() << " problems\n";
  return problems.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view action = argc == 3 ? argv[2] : "";
  if (action != "check" && action != "write") {
    std::cerr << "usage: tenon-rules ROOT check|write\n";
    return 2;
  }
  try {
    return run(argv[1], action == "write");
  } catch (const std::exception& problem) {
    std::cerr << "tenon-rules: " << problem.what() << "\n";
    return 1;
  }
}
