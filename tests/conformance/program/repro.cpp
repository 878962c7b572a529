// SPDX-License-Identifier: MIT
#include "repro.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "kit/report/escape.hpp"
#include "kit/report/view.hpp"
#include "program_path.hpp"
#include "tenon/abi/version.h"
#include "tenon/host/platform/new_file.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tool.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace {

/// The name of a bundle: "003-tn-exe-2-arguments-leaves-inputs-unchanged". Texts of a plugin or a
/// file have no part in it that a shell, a terminal or a file system would treat in a special way.
std::string bundle_name(std::size_t number, const Finding& finding, const TestResult& test) {
  constexpr std::size_t longest = 72;
  const std::string digits = std::to_string(number);
  std::string out = std::string(3 - std::min<std::size_t>(digits.size(), 3), '0') + digits;
  for (const std::string_view part : {std::string_view(finding.rule), std::string_view(test.id)}) {
    out += '-';
    for (const char letter : part) {
      const bool is_upper = letter >= 'A' && letter <= 'Z';
      const bool is_plain =
          is_upper || (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9');
      if (is_plain) out += is_upper ? static_cast<char>(letter - 'A' + 'a') : letter;
      if (!is_plain && out.back() != '-') out += '-';
    }
  }
  out.resize(std::min(out.size(), longest));
  while (out.back() == '-') out.pop_back();
  return out;
}

/// A number as the command line reads it back.
std::string number_text(double number) {
  char digits[64];
  return {digits, std::to_chars(digits, digits + sizeof digits, number).ptr};
}

std::string json_text(const Arguments& arguments, const Subject& subject,
                      const SubjectReport& judged, const TestResult& test, const Finding& finding,
                      const std::vector<std::string>& command) {
  nlohmann::ordered_json words = nlohmann::ordered_json::array();
  for (const std::string& word : command) words.push_back(escape::utf8(word));
  const nlohmann::ordered_json out = {{"kit_version", TENON_VERSION_STRING},
                                      {"plugin", escape::utf8(judged.path)},
                                      {"sha256", escape::utf8(judged.sha256)},
                                      {"subject", escape::utf8(host::path_text(subject.file))},
                                      {"test", escape::utf8(test.path())},
                                      {"backend", escape::utf8(test.backend)},
                                      {"case", escape::utf8(test.of_case)},
                                      {"seed", arguments.seed},
                                      {"level", arguments.level},
                                      {"rule", escape::utf8(finding.rule)},
                                      {"text", escape::utf8(finding.text)},
                                      {"command", std::move(words)}};
  return out.dump(2, ' ', true) + "\n";
}

/// A comment of the script: no line of it can end.
std::string comment(std::string_view name, std::string_view text) {
  return concat("# ", name, ": ", printable(text), "\n");
}

std::string script_text(const SubjectReport& judged, const TestResult& test, const Finding& finding,
                        const std::vector<std::string>& command) {
  // sha256sum reads "HASH  NAME"; a name with a line feed would need another form.
  const std::string check = concat("sha256sum -- ", shell_text({judged.path}),
                                   " | grep -q '^\\\\\\{0,1\\}", judged.sha256, "'");
  return concat("#!/bin/sh\n", comment("rule", finding.rule), comment("found", finding.text),
                comment("test", title_of(test)), comment("kit", TENON_VERSION_STRING),
                "# Exit code 1: the finding is there again. 3: the plugin is not the one judged.\n",
                check, " || {\n  echo 'repro.sh: the plugin is another file than was judged' >&2\n",
                "  exit 3\n}\n", "kit=", shell_text({command.front()}),
                "\nexec \"${TENON_CONFORMANCE:-$kit}\" ",
                shell_text({command.begin() + 1, command.end()}), " \"$@\"\n");
}

Status write_text(const std::filesystem::path& path, const std::string& text) {
  return host::write_file(path, {std::as_bytes(std::span(text))});
}

}  // namespace

std::string shell_text(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += ' ';
    const bool is_plain = !word.empty() && std::ranges::all_of(word, [](char letter) {
      return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
             (letter >= '0' && letter <= '9') ||
             std::string_view("-_./=,:+@").find(letter) != std::string_view::npos;
    });
    if (is_plain) {
      out += word;
      continue;
    }
    out += '\'';
    for (const char letter : word) {
      out += letter == '\'' ? "'\\''" : std::string(1, letter);
    }
    out += '\'';
  }
  return out;
}

std::vector<std::string> repro_command(const Arguments& arguments, const Subject& subject,
                                       const TestResult& result) {
  // The kit that judged, also where another one is on the path, or none.
  const std::filesystem::path kit = program_path();
  std::vector<std::string> out = {kit.empty() ? "tenon-conformance" : host::path_text(kit),
                                  host::path_text(*subject.plugin)};
  const auto absolute = [](const std::filesystem::path& path) {
    return host::path_text(std::filesystem::absolute(path).lexically_normal());
  };
  if (!subject.file.empty()) out.push_back(concat("--subject=", absolute(subject.file)));
  for (const std::string& directory : arguments.case_directories) {
    out.push_back(concat("--cases=", absolute(directory)));
  }
  out.push_back(concat("--seed=", arguments.seed));
  out.push_back(concat("--level=", arguments.level));
  out.push_back(concat("--repeat=", result.repeat + 1));
  out.push_back(concat("--timeout=", number_text(arguments.timeout)));
  out.push_back(concat("--test=", printable(result.path())));
  return out;
}

Status write_repros(const Arguments& arguments, const Subject& subject, const SubjectReport& judged,
                    std::size_t& number) {
  for (const TestResult& test : judged.tests) {
    if (test.outcome != Outcome::failed) continue;
    for (const Finding& finding : test.findings) {
      const std::filesystem::path directory =
          std::filesystem::path(arguments.repro) / bundle_name(++number, finding, test);
      std::error_code failed;
      std::filesystem::create_directories(directory, failed);
      if (failed) {
        return error(Error::AccessFailed, host::path_text(directory),
                     ": cannot be created: ", failed.message());
      }
      const std::vector<std::string> command = repro_command(arguments, subject, test);
      TENON_RETURN_IF_ERROR(write_text(
          directory / "repro.json", json_text(arguments, subject, judged, test, finding, command)));
      TENON_RETURN_IF_ERROR(
          write_text(directory / "repro.sh", script_text(judged, test, finding, command)));
    }
  }
  return ok();
}

}}}  // namespace tenon::TENON_RELEASE::conformance
