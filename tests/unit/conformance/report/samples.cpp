// SPDX-License-Identifier: MIT
// Writes reports in all formats to a directory, for readers that are not written in C++.
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include "kit/report/all.hpp"
#include "unit/conformance/report/sample_report.hpp"

namespace {

using namespace tenon::conformance;

bool write(const std::string& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  return static_cast<bool>(file.flush());
}

Report large_report() {
  TestResult test = sample::test_of("binary", "prints", Outcome::failed);
  while (test.output.size() < (1u << 20)) test.output += sample::hostile_text();
  return sample::report_of({test});
}

Report of_several() {
  return sample::report_of(
      {sample::report_with_all_outcomes().subjects[0], sample::subject_of("empty", {}),
       sample::subject_of("zoo", {sample::test_of("s", "n", Outcome::passed, {"TN-EXE-2"})})});
}

Report of_a_shard() {
  Report report = sample::report_with_all_outcomes();
  report.shard = {2, 3, true};
  report.all_tests = false;
  for (const TestResult& test : report.subjects[0].tests) {
    report.subjects[0].planned.push_back(test.path());
  }
  return report;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: report-samples DIR\n", stderr);
    return 2;
  }
  const std::string directory = argv[1];
  const std::pair<std::string_view, Report> samples[] = {
      {"empty", Report{}},
      {"good", sample::report_of({sample::test_of("s", "n", Outcome::passed, {"TN-EXE-2"})})},
      {"all_outcomes", sample::report_with_all_outcomes()},
      {"several", of_several()},
      {"hostile", sample::hostile_report()},
      {"shard", of_a_shard()},
      {"large", large_report()},
  };
  for (const auto& [name, report] : samples) {
    for (const bool with_times : {true, false}) {
      const ReportOptions options{.with_times = with_times};
      const std::string path = directory + "/" + std::string(name) + (with_times ? "" : "-stable");
      if (!write(path + ".json", to_json(report, options)) ||
          !write(path + ".xml", to_junit(report, options)) ||
          !write(path + ".html", to_html(report, options)) ||
          !write(path + ".md", to_markdown(report, options)) ||
          !write(path + ".txt", to_text(report, false, true, options))) {
        std::fprintf(stderr, "report-samples: cannot write to %s\n", directory.c_str());
        return 1;
      }
    }
  }
  return 0;
}
