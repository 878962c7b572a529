// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "support/file_content.hpp"
#include "tenon/host/layers/inspect/binary_lint.hpp"
#include "tenon/host/layers/inspect/elf_library.hpp"

namespace tenon::test {

using ByteVector = std::vector<std::byte>;

/// The file of a plugin that meson.build here makes.
[[nodiscard]] inline std::string built(const std::string& name) {
  return std::string(TENON_TEST_INSPECT) + "/" + name + ".so";
}

[[nodiscard]] inline ByteVector read_bytes(const std::string& path) {
  if (!std::ifstream(path)) throw std::runtime_error("cannot read " + path);
  const std::string text = tenon::test::file_content(path);
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// The facts of a file that can be read.
[[nodiscard]] inline host::ElfLibrary facts_of(
    const ByteVector& bytes, std::uint32_t machine = host::this_platform.machine) {
  auto library = host::read_elf_library(bytes, machine);
  INFO(library.text());
  REQUIRE(library.ok());
  return *std::move(library);
}
[[nodiscard]] inline host::ElfLibrary facts_of(const std::string& path) {
  INFO(path);
  return facts_of(read_bytes(path));
}

/// Names of symbols, sorted.
[[nodiscard]] inline std::vector<std::string> names_of(
    std::span<const host::LibrarySymbol> symbols) {
  std::vector<std::string> names;
  for (const host::LibrarySymbol& symbol : symbols) names.push_back(symbol.name);
  std::ranges::sort(names);
  return names;
}

[[nodiscard]] inline bool holds(std::span<const std::string> list, std::string_view wanted) {
  return std::ranges::find(list, wanted) != list.end();
}

}  // namespace tenon::test
