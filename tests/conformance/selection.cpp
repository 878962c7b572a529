// SPDX-License-Identifier: MIT
#include <algorithm>
#include <charconv>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "run.hpp"
#include "tenon/conformance/subject_file.hpp"
#include "tenon/host/glob.hpp"
#include "tenon/host/mapped_file.hpp"

namespace tenon::conformance {

namespace {

struct Shard {
  std::uint32_t part = 1;
  std::uint32_t of = 1;
};

Result<Shard> read_shard(std::string_view text) {
  Shard shard;
  if (text.empty()) return shard;
  const std::size_t slash = text.find('/');
  const auto number = [](std::string_view digits, std::uint32_t& to) {
    const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), to);
    return failed == std::errc() && end == digits.data() + digits.size();
  };
  const bool good = slash != std::string_view::npos && number(text.substr(0, slash), shard.part) &&
                    number(text.substr(slash + 1), shard.of) && shard.part >= 1 &&
                    shard.part <= shard.of;
  if (good) return shard;
  return error(Error::InvalidArgument, "--shard: expected I/N with 1 <= I <= N, found '", text,
               "'");
}

/// The subject with its cases. A file that is not there is the caller's mistake and not the
/// plugin's; one that is no plugin is judged.
Result<Subject> complete(Subject subject, const Arguments& arguments) {
  TENON_CHECK(host::MappedFile::open(*subject.plugin));
  TENON_CHECK(complete_subject(subject, arguments.case_folders));
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
                   ": names no plugin; give exactly one PLUGIN beside it");
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

Result<std::vector<SelectedTest>> select_tests(const Arguments& arguments, const Subject& subject) {
  TENON_TRY(const Shard shard, read_shard(arguments.shard));
  std::vector<SelectedTest> out;
  std::uint32_t number = 0;
  for (const PlannedTest& test : plan_tests(subject)) {
    TestResult blank = test.blank();
    if (test.info->level > arguments.level) continue;
    const std::string path = blank.path();
    const bool wanted =
        arguments.only.empty() || std::ranges::any_of(arguments.only, [&](const std::string& glob) {
          return host::matches_glob(glob, path);
        });
    if (!wanted) continue;
    for (std::uint32_t repeat = 0; repeat < arguments.repeat; ++repeat) {
      if (number++ % shard.of != shard.part - 1) continue;
      blank.repeat = repeat;
      out.push_back({test, repeat, blank});
    }
  }
  if (arguments.shuffle) std::ranges::shuffle(out, std::mt19937_64(arguments.seed));
  return out;
}

}  // namespace tenon::conformance
