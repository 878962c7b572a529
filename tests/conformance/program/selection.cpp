// SPDX-License-Identifier: MIT
#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "run.hpp"
#include "tenon/conformance/subject.hpp"
#include "tenon/host/loader/files/mapped_file.hpp"
#include "tool.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace {

/// Whether `text` is a path of `test`. Names of cases can have any characters; a terminal or a
/// script has them as `printable`.
bool is_named(std::string_view text, const TestResult& test) {
  for (const std::string& path : {test.path(), test.path_by_name()}) {
    if (text == path || text == printable(path)) return true;
  }
  return false;
}

/// The subject with its cases. A missing file is an error of the caller; a file that is not a
/// plugin is judged.
Result<Subject> complete(Subject subject, const Arguments& arguments) {
  TENON_RETURN_IF_ERROR(host::MappedFile::open(*subject.plugin));
  TENON_RETURN_IF_ERROR(complete_subject(subject, arguments.case_directories));
  return subject;
}

}  // namespace

Result<std::vector<Subject>> read_subjects(const Arguments& arguments) {
  std::vector<Subject> out;
  for (const std::string& file : arguments.subject_files) {
    TENON_TRY(Subject subject, read_subject(file));
    // One plugin and one file that names none belong together.
    if (!subject.plugin && arguments.plugins.size() == 1) subject.plugin = arguments.plugins[0];
    if (!subject.plugin) {
      return error(Error::InvalidArgument, file,
                   ": names no plugin; give exactly one PLUGIN with it");
    }
    TENON_TRY(subject, complete(std::move(subject), arguments));
    out.push_back(std::move(subject));
  }
  const bool taken = arguments.subject_files.size() == 1 && arguments.plugins.size() == 1;
  for (const std::string& plugin : arguments.plugins) {
    if (taken) break;
    Subject subject;
    subject.plugin = plugin;
    TENON_TRY(subject, complete(std::move(subject), arguments));
    out.push_back(std::move(subject));
  }
  return out;
}

std::vector<SelectedTest> select_tests(const Arguments& arguments, const Subject& subject) {
  const Shard& shard = arguments.shard;
  std::vector<SelectedTest> out;
  std::uint32_t number = 0;
  for (const PlannedTest& test : plan_tests(subject)) {
    TestResult blank = test.blank();
    if (test.info->level > arguments.level) continue;
    const bool judges_rule =
        arguments.rules.empty() ||
        std::ranges::any_of(arguments.rules, [&](const std::string& rule) {
          return std::ranges::find(test.info->rules, rule) != test.info->rules.end();
        });
    if (!judges_rule) continue;
    const bool wanted =
        arguments.only.empty() || std::ranges::any_of(arguments.only, [&](const std::string& glob) {
          return matches_path(glob, blank);
        });
    if (!wanted) continue;
    for (std::uint32_t repeat = 0; repeat < arguments.repeat; ++repeat) {
      if (number++ % shard.of != shard.part - 1) continue;
      blank.repeat = repeat;
      if (!arguments.test.empty() && !is_named(arguments.test, blank)) continue;
      out.push_back({test, repeat, blank});
    }
  }
  if (arguments.shuffle) std::ranges::shuffle(out, std::mt19937_64(arguments.seed));
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::conformance
