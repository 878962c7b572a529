// SPDX-License-Identifier: MIT
#include "arguments.hpp"

#include <CLI/CLI.hpp>
#include <utility>

#include "parse_command_line.hpp"
#include "tenon/abi/version.h"

namespace tenon::conformance {

namespace {

constexpr const char* footer =
    "Levels: 1 the file, 2 the boundary, 3 life cycle, 4 arguments and numbers, 5 options and\n"
    "  errors (the default), 6 leaks and unloading, 7 damaged blobs, 8 failing services,\n"
    "  9 threads and hosts of other times, 10 everything, often.\n"
    "A variable of the environment stands for each option: TENON_CONFORMANCE_LEVEL for --level.\n"
    "\n"
    "Examples:\n"
    "  tenon-conformance libacme.so\n"
    "  tenon-conformance --subject acme.json --level 10 --html report.html\n"
    "  tenon-conformance libacme.so --cases cases/ --only 'arguments/*'\n"
    "  tenon-conformance --make-proxy watched.so libacme.so\n"
    "  gdb --args tenon-conformance libacme.so --in-process --only '*inputs are as they were*'\n"
    "\n"
    "Exit codes:\n"
    "  0 no rule is broken  1 a rule is broken, or no test was selected  2 wrong usage\n"
    "  3 not a plugin\n";

void add_run_options(CLI::App& app, Arguments& arguments) {
  const std::string prefix = "TENON_CONFORMANCE_";
  app.add_option("--only", arguments.only, "Only tests whose path matches a glob, e.g. 'binary/*'")
      ->type_name("GLOB")
      ->allow_extra_args(false)
      ->envname(prefix + "ONLY");
  app.add_option("--level", arguments.level, "How much is tested, 1 to 10 (default 5)")
      ->check(CLI::Range(1, 10))
      ->type_name("N")
      ->envname(prefix + "LEVEL");
  app.add_option("--seed", arguments.seed, "What random choices are made from (default 1)")
      ->type_name("N")
      ->envname(prefix + "SEED");
  app.add_option("--repeat", arguments.repeat, "Run each test so many times (default 1)")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N")
      ->envname(prefix + "REPEAT");
  app.add_flag("--shuffle", arguments.shuffle, "Run tests in an order that the seed gives")
      ->envname(prefix + "SHUFFLE");
  app.add_option("--jobs", arguments.jobs, "Tests that run at a time (default: processors)")
      ->check(CLI::Range(0, 1024))
      ->type_name("N")
      ->envname(prefix + "JOBS");
  app.add_option("--shard", arguments.shard, "Only the Ith of N parts of all tests")
      ->type_name("I/N")
      ->envname(prefix + "SHARD");
  app.add_option("--timeout", arguments.timeout, "Seconds until a test counts as hung (default 60)")
      ->check(CLI::PositiveNumber)
      ->type_name("S")
      ->envname(prefix + "TIMEOUT");
  app.add_option("--max-hangs", arguments.max_hangs,
                 "After so many hung tests the rest is blocked (default 5)")
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
  file("--baseline", arguments.baseline, "Fail when something is worse than in this JSON report",
       "BASELINE");
  app.add_option("--baseline-factor", arguments.baseline_factor,
                 "How many times as large a figure may become (default 2)")
      ->type_name("X")
      ->envname(prefix + "BASELINE_FACTOR");
  app.add_flag("!--no-times", arguments.with_times,
               "Leave out what differs from run to run: times, dates, addresses, figures")
      ->envname(prefix + "WITH_TIMES");
}

}  // namespace

Result<std::variant<Arguments, PrintAndExit>> parse_arguments(int argc, const char* const* argv) {
  Arguments arguments;
  CLI::App app("Judges plugins by the numbered rules of Tenon's boundary.", "tenon-conformance");
  app.footer(footer);
  app.set_help_flag("-h,--help", "Print this text");
  app.set_version_flag("--version", "tenon-conformance " TENON_VERSION_STRING, "Print the version");
  app.add_option("PLUGIN", arguments.plugins, "Plugins to judge");
  app.add_option("--subject", arguments.subject_files,
                 "What the author declares: cases, options, what is not offered (JSON)")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->envname("TENON_CONFORMANCE_SUBJECT");
  app.add_option("--cases", arguments.case_folders, "Folder of cases, or one case")
      ->type_name("DIR")
      ->allow_extra_args(false)
      ->envname("TENON_CONFORMANCE_CASES");
  app.add_flag("--list", arguments.list, "Print what would be run, and run nothing");
  add_run_options(app, arguments);
  add_reports(app, arguments);
  app.add_flag("--verbose", arguments.verbose, "Also tell of tests that passed or did not apply")
      ->envname("TENON_CONFORMANCE_VERBOSE");
  add_color_option(app, arguments.color);
  app.add_option("--make-proxy", arguments.make_proxy,
                 "Judge nothing: write a plugin that wraps PLUGIN in any application")
      ->type_name("OUT");
  app.add_flag("--force", arguments.force, "Let --make-proxy replace OUT");
  app.add_option("--run-one", arguments.run_one)->group("");
  app.add_option("--channel", arguments.channel)->group("");
  app.add_option("--crumbs", arguments.crumbs)->group("");
  TENON_TRY(auto instead, parse_command_line(app, argc, argv));
  if (instead) return std::variant<Arguments, PrintAndExit>(*std::move(instead));
  if (arguments.plugins.empty() && arguments.subject_files.empty()) {
    return error(Error::InvalidArgument,
                 "expected a PLUGIN or --subject (see tenon-conformance --help)");
  }
  if (!arguments.make_proxy.empty() && arguments.plugins.size() != 1) {
    return error(Error::InvalidArgument, "--make-proxy takes one PLUGIN, found ",
                 arguments.plugins.size(), " (see tenon-conformance --help)");
  }
  if (arguments.json == "-") {
    arguments.json.clear();
    arguments.json_to_stdout = true;
  }
  return std::variant<Arguments, PrintAndExit>(std::move(arguments));
}

}  // namespace tenon::conformance
