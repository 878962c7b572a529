// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "models.hpp"
#include "support/catch.hpp"

using namespace tenon;
using namespace tenon::aoti;
using namespace tenon::test;

namespace {

const int some_address = 0;

DynamicSymbol find(const ElfEditor& editor, std::string_view name) {
  const auto place = std::ranges::find(editor.symbols(), name, &DynamicSymbol::name);
  REQUIRE(place != editor.symbols().end());
  return *place;
}

/// Reads and edits all symbols, as loading does.
void walk(std::span<std::byte> bytes) {
  auto editor = ElfEditor::open(bytes);
  if (!editor.ok()) {
    CHECK_FALSE(editor.text().empty());
    return;
  }
  for (const DynamicSymbol& symbol : editor->symbols()) {
    if (symbol.is_unique) editor->make_own(symbol);
    if (symbol.is_undefined) editor->bind(symbol, &some_address);
  }
  for (std::size_t i = 0; i < editor->needed().size(); ++i) editor->drop_needed(i);
}

}  // namespace

TEST_CASE("the kinds of a model's symbols are recognised", "[aoti]") {
  AlignedBytes file = stand_in("good");
  const auto editor = ElfEditor::open(file.bytes());
  INFO(editor.text());
  REQUIRE(editor.ok());
  const DynamicSymbol shim = find(*editor, "aoti_torch_empty_strided");
  CHECK(shim.is_undefined);
  CHECK_FALSE(shim.is_versioned);
  CHECK_FALSE(shim.is_weak);
  const DynamicSymbol copy = find(*editor, "memcpy");
  CHECK(copy.is_undefined);
  CHECK(copy.is_versioned);
  CHECK_FALSE(find(*editor, "AOTInductorModelContainerRun").is_undefined);
  CHECK(std::ranges::find(editor->needed(), "libc.so.6") != editor->needed().end());
  CHECK(editor->extent() > 4096);
}

TEST_CASE("a bound symbol is absolute and hidden, and nothing else changes", "[aoti]") {
  AlignedBytes file = stand_in("good");
  const AlignedBytes before(file.bytes());
  auto editor = ElfEditor::open(file.bytes());
  REQUIRE(editor.ok());
  const DynamicSymbol symbol = find(*editor, "aoti_torch_get_dim");
  editor->bind(symbol, &some_address);
  CHECK_FALSE(find(*editor, "aoti_torch_get_dim").is_undefined);
  const auto now = file.bytes();
  const auto old = before.bytes();
  std::size_t first = now.size();
  std::size_t last = 0;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (now[i] == old[i]) continue;
    first = std::min(first, i);
    last = i;
  }
  CHECK(last - first < sizeof(Elf64_Sym));
}

TEST_CASE("a dropped needed library is not looked for, and nothing else changes", "[aoti]") {
  AlignedBytes file = stand_in("good");
  const AlignedBytes before(file.bytes());
  auto editor = ElfEditor::open(file.bytes());
  REQUIRE(editor.ok());
  const std::vector<std::string_view> needed = editor->needed();
  REQUIRE(needed.size() >= 2);
  editor->drop_needed(0);
  const auto again = ElfEditor::open(file.bytes());
  REQUIRE(again.ok());
  CHECK(again->needed() == std::vector(needed.begin() + 1, needed.end()));
  const auto now = file.bytes();
  const auto old = before.bytes();
  std::size_t num_changed = 0;
  for (std::size_t i = 0; i < now.size(); ++i) num_changed += now[i] != old[i] ? 1 : 0;
  CHECK(num_changed >= 1);
  CHECK(num_changed <= 8);
}

TEST_CASE("served libraries match by name without a version", "[aoti]") {
  constexpr std::string_view served[] = {"libcuda.so"};
  CHECK(is_served("libcuda.so.1", served));
  CHECK(is_served("libcuda.so", served));
  CHECK_FALSE(is_served("libcuda.sonata", served));
  CHECK_FALSE(is_served("libcudart.so.13", served));
  CHECK_FALSE(is_served("libcuda.so.1", {}));
}

TEST_CASE("a model that is cut off anywhere is refused and read no further", "[aoti]") {
  AlignedBytes file = stand_in("good");
  const std::size_t size = file.bytes().size();
  for (std::size_t cut = 0; cut < size; cut += cut < 4096 ? 7 : 211) {
    file.cut(cut);
    walk(file.bytes());
  }
  file.cut(0);
  CHECK(ElfEditor::open(file.bytes()).error() == Error::InvalidArgument);
}

TEST_CASE("damaged bytes of a model are never read or written out of bounds", "[aoti]") {
  AlignedBytes file = stand_in("good");
  const AlignedBytes good(file.bytes());
  std::mt19937 random(20261121);
  for (int round = 0; round < 3000; ++round) {
    AlignedBytes bad(good.bytes());
    // Headers, dynamic section and hash table are at the beginning and decide everything.
    const std::size_t most = round % 2 == 0 ? 4096 : bad.bytes().size();
    for (int i = 0; i < 4; ++i) {
      bad.bytes()[random() % std::min(most, bad.bytes().size())] =
          static_cast<std::byte>(random() % 3 == 0 ? 0xff : random());
    }
    walk(bad.bytes());
  }
}

TEST_CASE("a file that is not a library for this machine is refused with what was found",
          "[aoti]") {
  const auto refusal = [](std::span<std::byte> bytes) {
    const auto editor = ElfEditor::open(bytes);
    CHECK(editor.error() == Error::InvalidArgument);
    return std::string(editor.text());
  };
  std::string text = "#!/bin/sh\necho this is no library, but it is longer than any header is.\n";
  CHECK_THAT(refusal(std::as_writable_bytes(std::span(text))),
             ContainsSubstring("expected an ELF file"));
  const auto with = [](std::size_t offset, std::uint8_t value) {
    AlignedBytes file = stand_in("good");
    file.bytes()[offset] = std::byte{value};
    return file;
  };
  AlignedBytes narrow = with(EI_CLASS, ELFCLASS32);
  CHECK_THAT(refusal(narrow.bytes()), ContainsSubstring("expected 64 bit"));
  AlignedBytes foreign = with(offsetof(Elf64_Ehdr, e_machine), EM_ARM);
  CHECK_THAT(refusal(foreign.bytes()), ContainsSubstring("found 40"));
  AlignedBytes object = with(offsetof(Elf64_Ehdr, e_type), ET_REL);
  CHECK_THAT(refusal(object.bytes()), ContainsSubstring("found ELF type 1"));
}
