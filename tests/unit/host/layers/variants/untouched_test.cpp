// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <optional>
#include <span>
#include <string>

#include "support/temporary_directory.hpp"
#include "variants_support.hpp"

using namespace tenon;
using namespace tenon::test;

#if defined(__linux__)

namespace {

constexpr std::size_t page = 4096;

/// How many pages of `bytes` this process has in its page table; nothing where the system does not
/// say.
std::optional<std::size_t> present_pages(std::span<const std::byte> bytes) {
  std::ifstream map("/proc/self/pagemap", std::ios::binary);
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data()) / page;
  const auto end = (reinterpret_cast<std::uintptr_t>(bytes.data()) + bytes.size()) / page;
  std::size_t out = 0;
  map.seekg(static_cast<std::streamoff>(begin * sizeof(std::uint64_t)));
  for (auto i = begin; i < end; ++i) {
    std::uint64_t entry = 0;
    if (!map.read(reinterpret_cast<char*>(&entry), sizeof entry)) return std::nullopt;
    out += entry >> 63 != 0 ? 1 : 0;
  }
  return out;
}

}  // namespace

TEST_CASE("nothing is read of the blobs of variants that are not loaded", "[variants]") {
  const JudgingRegistry backends;
  const std::string megabyte(256 * page, ' ');
  const auto builder = program_of({{"Nowhere", megabyte + "a"},
                                   {"First", "optimal" + megabyte, 5},
                                   {"First", "usable" + megabyte, 4},
                                   {"First", "optimal" + megabyte, 9, "no_such_feature"},
                                   {"Second", megabyte, 1}},
                                  nullptr, page);
  const TemporaryDirectory folder;
  const auto bytes = builder.build();
  const std::string path =
      folder
          .write("model.pte", std::string(reinterpret_cast<const char*>(bytes.bytes().data()),
                                          bytes.bytes().size()))
          .native();
  const auto program = host::Variants::open(path);
  REQUIRE(program.ok());
  const auto method = host::Method::load(*program, "forward", backends.options());
  REQUIRE(method.ok());
  REQUIRE((*method)->variant() == "1");
  for (std::size_t i = 0; i < 5; ++i) {
    INFO("blob " << i);
    const auto present = present_pages((*program)->view().segment(i));
    if (!present) return;
    // The system maps 16 pages at once around a touched page.
    CHECK((i == 1 ? *present >= 256 : *present <= 16));
  }
}

#endif
