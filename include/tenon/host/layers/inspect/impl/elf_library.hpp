// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/inspect/elf_library.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/plugin.h"
#include "tenon/core/concat.hpp"
#include "tenon/core/elf/elf_class.hpp"
#include "tenon/core/elf/elf_image.hpp"
#include "tenon/core/elf/elf_symbols.hpp"
#include "tenon/core/file_bytes.hpp"
#include "tenon/core/hex.hpp"
#include "tenon/core/object/elf.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// Build ids are in the first notes.
inline constexpr std::uint64_t max_notes = 1024;

/// Reads the parts of `ElfLibrary`. Nothing in the file is trusted: what is not in it reads as
/// absent.
class LibraryReader {
 public:
  explicit LibraryReader(const tenon::detail::elf::OpenedLibrary& library)
      : image_(library.image), symbols_(library.symbols), texts_(library.symbols.strings()) {}

  [[nodiscard]] Result<ElfLibrary> read() && {
    library_.file_size = image_.file().size();
    read_segments();
    read_dynamic();
    read_symbols();
    read_sections();
    TENON_RETURN_IF_ERROR(texts_.check());
    return std::move(library_);
  }

 private:
  void read_segments() {
    for (const ElfClass::Segment& segment : image_.segments()) {
      const bool executable = (segment.flags & ElfClass::pf_execute) != 0;
      const bool writable = (segment.flags & ElfClass::pf_write) != 0;
      switch (segment.type) {
        case ElfClass::pt_load:
          library_.writable_code |= executable && writable;
          break;
        case ElfClass::pt_interp:
          library_.interpreter = true;
          break;
        case ElfClass::pt_tls:
          library_.thread_local_data = true;
          break;
        case ElfClass::pt_gnu_relro:
          library_.relro = true;
          relro_ = segment;
          break;
        case ElfClass::pt_gnu_stack:
          library_.has_stack_note = true;
          library_.executable_stack = executable;
          break;
        case ElfClass::pt_note:
          read_notes(segment);
          break;
        default:
          break;
      }
    }
  }

  void read_notes(const ElfClass::Segment& segment) {
    constexpr std::uint32_t build_id = 3;  // NT_GNU_BUILD_ID
    image_.for_each_gnu_note(segment, notes_left_, [&](std::uint32_t type, FileBytes content) {
      if (type != build_id) return;
      library_.build_id = to_spaced_hex(content.bytes(), 64);
      std::erase(library_.build_id, ' ');
    });
  }

  void read_dynamic() {
    enum : std::uint64_t { df_textrel = 4, df_bind_now = 8, df_static_tls = 16 };
    enum : std::uint64_t { df_1_now = 1, df_1_nodelete = 8 };
    const auto value = [&](std::uint64_t tag) { return image_.value_of(tag).value_or(0); };
    const std::uint64_t pointer_size = image_.elf_class().word_size();
    const std::uint64_t flags = value(ElfClass::dt_flags), flags_1 = value(ElfClass::dt_flags_1);
    init_ = value(ElfClass::dt_init);
    library_.num_constructors = value(ElfClass::dt_init_arraysz) / pointer_size;
    library_.num_destructors = value(ElfClass::dt_fini_arraysz) / pointer_size;
    library_.text_relocations = image_.value_of(ElfClass::dt_textrel) || (flags & df_textrel) != 0;
    library_.bind_now = image_.value_of(ElfClass::dt_bind_now) || (flags & df_bind_now) != 0 ||
                        (flags_1 & df_1_now) != 0;
    library_.static_tls = (flags & df_static_tls) != 0;
    library_.no_delete = (flags_1 & df_1_nodelete) != 0;
    const auto versions = image_.value_of(ElfClass::dt_verneed);
    if (!versions) return;
    for (const ElfNeededVersion& version : read_needed_versions(image_.at_address(*versions)).all) {
      library_.versions.push_back(concat(texts_.at(version.file), " ", texts_.at(version.name)));
    }
  }

  void read_symbols() {
    const std::uint64_t count = symbols_.num_symbols().count;
    for (std::uint64_t i = 1; i < count && !texts_.exhausted(); ++i) {
      const ElfClass::Symbol entry = symbols_.symbol(i);
      LibrarySymbol symbol{std::string(texts_.at(entry.name)),
                           static_cast<LibrarySymbol::Binding>(entry.binding()),
                           static_cast<LibrarySymbol::Kind>(entry.type())};
      if (symbol.name.empty() || symbol.binding == LibrarySymbol::Binding::local) continue;
      if (entry.section == 0) {
        library_.undefined.push_back(std::move(symbol));
      } else if (!entry.is_hidden()) {
        if (!has_object_ && symbol.name == TENON_PLUGIN_SYMBOL) {
          has_object_ = true;
          library_.writable_object = stays_writable(entry.address, entry.size);
        }
        library_.exported.push_back(std::move(symbol));
      }
    }
  }

  /// Whether a byte from `address` on is in a writable segment and stays so after relocation.
  [[nodiscard]] bool stays_writable(std::uint64_t address, std::uint64_t size) const {
    const std::uint64_t skipped = address - relro_.address;
    if (address >= relro_.address && skipped <= relro_.memory_size &&
        size <= relro_.memory_size - skipped && relro_.memory_size != 0) {
      return false;
    }
    const ElfClass::Segment* const segment = image_.loaded_at(address);
    return segment && (segment->flags & ElfClass::pf_write) != 0;
  }

  /// Whether the file's table of symbols, which a stripped one lacks, has the function of the C
  /// runtime that is an entry of .init_array: in the crtbeginS.o of gcc or of compiler-rt.
  [[nodiscard]] static bool has_frame_dummy(const ElfClass& elf_class, FileBytes symbols,
                                            FileBytes names) {
    const std::uint64_t count =
        std::min(symbols.size() / elf_class.symbol_size(), ElfSymbols::max_symbols);
    for (std::uint64_t i = 1; i < count; ++i) {
      const std::uint64_t name = elf_class.symbol(symbols, i).name;
      if (names.c_string(name, 16) == "frame_dummy" || names.c_string(name, 16) == "__do_init") {
        return true;
      }
    }
    return false;
  }

  /// Section headers are not needed to load a library and may be missing.
  void read_sections() {
    // crtbeginS.o asks for it, whether or not the file was stripped later.
    library_.has_start_files = library_.needs_symbol("_ITM_registerTMCloneTable");
    bool has_section_init = false;
    const ElfHeaders& headers = image_.headers();
    for (std::uint64_t i = 0; i < headers.num_sections(); ++i) {
      const ElfClass::Section section = headers.section(i);
      if (section.type == ElfClass::sht_symtab && !library_.symbol_table) {
        library_.symbol_table = true;
        library_.has_start_files |=
            has_frame_dummy(headers.elf_class(), headers.bytes_of(section),
                            headers.bytes_of(headers.section(section.link)));
      }
      const std::string_view name = headers.section_name(section);
      library_.debug_information |= name == ".debug_info" || name == ".zdebug_info";
      has_section_init |= name == ".init" && section.address == init_;
    }
    library_.own_init_function = init_ != 0 && headers.num_sections() != 0 && !has_section_init;
  }

  const ElfImage& image_;
  const ElfSymbols& symbols_;
  std::uint64_t notes_left_ = max_notes;
  ElfClass::Segment relro_{};
  std::uint64_t init_ = 0;  ///< DT_INIT; 0 without one.
  bool has_object_ = false;
  ElfStrings texts_;
  ElfLibrary library_;
};

}  // namespace detail

Result<ElfLibrary> read_elf_library(std::span<const std::byte> file, std::uint32_t machine) {
  TENON_TRY(const auto opened, tenon::detail::elf::open_library(FileBytes(file), machine));
  TENON_TRY(ElfLibrary library, detail::LibraryReader(opened).read());
  library.machine = machine;
  TENON_TRY(library.dependencies, tenon::detail::elf::dependencies_of(opened));
  return library;
}

}}}  // namespace tenon::TENON_RELEASE::host
