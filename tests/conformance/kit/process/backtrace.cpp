// SPDX-License-Identifier: MIT
#include "kit/process/backtrace.hpp"

#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>

#include "kit/platform/mapping.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/layers/inspect/elf_functions.hpp"
#include "tenon/host/layers/inspect/elf_library.hpp"
#include "tenon/host/loader/files/mapped_file.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace {

/// The address that a signal handler wrote as "0x7f12a4c01000".
std::optional<std::uintptr_t> address_of_frame(std::string_view frame) {
  if (!frame.starts_with("0x")) return std::nullopt;
  frame.remove_prefix(2);
  std::uintptr_t out = 0;
  const auto [end, failed] = std::from_chars(frame.data(), frame.data() + frame.size(), out, 16);
  if (failed != std::errc() || end != frame.data() + frame.size()) return std::nullopt;
  return out;
}

std::string hexadecimal(std::uint64_t number) {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, number, 16).ptr;
  return concat("0x", std::string_view(digits, static_cast<std::size_t>(end - digits)));
}

/// The frames in one file.
struct FramesOfFile {
  std::vector<std::size_t> indices;
  std::vector<std::uint64_t> offsets;  ///< In the file; of a call: of its last byte.
};

/// A frame as its file names it.
struct NamedFrame {
  std::optional<host::FunctionPlace> function;
  SourceLine source;
};

/// The frames in one file; nothing is known of those in a file that cannot be read.
std::vector<NamedFrame> names_of_frames(const std::string& path,
                                        std::span<const std::uint64_t> offsets,
                                        const SourceLineOptions& lines) {
  std::vector<NamedFrame> out(offsets.size());
  const auto file = host::MappedFile::open(host::path_of(path));
  if (!file.ok()) return out;
  if (auto found = host::functions_at(file->bytes(), offsets); found.ok()) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i].function = std::move((*found)[i]);
  }
  const auto library = host::read_elf_library(file->bytes());
  const auto found = host::addresses_at(file->bytes(), offsets);
  if (lines.tool.empty() || !library.ok() || !library->debug_information || !found.ok()) return out;
  std::vector<std::uint64_t> addresses;
  for (const auto& address : *found) addresses.push_back(address.value_or(UINT64_MAX));
  std::vector<SourceLine> sources = source_lines(host::path_of(path), addresses, lines);
  for (std::size_t i = 0; i < out.size(); ++i) out[i].source = std::move(sources[i]);
  return out;
}

}  // namespace

std::vector<std::string> name_frames(std::span<const std::string> frames,
                                     std::span<const std::string> maps,
                                     const std::filesystem::path& plugin,
                                     const SourceLineOptions& lines) {
  std::vector<Mapping> mapped;
  for (const std::string& line : maps) {
    if (auto one = mapping_of(line); one && host::path_of(one->name).is_absolute()) {
      mapped.push_back(*std::move(one));
    }
  }
  std::vector<std::string> out(frames.begin(), frames.end());
  std::map<std::string, FramesOfFile> files;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const auto address = address_of_frame(frames[i]);
    if (!address) continue;
    // A call that does not return can be the last of its function: the byte before is still in it.
    const std::uintptr_t inside = *address - (i == 0 || *address == 0 ? 0 : 1);
    for (const Mapping& one : mapped) {
      if (inside < one.begin || inside >= one.end) continue;
      FramesOfFile& file = files[one.name];
      file.indices.push_back(i);
      file.offsets.push_back(one.offset + (inside - one.begin));
      break;
    }
  }
  std::error_code failed;
  const std::filesystem::path resolved = std::filesystem::canonical(plugin, failed);
  const std::string shown_plugin = host::path_text(plugin);
  const auto deadline = std::chrono::steady_clock::now() + lines.time_limit;
  for (const auto& [path, file] : files) {
    SourceLineOptions left = lines;
    left.time_limit = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.time_limit.count() <= 0) left.tool.clear();
    const auto names = names_of_frames(path, file.offsets, left);
    const std::string& shown = !failed && path == host::path_text(resolved) ? shown_plugin : path;
    for (std::size_t i = 0; i < file.indices.size(); ++i) {
      const std::uint64_t back = file.indices[i] == 0 ? 0 : 1;
      std::string& frame = out[file.indices[i]];
      frame = concat(shown, "+", hexadecimal(file.offsets[i] + back));
      const SourceLine& source = names[i].source;
      if (!source.line.empty()) frame += concat(" at ", source.line);
      if (!names[i].function) continue;
      const host::FunctionPlace& function = *names[i].function;
      const bool has_symbol_alone = source.function.empty() || source.function == function.name;
      frame = concat(has_symbol_alone ? function.name : source.function + " ", "+",
                     hexadecimal(function.offset + back), " in ", frame);
    }
  }
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::conformance
