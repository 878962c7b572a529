// SPDX-License-Identifier: MIT
//
// tenon-list as its users see it: arguments and variables in, exit code and text out.
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "list_support.hpp"
#include "support/catch.hpp"
#include "support/signer.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/abi/version.h"

using namespace test;

namespace {

// The line of the table that begins with `id`; empty when there is none.
std::string row_of(const Outcome& outcome, const std::string& id) {
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(id + " ")) return line;
  }
  return {};
}

bool has_row(const Outcome& outcome, const std::string& id) { return !row_of(outcome, id).empty(); }

std::size_t count_lines(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

}  // namespace

TEST_CASE("help and version of tenon-list are printed with success", "[list]") {
  check_help_and_version(run_list({"--help"}), run_list({"--version"}), "tenon-list");
}

TEST_CASE("wrong arguments of tenon-list are usage errors in one line", "[list]") {
  for (const Words& words :
       {Words{"--unknown"}, Words{"plugin.so"}, Words{"--tag"}, Words{"--color", "sometimes"}}) {
    const auto outcome = run_list(words);
    INFO(words.front() + ": " + outcome.err);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.out.empty());
    CHECK(outcome.err.starts_with("tenon-list: InvalidArgument (0x12): "));
    CHECK(count_lines(outcome.err) == 1);
  }
}

TEST_CASE("an empty list is success and says where was searched and what to do", "[list]") {
  const auto outcome = run_list({});
  INFO(outcome.out);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.err.empty());
  CHECK_THAT(outcome.out, ContainsSubstring("No backend was found."));
  CHECK_THAT(outcome.out, ContainsSubstring("  installed " TENON_INSTALLED));
  CHECK_THAT(outcome.out, ContainsSubstring("Install a plugin into " TENON_INSTALLED));
  CHECK_THAT(outcome.out, ContainsSubstring("TENON_PLUGIN_PATH=/absolute/folder"));

  const TemporaryDirectory directory;
  const auto empty = run_list({}, {{"TENON_PLUGIN_PATH", directory.path().string()}});
  CHECK(empty.exit_code == 0);
  CHECK_THAT(empty.out, ContainsSubstring("  TENON_PLUGIN_PATH " + directory.path().string() +
                                          ": 0 plugins\n"));
}

TEST_CASE("with publishers the list says who signed each file, and what is wrong", "[list]") {
  TENON_TEST_NEEDS_SIGNER();
  const TemporaryDirectory directory;
  const tenon::test::Signer signer, other(9);
  signer.sign_file(add_plugin(directory.path(), "variant_preferred"));
  add_plugin(directory.path(), "two_backends");
  other.sign_file(add_plugin(directory.path(), "newer_minor"));
  for (const auto& file : std::filesystem::directory_iterator(directory.path())) {
    std::filesystem::permissions(file, std::filesystem::perms(0644));
  }
  const TemporaryDirectory elsewhere;
  const auto publishers = elsewhere.write(
      "publishers.json",
      tenon::concat(R"({"publishers_version": 1, "publishers": [{"name": "Ac\u00e9me", "keys": [)",
                    R"({"minisign": ")", signer.public_key(), R"("}]}]})"));
  std::filesystem::permissions(publishers, std::filesystem::perms(0644));
  const std::string plugins = directory.path().string();
  const auto outcome = run_list(
      {"--all"}, {{"TENON_PLUGIN_PATH", plugins}, {"TENON_PUBLISHERS", publishers.string()}});
  INFO(outcome.out << outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, ContainsSubstring("    signed by Ac\u00e9me, key AB07060504030201: "
                                            "timestamp:1\\tfile:a.so\n"));
  CHECK_THAT(outcome.out, ContainsSubstring("    missing: its signature " + plugins +
                                            "/two_backends.so.minisig is not there"));
  CHECK_THAT(outcome.out, ContainsSubstring("    unknown key: its signature " + plugins +
                                            "/newer_minor.so.minisig is by key AB07060504030209"));
  // Without publishers nothing is said of signatures.
  CHECK(run_list({"--all"}, {{"TENON_PLUGIN_PATH", plugins}}).out.find("sign") ==
        std::string::npos);
  const auto broken = run_list({}, {{"TENON_PUBLISHERS", "publishers.json"}});
  CHECK(broken.exit_code == 2);
  CHECK(broken.err.starts_with("tenon-list: InvalidArgument (0x12): TENON_PUBLISHERS: "));
}

TEST_CASE("a plugin in a directory is listed with what its record says", "[list]") {
  const TemporaryDirectory directory;
  const auto path = add_plugin(directory.path(), "variant_preferred");
  const auto outcome = run_list({}, {{"TENON_PLUGIN_PATH", directory.path().string()}});
  INFO(outcome.out);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.err.empty());
  CHECK(count_lines(outcome.out) == 2);
  CHECK(outcome.out.starts_with("ID "));
  const std::string row = row_of(outcome, "VariantBackend");
  CHECK_THAT(row, ContainsSubstring(" known "));
  CHECK_THAT(row, ContainsSubstring(" zoo "));
  CHECK(row.ends_with("  " + path));
}

TEST_CASE("a plugin whose constructor ends the process is listed and not loaded", "[list]") {
  const TemporaryDirectory directory;
  const TemporaryDirectory logs;
  const auto path = add_plugin(directory.path(), "static_constructor");
  for (const Words& words : {Words{}, Words{"--all"}, Words{"--json"}, Words{"--places"}}) {
    const auto outcome = run_list(words, {{"TENON_PLUGIN_PATH", directory.path().string()}});
    CHECK(outcome.exit_code == 0);
    CHECK_THAT(outcome.out, ContainsSubstring("ZooBackend"));
  }
#if defined(__GLIBC__)
  // The dynamic loader itself writes down which files it opens.
  ::setenv("LD_DEBUG", "files", 1);
  ::setenv("LD_DEBUG_OUTPUT", logs.file("loader").c_str(), 1);
  const auto traced = run_list({}, {{"TENON_PLUGIN_PATH", directory.path().string()}});
  ::unsetenv("LD_DEBUG");
  ::unsetenv("LD_DEBUG_OUTPUT");
  REQUIRE(traced.exit_code == 0);
  std::string log;
  for (const auto& file : std::filesystem::directory_iterator(logs.path())) {
    log += read_file(file.path().string());
  }
  CHECK_THAT(log, ContainsSubstring("file=libc.so"));
  CHECK_THAT(log, !ContainsSubstring("static_constructor"));
  CHECK_THAT(log, !ContainsSubstring("/proc/"));
#endif
}

TEST_CASE("the place that is searched first serves an id, the others are shadowed", "[list]") {
  const TemporaryDirectory directory;
  const auto first = make_directory(directory / "first");
  const auto second = make_directory(directory / "second");
  const auto of_first = add_plugin(first, "variant_base");
  const auto of_second = add_plugin(second, "variant_base");

  const Variables variables{{"TENON_PLUGIN_PATH", first.string() + ":" + second.string()}};
  const auto outcome = run_list({}, variables);
  INFO(outcome.out);
  CHECK(row_of(outcome, "VariantBackend").ends_with("  " + of_first));
  CHECK_THAT(outcome.out, !ContainsSubstring(of_second));
  CHECK_THAT(outcome.out, ContainsSubstring("1 more is hidden (1 shadowed); see it with --all"));

  const auto reverse =
      run_list({}, {{"TENON_PLUGIN_PATH", second.string() + ":" + first.string()}});
  CHECK(row_of(reverse, "VariantBackend").ends_with("  " + of_second));

  // Files come before directories.
  const auto files = run_list(
      {"--all"}, {{"TENON_PLUGIN_PATH", first.string()}, {"TENON_PLUGIN_FILES", of_second}});
  INFO(files.out);
  CHECK(row_of(files, "VariantBackend").ends_with("  " + of_second));
  CHECK_THAT(files.out, ContainsSubstring("shadowed"));
  CHECK_THAT(files.out, ContainsSubstring("is taken from " + of_second));
}

TEST_CASE("TENON_SELECT and TENON_DISABLE hide backends and --all says so", "[list]") {
  const TemporaryDirectory directory;
  add_plugin(directory.path(), "variant_base");
  add_plugin(directory.path(), "static_constructor");
  const std::string place = directory.path().string();

  const auto disabled = run_list({}, {{"TENON_PLUGIN_PATH", place}, {"TENON_DISABLE", "Variant*"}});
  CHECK_FALSE(has_row(disabled, "VariantBackend"));
  CHECK(has_row(disabled, "ZooBackend"));
  CHECK_THAT(disabled.out, ContainsSubstring("1 more is hidden (1 disabled)"));

  const auto selected =
      run_list({"--all"}, {{"TENON_PLUGIN_PATH", place}, {"TENON_SELECT", "VariantBackend"}});
  INFO(selected.out);
  CHECK_THAT(row_of(selected, "VariantBackend"), ContainsSubstring(" known "));
  CHECK_THAT(row_of(selected, "ZooBackend"), ContainsSubstring(" disabled "));
  CHECK_THAT(selected.out, ContainsSubstring("is not selected by TENON_SELECT"));
}

TEST_CASE("debug and experimental backends are shown with --all or when asked for by tag",
          "[list]") {
  const TemporaryDirectory directory;
  add_plugin(directory.path(), "tagged_debug");
  add_plugin(directory.path(), "tagged_experimental");
  add_plugin(directory.path(), "variant_base");
  const Variables variables{{"TENON_PLUGIN_PATH", directory.path().string()}};

  const auto plain = run_list({}, variables);
  CHECK(has_row(plain, "VariantBackend"));
  CHECK_FALSE(has_row(plain, "DebugBackend"));
  CHECK_THAT(plain.out,
             ContainsSubstring("2 more are hidden (1 debug, 1 experimental); see them with --all"));

  const auto all = run_list({"--all"}, variables);
  CHECK_THAT(row_of(all, "DebugBackend"), ContainsSubstring(" debug,cpu "));
  CHECK(has_row(all, "VariantBackend"));
  CHECK_THAT(all.out, !ContainsSubstring("hidden"));

  const auto asked = run_list({"--tag", "debug"}, variables);
  CHECK(has_row(asked, "DebugBackend"));
  CHECK(count_lines(asked.out) == 2);
  const auto both = run_list({"--tag", "debug", "--tag", "cpu"}, variables);
  CHECK(has_row(both, "DebugBackend"));
  CHECK(count_lines(both.out) == 2);

  // Asking for another of its tags does not make it one for everybody.
  const auto cpu = run_list({"--tag", "cpu"}, variables);
  CHECK_FALSE(has_row(cpu, "DebugBackend"));
  CHECK_THAT(cpu.out, ContainsSubstring("1 is hidden (1 debug)"));

  const auto unknown = run_list({"--tag", "cpu", "--tag", "gpu"}, variables);
  CHECK(unknown.exit_code == 0);
  CHECK_THAT(unknown.out, ContainsSubstring("No backend has all of the tags cpu, gpu."));
  CHECK_THAT(unknown.out, ContainsSubstring("cpu, debug"));
}

TEST_CASE("what cannot be used is shown with --all and its reason", "[list]") {
  const TemporaryDirectory directory;
  const auto newer = add_plugin(directory.path(), "newer_major");
  add_plugin(directory.path(), "variant_base");
  add_plugin(directory.path(), "variant_twin");
  const auto text = directory.write("readme.so", "this is no library\n").string();
  const Variables variables{{"TENON_PLUGIN_PATH", directory.path().string()}};

  const auto plain = run_list({}, variables);
  CHECK(plain.exit_code == 0);
  CHECK_THAT(plain.out, ContainsSubstring("There is no backend to list."));
  CHECK_THAT(plain.out, ContainsSubstring("4 are hidden (2 duplicate, 1 refused, 1 unsupported)"));

  const auto all = run_list({"--all"}, variables);
  INFO(all.out);
  CHECK_THAT(row_of(all, "ZooBackend"), ContainsSubstring(" unsupported "));
  CHECK_THAT(all.out, ContainsSubstring("    " + newer + ": "));
  CHECK_THAT(row_of(all, "VariantBackend"), ContainsSubstring(" duplicate "));
  CHECK_THAT(row_of(all, "-"), ContainsSubstring(" refused "));
  CHECK_THAT(all.out, ContainsSubstring(text + ": is a text file"));
  // Refused files come last.
  CHECK(all.out.find("readme.so") > all.out.find("ZooBackend"));
}

TEST_CASE("places are shown when they are asked for and when they cannot be searched", "[list]") {
  const TemporaryDirectory directory;
  const auto good = make_directory(directory / "good");
  const auto open = make_directory(directory / "open");
  REQUIRE(::chmod(open.c_str(), 0777) == 0);
  add_plugin(good, "variant_base");
  add_plugin(open, "static_constructor");

  const auto searched = run_list({"--places"}, {{"TENON_PLUGIN_PATH", good.string()}});
  INFO(searched.out);
  CHECK_THAT(searched.out,
             ContainsSubstring("searched:\n  TENON_PLUGIN_PATH " + good.string() + ": 1 plugin\n"));
  CHECK_THAT(searched.out, ContainsSubstring("  installed " TENON_INSTALLED));

  // An empty installation is not worth a note; the rest is a mistake.
  const auto quiet = run_list({}, {{"TENON_PLUGIN_PATH", good.string()}});
  CHECK_THAT(quiet.out, !ContainsSubstring("searched"));
  const auto mistaken = run_list(
      {}, {{"TENON_PLUGIN_PATH", "relative:" + open.string() + ":" + good.string() + ":/no/such"}});
  INFO(mistaken.out);
  CHECK(mistaken.exit_code == 0);
  CHECK(has_row(mistaken, "VariantBackend"));
  CHECK_FALSE(has_row(mistaken, "ZooBackend"));
  CHECK_THAT(mistaken.out, ContainsSubstring("not searched:\n"));
  CHECK_THAT(mistaken.out, ContainsSubstring("  TENON_PLUGIN_PATH relative: is a relative path"));
  CHECK_THAT(mistaken.out, ContainsSubstring(open.string()));
  CHECK_THAT(mistaken.out, ContainsSubstring("0777"));
  CHECK_THAT(mistaken.out, ContainsSubstring("/no/such"));
}

TEST_CASE("control characters in paths do not reach the terminal", "[list]") {
  const TemporaryDirectory directory;
  // An escape sequence, a line feed, DEL, and the one-byte and two-byte forms of CSI.
  const std::vector<std::string> odd{"\x1b[31mred",
                                     "two\nlines",
                                     "del\x7f",
                                     "raw\x9b"
                                     "31m",
                                     "c1\xc2\x9b"
                                     "31m",
                                     "\xc3\xa9t\xc3\xa9",
                                     "blank name",
                                     "\r\b"};
  auto deep = directory.path();
  for (std::size_t level = 0; level < 16; ++level)
    deep = make_directory(deep / odd[level % odd.size()]);
  add_plugin(deep, "variant_base");
  add_plugin(deep, "variant_preferred", "pre\x1b]0;title\x07.so");
  const auto missing = (deep /
                        "no\x1b[2J"
                        "where")
                           .string();
  std::ofstream(deep / "no\x1bplugin.so") << "text\n";

  const Variables variables{{"TENON_PLUGIN_PATH", deep.string() + ":" + missing}};
  for (const Words& words :
       {Words{}, Words{"--all"}, Words{"--all", "--places"}, Words{"--json"}}) {
    const auto outcome = run_list(words, variables);
    CHECK(outcome.exit_code == 0);
    CHECK_THAT(outcome.out, ContainsSubstring("VariantBackend"));
    CHECK(std::ranges::none_of(outcome.out, [](char c) {
      const auto code = static_cast<unsigned char>(c);
      return (code < 0x20 && c != '\n') || code == 0x7f;
    }));
    // Neither as a byte of its own nor as a character of UTF-8.
    CHECK(outcome.out.find("\xc2\x9b") == std::string::npos);
    CHECK(outcome.out.find("raw\x9b") == std::string::npos);
  }
  // A header, one row for each, one reason, one line for each thing that was not searched.
  const auto table = run_list({}, variables);
  CHECK(count_lines(table.out) == 5);
}

TEST_CASE("colours are only used where they are asked for or on a terminal", "[list]") {
  const TemporaryDirectory directory;
  add_plugin(directory.path(), "variant_base");
  const Variables variables{{"TENON_PLUGIN_PATH", directory.path().string()}};
  CHECK_THAT(run_list({}, variables).out, !ContainsSubstring("\x1b["));
  CHECK_THAT(run_list({"--color", "never"}, variables).out, !ContainsSubstring("\x1b["));
  CHECK_THAT(run_list({"--color", "always"}, variables).out, ContainsSubstring("\x1b["));
  CHECK_THAT(run_list({"--color", "always", "--json"}, variables).out, !ContainsSubstring("\x1b["));
}

TEST_CASE("a list that cannot be written is no success", "[list]") {
  if (!std::filesystem::exists("/dev/full")) return;
  const auto outcome = run_list({}, {}, "/dev/full");
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.err, ContainsSubstring("standard output cannot be written"));
}
