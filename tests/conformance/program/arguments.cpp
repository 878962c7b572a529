// SPDX-License-Identifier: MIT
#include "arguments.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

#include "kit/verdict/rule.hpp"
#include "parse_command_line.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace {

constexpr const char* footer =
    "Levels: 1 the file, 2 the boundary, 3 life cycle, 4 arguments and numbers, 5 options and\n"
    "  errors (the default), 6 leaks and unloading, 7 damaged blobs, 8 failing services,\n"
    "  9 threads and hosts of other versions, 10 everything, often.\n"
    "Each option can be given by an environment variable: TENON_CONFORMANCE_LEVEL for --level.\n"
    "\n"
    "Examples:\n"
    "  tenon-conformance libacme.so\n"
    "  tenon-conformance --subject acme.json --level 10 --html report.html\n"
    "  tenon-conformance libacme.so --cases cases/ --only 'arguments/*'\n"
    "  tenon-conformance --merge shard-1.json shard-2.json --html report.html\n"
    "  tenon-conformance --make-proxy watched.so libacme.so\n"
    "  gdb --args tenon-conformance libacme.so --in-process --only 'numerics/expected-outputs*'\n"
    "\n"
    "Exit codes:\n"
    "  0  PASS: no rule is broken\n"
    "  1  FAIL: a rule is broken; INCOMPLETE: tests were blocked; or no test was selected\n"
    "  2  wrong usage\n"
    "  3  not a plugin\n";

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

Status check_rules(const std::vector<std::string>& ids) {
  for (const std::string& id : ids) {
    if (find_rule(id) == nullptr) {
      return error(Error::InvalidArgument, "--rule: no rule has the id '", id,
                   "'; --list prints the rules of each test");
    }
  }
  return ok();
}

/// Refuses with --merge whatever needs a plugin.
Status check_merge(const Arguments& arguments) {
  const std::pair<bool, const char*> judging[] = {{!arguments.plugins.empty(), "PLUGIN"},
                                                  {!arguments.subject_files.empty(), "--subject"},
                                                  {arguments.list, "--list"},
                                                  {!arguments.coverage.empty(), "--coverage"},
                                                  {!arguments.repro.empty(), "--repro"},
                                                  {!arguments.make_proxy.empty(), "--make-proxy"}};
  for (const auto& [given, name] : judging) {
    if (given) return error(Error::InvalidArgument, "--merge judges nothing: it takes no ", name);
  }
  return ok();
}

void add_run_options(CLI::App& app, Arguments& arguments, std::string& shard) {
  const std::string prefix = "TENON_CONFORMANCE_";
  app.add_option("--only", arguments.only,
                 "Run only tests whose path matches a glob, e.g. 'binary/*'")
      ->type_name("GLOB")
      ->allow_extra_args(false)
      ->envname(prefix + "ONLY");
  app.add_option("--rule", arguments.rules, "Run only tests of a rule, e.g. TN-EXE-2")
      ->type_name("ID")
      ->allow_extra_args(false)
      ->envname(prefix + "RULE");
  app.add_option("--test", arguments.test, "Run only the test with this path, as --list prints it")
      ->type_name("PATH");
  app.add_option("--level", arguments.level, "How much to test, 1 to 10 (default: 5)")
      ->check(CLI::Range(1, 10))
      ->type_name("N")
      ->envname(prefix + "LEVEL");
  app.add_option("--seed", arguments.seed, "Seed of random choices (default: 1)")
      ->type_name("N")
      ->envname(prefix + "SEED");
  app.add_option("--repeat", arguments.repeat, "How often to run each test (default: 1)")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N")
      ->envname(prefix + "REPEAT");
  app.add_flag("--shuffle", arguments.shuffle,
               "Run tests in a random order, which the seed determines")
      ->envname(prefix + "SHUFFLE");
  app.add_option("--jobs", arguments.jobs,
                 "Tests to run at a time (default: the number of processors)")
      ->check(CLI::Range(0, 1024))
      ->type_name("N")
      ->envname(prefix + "JOBS");
  app.add_option("--shard", shard, "Run only the Ith of N parts of all tests")
      ->type_name("I/N")
      ->envname(prefix + "SHARD");
  app.add_option("--timeout", arguments.timeout,
                 "Seconds until a test counts as hung (default: 60)")
      ->check(CLI::PositiveNumber)
      ->type_name("S")
      ->envname(prefix + "TIMEOUT");
  app.add_option("--max-hangs", arguments.max_hangs,
                 "Hung tests after which the rest is blocked (default: 5)")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N")
      ->envname(prefix + "MAX_HANGS");
  app.add_flag("--in-process", arguments.in_process,
               "Run tests in this process, for a debugger: a crash ends it")
      ->envname(prefix + "IN_PROCESS");
}

void add_reports(CLI::App& app, Arguments& arguments) {
  const std::string prefix = "TENON_CONFORMANCE_";
  const auto file = [&](const char* name, std::string& to, const char* what, const char* variable) {
    app.add_option(name, to, what)->type_name("FILE")->envname(prefix + variable);
  };
  file("--json", arguments.json, "Write the report as JSON ('-': to standard output)", "JSON");
  file("--junit", arguments.junit, "Write the report as JUnit XML", "JUNIT");
  file("--html", arguments.html, "Write the report as one HTML file", "HTML");
  file("--markdown", arguments.markdown, "Write a summary as Markdown", "MARKDOWN");
  file("--coverage", arguments.coverage,
       "Write the operators that each backend takes and computes right (.html or .md)", "COVERAGE");
  app.add_option("--repro", arguments.repro,
                 "Write files that replay each finding to its own directory in DIR")
      ->type_name("DIR")
      ->envname(prefix + "REPRO");
  file("--baseline", arguments.baseline, "Fail when anything is worse than in this JSON report",
       "BASELINE");
  app.add_option("--baseline-factor", arguments.baseline_factor,
                 "Factor from which on a measurement counts as worse (default: 2)")
      ->type_name("X")
      ->envname(prefix + "BASELINE_FACTOR");
  app.add_option("--merge", arguments.merge,
                 "Merge the JSON reports of all shards of a run into one, without testing")
      ->type_name("REPORT...");
  app.add_flag("!--no-times", arguments.with_times,
               "Omit what differs between runs: times, dates, addresses, figures")
      ->envname(prefix + "WITH_TIMES");
}

}  // namespace

Result<std::variant<Arguments, PrintAndExit>> parse_arguments(int argc, const char* const* argv) {
  Arguments arguments;
  std::string shard;
  CLI::App app("Tests plugins against the numbered rules of Tenon's boundary.",
               "tenon-conformance");
  app.add_option("PLUGIN", arguments.plugins, "Plugins to test");
  app.add_option("--subject", arguments.subject_files,
                 "Declarations of the author: cases, options, unsupported tests (JSON)")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->envname("TENON_CONFORMANCE_SUBJECT");
  app.add_option("--cases", arguments.case_directories, "Directory of cases, or one case")
      ->type_name("DIR")
      ->allow_extra_args(false)
      ->envname("TENON_CONFORMANCE_CASES");
  app.add_flag("--list", arguments.list, "Print the selected tests without running them");
  add_run_options(app, arguments, shard);
  add_reports(app, arguments);
  app.add_flag("--verbose", arguments.verbose,
               "Also report tests without a verdict, all findings and outputs")
      ->envname("TENON_CONFORMANCE_VERBOSE");
  app.add_flag("--progress", arguments.progress,
               "Print a line to standard error for each ended test")
      ->envname("TENON_CONFORMANCE_PROGRESS");
  add_color_option(app, arguments.color);
  app.add_option("--make-proxy", arguments.make_proxy,
                 "Write a proxy of PLUGIN for any application, without testing")
      ->type_name("OUT");
  app.add_flag("--force", arguments.force, "Let --make-proxy replace OUT");
  app.add_option("--run-one", arguments.run_one)->group("");
  app.add_option("--coverage-of", arguments.coverage_of)->group("");
  app.add_option("--coverage-from", arguments.coverage_from)->group("");
  app.add_option("--server", arguments.server)->group("");
  app.add_option("--channel", arguments.channel)->group("");
  app.add_option("--crumbs", arguments.crumbs)->group("");
  TENON_TRY(auto instead, parse_command_line(app, footer, argc, argv));
  if (instead) return std::variant<Arguments, PrintAndExit>(*std::move(instead));
  TENON_TRY(arguments.shard, read_shard(shard));
  TENON_RETURN_IF_ERROR(check_rules(arguments.rules));
  if (!arguments.merge.empty()) {
    TENON_RETURN_IF_ERROR(check_merge(arguments));
  } else if (arguments.plugins.empty() && arguments.subject_files.empty()) {
    return error(Error::InvalidArgument,
                 "expected a PLUGIN or --subject (see tenon-conformance --help)");
  }
  if (!arguments.make_proxy.empty() && arguments.plugins.size() != 1) {
    return error(Error::InvalidArgument, "--make-proxy takes one PLUGIN, found ",
                 arguments.plugins.size(), " (see tenon-conformance --help)");
  }
  const std::string_view coverage = arguments.coverage;
  if (!coverage.empty() && !coverage.ends_with(".html") && !coverage.ends_with(".md")) {
    return error(Error::InvalidArgument,
                 "--coverage: expected a file FILE.html or FILE.md, found '", coverage, "'");
  }
  if (arguments.json == "-") {
    arguments.json.clear();
    arguments.json_to_stdout = true;
  }
  return std::variant<Arguments, PrintAndExit>(std::move(arguments));
}

}}}  // namespace tenon::TENON_RELEASE::conformance
