// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>

#include "models.hpp"
#include "support/catch.hpp"

/// The stand-in for a compiled model with headers that a hostile or odd one has.
namespace tenon::test {

using aoti::ElfEditor;

#if defined(__x86_64__)
constexpr std::uint64_t relative = R_X86_64_RELATIVE;
#else
constexpr std::uint64_t relative = R_AARCH64_RELATIVE;
#endif

inline std::size_t segment_of(const ElfEditor& library, std::uint32_t type) {
  const auto found = std::ranges::find(library.segments(), type, &ElfClass::Segment::type);
  REQUIRE(found != library.segments().end());
  return static_cast<std::size_t>(found - library.segments().begin());
}

inline std::size_t entry_of(const ElfEditor& library, std::uint64_t tag) {
  const auto found = std::ranges::find(library.entries(), tag, &ElfClass::DynamicEntry::tag);
  REQUIRE(found != library.entries().end());
  return static_cast<std::size_t>(found - library.entries().begin());
}

/// A change of the stand-in's library.
struct Change {
  ElfEditor& library;
  std::span<std::byte> bytes;

  void segment(std::uint32_t type, const std::function<void(ElfClass::Segment&)>& change) const {
    const std::size_t index = segment_of(library, type);
    ElfClass::Segment segment = library.segments()[index];
    change(segment);
    library.change_segment(index, segment);
  }

  /// Puts an entry in the place of an entry that loading does not need.
  void entry(std::uint64_t tag, std::uint64_t value) const {
    ElfClass::DynamicEntry entry{};
    entry.tag = tag;
    entry.value = value;
    library.change_entry(entry_of(library, DT_RELACOUNT), entry);
  }

  /// The first relocation that adds the load address.
  void relocation(const std::function<void(Elf64_Rela&)>& change) const {
    const auto value = [&](std::uint64_t tag) {
      return library.entries()[entry_of(library, tag)].value;
    };
    const auto table = library.place(value(DT_RELA), value(DT_RELASZ), "relocations");
    REQUIRE(table.ok());
    for (std::uint64_t at = *table; at < *table + value(DT_RELASZ); at += sizeof(Elf64_Rela)) {
      auto relocation = library.at<Elf64_Rela>(at);
      if (ELF64_R_TYPE(relocation.r_info) != relative) continue;
      change(relocation);
      std::memcpy(bytes.data() + at, &relocation, sizeof relocation);
      return;
    }
    FAIL("no relocation that adds the load address");
  }
};

inline AlignedBytes changed(const std::function<void(const Change&)>& change) {
  AlignedBytes file = stand_in("good");
  auto library = ElfEditor::open(file.bytes());
  REQUIRE(library.ok());
  change({*library, file.bytes()});
  return file;
}

}  // namespace tenon::test
