// SPDX-License-Identifier: MIT
#include "kit/process/source_lines.hpp"

#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "kit/platform/output_of_program.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace {

constexpr std::size_t max_source_line = 1024;

/// Takes the first line off `text`; empty for an unknown name, "??".
std::string take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  line = line.substr(0, line.find(" (discriminator"));
  if (line.starts_with("??") || line.ends_with(":?") || line.ends_with(":0")) return {};
  return std::string(line.substr(0, max_source_line));
}

}  // namespace

std::filesystem::path find_addr2line() {
  const char* const variable = std::getenv("PATH");
  for (const char* const name : {"addr2line", "llvm-addr2line"}) {
    std::string_view rest = variable ? variable : "";
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(host::path_separator), rest.size());
      const std::filesystem::path directory = host::path_of(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (!directory.is_absolute()) continue;
      if (std::filesystem::path tool = platform::find_program(directory, name); !tool.empty()) {
        return tool;
      }
    }
  }
  return {};
}

std::vector<SourceLine> source_lines(const std::filesystem::path& library,
                                     std::span<const std::uint64_t> addresses,
                                     const SourceLineOptions& options) {
  std::vector<SourceLine> out(addresses.size());
  // A path that is not absolute could be read as an option.
  if (options.tool.empty() || addresses.empty() || !library.is_absolute()) return out;
  std::vector<std::string> arguments = {host::path_text(options.tool), "-f", "-C", "-e",
                                        host::path_text(library)};
  for (const std::uint64_t address : addresses) {
    std::array<char, 16> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), address, 16).ptr;
    arguments.push_back(concat(
        "0x", std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data()))));
  }
  platform::OutputOfProgram program(options.tool, std::move(arguments));
  const std::string output =
      program.read(options.time_limit, addresses.size() * 4 * max_source_line);
  std::string_view rest = output;
  for (SourceLine& place : out) {
    if (rest.empty()) break;
    place.function = take_line(rest);
    place.line = take_line(rest);
  }
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::conformance
