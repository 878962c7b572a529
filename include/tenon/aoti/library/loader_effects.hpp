// SPDX-License-Identifier: MIT
#pragma once

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/aoti/library/elf_editor.hpp"
#include "tenon/core/elf/elf_symbols.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

namespace detail {

/// Finds and removes what the dynamic loader would do, because of a library's headers, to the
/// process outside of that library. The rules come from glibc: elf/dl-load.c
/// (`_dl_map_object_from_fd`), elf/dl-reloc.c, elf/dl-deps.c, sysdeps/*/dl-machine.h.
class LoaderEffects {
 public:
  explicit LoaderEffects(ElfEditor& library) noexcept : library_(library) {}

  /// See `contain_loader_effects`.
  Status contain() {
    TENON_RETURN_IF_ERROR(check_segments());
    TENON_RETURN_IF_ERROR(check_entries());
    TENON_RETURN_IF_ERROR(check_symbols());
    TENON_RETURN_IF_ERROR(check_relocations());
    TENON_RETURN_IF_ERROR(make_stack_data());
    drop_entries();
    return ok();
  }

 private:
  template <class... Pieces>
  static Status refuse(const Pieces&... pieces) {
    return error(Error::NotSupported, "the model's library is refused: ", pieces...);
  }

  /// Segments are mapped one after the other, in their order and by whole pages: of two that share
  /// a page, the later one replaces the bytes that this class and `ElfEditor` have seen.
  Status check_segments() {
    std::uint64_t end = 0;
    std::size_t num_dynamic = 0;
    for (std::size_t i = 0; i < library_.segments().size(); ++i) {
      const ElfClass::Segment& segment = library_.segments()[i];
      if (segment.type == PT_DYNAMIC && ++num_dynamic > 1) {
        return malformed_library("it has several dynamic segments");
      }
      if (segment.type != PT_LOAD) continue;
      const std::uint64_t align = segment.alignment;
      if (align == 0 || (align & (align - 1)) != 0 || align % page_ != 0 ||
          (segment.address - segment.offset) % align != 0) {
        return malformed_library("segment ", i, " (address ", segment.address, ", offset ",
                                 segment.offset, ", alignment ", align,
                                 ") is not aligned to pages of ", page_, " bytes");
      }
      if (segment.address - segment.address % page_ < end) {
        return malformed_library("segment ", i, " at address ", segment.address,
                                 " overlaps the one before it, which ends at ", end);
      }
      end = segment.address + segment.memory_size;
      if (end > std::uint64_t{1} << 62) {
        return malformed_library("segment ", i, " ends at address ", end);
      }
      end = (end + page_ - 1) / page_ * page_;
      if ((segment.flags & PF_W) != 0 && (segment.flags & PF_X) != 0) {
        return refuse("segment ", i, " (", segment.memory_size, " bytes at address ",
                      segment.address, ") is both writable and executable");
      }
    }
    for (std::size_t i = 0; i < library_.segments().size(); ++i) {
      const ElfClass::Segment& segment = library_.segments()[i];
      if (segment.type == PT_GNU_RELRO) TENON_RETURN_IF_ERROR(check_relro(i, segment));
      if (segment.type == PT_TLS) TENON_RETURN_IF_ERROR(check_thread_local(i, segment));
      if (segment.type == PT_PHDR && segment.offset != library_.segments_at()) {
        return malformed_library("segment ", i, " names other program headers than its ELF header");
      }
      constexpr std::array<std::uint32_t, 5> read_in_place{PT_DYNAMIC, PT_PHDR, PT_NOTE,
                                                           PT_GNU_PROPERTY, PT_GNU_EH_FRAME};
      if (std::ranges::find(read_in_place, segment.type) != read_in_place.end()) {
        TENON_RETURN_IF_ERROR(check_place(i, segment));
      }
    }
    return ok();
  }

  /// The loader takes the right to write from these pages, wherever they are. Linkers round the
  /// size up to a page.
  Status check_relro(std::size_t index, const ElfClass::Segment& relro) const {
    const ElfClass::Segment* const load = writable_segment(relro.address);
    if (relro.memory_size == 0) return ok();
    if (load) {
      const std::uint64_t end = load->address + load->memory_size;
      if (relro.memory_size <= (end + page_ - 1) / page_ * page_ - relro.address) return ok();
    }
    return malformed_library("segment ", index, " (", relro.memory_size, " bytes at address ",
                             relro.address,
                             "), which becomes read-only, is outside of its writable segments");
  }

  /// A thread's copy is made when the thread first uses it, and glibc ends the process where there
  /// is no memory for it.
  Status check_thread_local(std::size_t index, const ElfClass::Segment& segment) {
    if (segment.memory_size == 0) return ok();
    if (std::exchange(has_thread_local_, true)) {
      return malformed_library("it has several segments of thread-local storage");
    }
    constexpr std::uint64_t most = std::uint64_t{1} << 24;
    constexpr std::uint64_t most_aligned = std::uint64_t{1} << 16;
    if (segment.memory_size > most || segment.alignment > most_aligned) {
      return refuse("it wants ", segment.memory_size, " bytes of storage, aligned to ",
                    segment.alignment, ", for each thread; the most are ", most, ", aligned to ",
                    most_aligned);
    }
    if ((segment.alignment & (segment.alignment - 1)) != 0 ||
        segment.file_size > segment.memory_size) {
      return malformed_library("segment ", index, " of thread-local storage has the alignment ",
                               segment.alignment, " and ", segment.file_size, " of ",
                               segment.memory_size, " bytes");
    }
    if (segment.file_size == 0) return ok();
    auto initial = library_.place(segment.address, segment.file_size, "its thread-local storage");
    return initial.ok() ? ok() : std::move(initial).status();
  }

  /// The loader and the unwinder read these segments at their address, and `ElfEditor` at their
  /// offset. To a dynamic section that is marked as writable, the loader writes.
  Status check_place(std::size_t index, const ElfClass::Segment& segment) const {
    TENON_TRY(const std::uint64_t offset,
              library_.place(segment.address, segment.memory_size, concat("segment ", index)));
    if (offset != segment.offset) {
      return malformed_library("segment ", index, " is at offset ", segment.offset,
                               ", and at offset ", offset, " by its address");
    }
    if (segment.type != PT_DYNAMIC || (segment.flags & PF_W) == 0 ||
        is_writable(segment.address, segment.memory_size)) {
      return ok();
    }
    return malformed_library(
        "its dynamic section is writable, and not inside of a writable segment");
  }

  Status check_entries() {
    for (const ElfClass::DynamicEntry& entry : library_.entries()) {
      const std::uint64_t value = entry.value;
      switch (entry.tag) {
        case DT_AUDIT:
        case DT_DEPAUDIT:
        case DT_FILTER:
        case DT_AUXILIARY: {
          ElfStrings texts(library_.strings());
          TENON_TRY(const std::string_view name,
                    library_.string(texts, value, "the name of a library"));
          const std::string_view kind = entry.tag == DT_FILTER      ? "DT_FILTER"
                                        : entry.tag == DT_AUXILIARY ? "DT_AUXILIARY"
                                        : entry.tag == DT_AUDIT     ? "DT_AUDIT"
                                                                    : "DT_DEPAUDIT";
          return refuse("it names the library \"", name, "\" as ", kind,
                        "; only needed libraries (DT_NEEDED) are loaded for a model");
        }
        case DT_TEXTREL:
          return refuse("its code is changed while it is loaded (DT_TEXTREL)");
        case DT_FLAGS:
          if ((value & DF_TEXTREL) != 0) {
            return refuse("its code is changed while it is loaded (DF_TEXTREL)");
          }
          if ((value & DF_STATIC_TLS) != 0) return refuse_static_tls("DF_STATIC_TLS");
          break;
        case DT_FLAGS_1:
          if ((value & DF_1_NODELETE) != 0) {
            return refuse("it can never be unloaded (DF_1_NODELETE)");
          }
          if ((value & DF_1_PIE) != 0) {
            return refuse("it is a program and not a shared library (DF_1_PIE)");
          }
          if ((value & DF_1_NOOPEN) != 0) {
            return refuse("it must not be opened by a running program (DF_1_NOOPEN)");
          }
          break;
        case DT_REL:
          return malformed_library("its relocations have no addends (DT_REL)");
        default:
          break;
      }
    }
    return ok();
  }

  static Status refuse_static_tls(std::string_view found) {
    return refuse(
        "it takes its thread-local storage from the small part that the process keeps "
        "for all libraries (",
        found, "): compile it without -ftls-model=initial-exec");
  }

  Status check_symbols() const {
    for (const DynamicSymbol& symbol : library_.symbols()) {
      if (symbol.is_indirect) {
        return refuse("its code would run before it is relocated, to choose the function ",
                      symbol.name, " (STT_GNU_IFUNC)");
      }
    }
    return ok();
  }

  [[nodiscard]] std::uint64_t value_of(std::uint64_t tag) const noexcept {
    return library_.value_of(tag).value_or(0);
  }

  Status check_relocations() const {
    constexpr std::array<std::pair<std::uint64_t, std::uint64_t>, 2> tables{
        {{DT_RELA, DT_RELASZ}, {DT_JMPREL, DT_PLTRELSZ}}};
    for (const auto& [address, size] : tables) {
      const std::uint64_t nbytes = value_of(size);
      if (value_of(address) == 0 || nbytes == 0) continue;
      TENON_TRY(const std::uint64_t table,
                library_.place(value_of(address), nbytes, "its table of relocations"));
      for (std::uint64_t at = 0; at + sizeof(Elf64_Rela) <= nbytes; at += sizeof(Elf64_Rela)) {
        TENON_RETURN_IF_ERROR(check_relocation(library_.at<Elf64_Rela>(table + at)));
      }
    }
    return check_relative_relocations();
  }

  Status check_relocation(const Elf64_Rela& relocation) const {
    const std::uint64_t type = ELF64_R_TYPE(relocation.r_info);
    const std::uint64_t symbol = ELF64_R_SYM(relocation.r_info);
    if (type == relocation_types.none) return ok();
    if (type == relocation_types.indirect) {
      return refuse("its code would run before it is relocated, to choose the function at address ",
                    relocation.r_addend, " (IRELATIVE)");
    }
    if (type == relocation_types.static_tls) return refuse_static_tls("a relocation to TPOFF");
    if (std::ranges::find(relocation_types.usual, type) == relocation_types.usual.end()) {
      return refuse("its relocation of type ", type, " at address ", relocation.r_offset,
                    " is not known in a shared library for this processor");
    }
    if (symbol >= library_.num_symbols()) {
      return malformed_library("the relocation at address ", relocation.r_offset, " is of symbol ",
                               symbol, ", of ", library_.num_symbols());
    }
    // Of TLSDESC and nothing else, two words are written.
    const std::uint64_t nbytes = type == relocation_types.tls_descriptor ? 16 : 8;
    return check_write(relocation.r_offset, nbytes);
  }

  /// DT_RELR (System V ABI): an even word is an address, an odd one has a bit for each of the 63
  /// words that follow.
  Status check_relative_relocations() const {
    constexpr std::uint64_t relr_size = 35, relr = 36;  // <elf.h> of older systems lacks them.
    const std::uint64_t nbytes = value_of(relr_size);
    if (value_of(relr) == 0 || nbytes == 0) return ok();
    TENON_TRY(const std::uint64_t table,
              library_.place(value_of(relr), nbytes, "its table of relative relocations"));
    std::uint64_t next = 0;
    for (std::uint64_t at = 0; at + 8 <= nbytes; at += 8) {
      auto word = library_.at<std::uint64_t>(table + at);
      if ((word & 1) == 0) {
        TENON_RETURN_IF_ERROR(check_write(word, 8));
        next = word + 8;
        continue;
      }
      std::uint64_t address = next;
      while ((word >>= 1) != 0) {
        if ((word & 1) != 0) TENON_RETURN_IF_ERROR(check_write(address, 8));
        address += 8;
      }
      next += std::uint64_t{63} * 8;
    }
    return ok();
  }

  Status check_write(std::uint64_t address, std::uint64_t nbytes) const {
    if (is_writable(address, nbytes)) return ok();
    return malformed_library("the relocation at address ", address,
                             " is outside of its writable segments");
  }

  /// The writable segment with an address, or null.
  [[nodiscard]] const ElfClass::Segment* writable_segment(std::uint64_t address) const noexcept {
    const ElfClass::Segment* const segment = library_.loaded_at(address);
    return segment && (segment->flags & PF_W) != 0 ? segment : nullptr;
  }

  [[nodiscard]] bool is_writable(std::uint64_t address, std::uint64_t nbytes) const noexcept {
    const ElfClass::Segment* const segment = writable_segment(address);
    return segment && nbytes <= segment->memory_size - (address - segment->address);
  }

  /// With PF_X, and on x86-64 also without PT_GNU_STACK, a library asks for executable stacks: up
  /// to 2.40, glibc makes all stacks of the process executable, and later ones refuse the library.
  Status make_stack_data() {
    bool has_stack = false;
    std::size_t unneeded = library_.segments().size();
    for (std::size_t i = 0; i < library_.segments().size(); ++i) {
      ElfClass::Segment segment = library_.segments()[i];
      // The notes hold the build id, which debuggers look for.
      if (segment.type == PT_NOTE || segment.type == PT_NULL) unneeded = i;
      if (segment.type != PT_GNU_STACK) continue;
      has_stack = true;
      segment.flags &= ~std::uint32_t{PF_X};
      library_.change_segment(i, segment);
    }
    if (has_stack || !missing_stack_is_executable) return ok();
    if (unneeded == library_.segments().size()) {
      return refuse(
          "it asks for executable stacks, as it has neither PT_GNU_STACK nor a note "
          "that could be replaced: link it with -z noexecstack");
    }
    ElfClass::Segment stack{};
    stack.type = PT_GNU_STACK;
    stack.flags = PF_R | PF_W;
    stack.alignment = 16;
    library_.change_segment(unneeded, stack);
    return ok();
  }

  /// Entries that change how other libraries are found, or what this one is found as.
  void drop_entries() noexcept {
    for (std::size_t i = 0; i < library_.entries().size(); ++i) {
      ElfClass::DynamicEntry entry = library_.entries()[i];
      if (entry.tag == DT_RPATH || entry.tag == DT_RUNPATH || entry.tag == DT_SONAME) {
        library_.drop_entry(i);
      } else if (entry.tag == DT_FLAGS_1) {
        entry.value &= DF_1_NOW;
        library_.change_entry(i, entry);
      }
    }
  }

  struct RelocationTypes {
    std::uint64_t none, indirect, static_tls, tls_descriptor;
    std::array<std::uint64_t, 7> usual;
  };

#if defined(__x86_64__)
  static constexpr bool missing_stack_is_executable = true;
  static constexpr RelocationTypes relocation_types{
      R_X86_64_NONE,
      R_X86_64_IRELATIVE,
      R_X86_64_TPOFF64,
      R_X86_64_TLSDESC,
      {R_X86_64_64, R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT, R_X86_64_RELATIVE, R_X86_64_DTPMOD64,
       R_X86_64_DTPOFF64, R_X86_64_TLSDESC}};
#else
  static constexpr bool missing_stack_is_executable = false;
  static constexpr RelocationTypes relocation_types{
      R_AARCH64_NONE,
      R_AARCH64_IRELATIVE,
      R_AARCH64_TLS_TPREL,
      R_AARCH64_TLSDESC,
      {R_AARCH64_ABS64, R_AARCH64_GLOB_DAT, R_AARCH64_JUMP_SLOT, R_AARCH64_RELATIVE,
       R_AARCH64_TLS_DTPMOD, R_AARCH64_TLS_DTPREL, R_AARCH64_TLSDESC}};
#endif

  ElfEditor& library_;
  std::uint64_t page_ = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  bool has_thread_local_ = false;
};

}  // namespace detail

/// Makes sure that loading a library changes nothing in the process but what the library itself
/// needs; docs/aoti/loading.md has the table of what is removed, refused and harmless.
///
/// Removed from the bytes: executable stacks, search paths, its name for others (DT_SONAME) and
/// flags that give it precedence.
///
/// errors: InvalidArgument when its headers contradict each other or have the loader write outside
/// of the library; NotSupported for what would last in the process or run code too early. Cost:
/// linear in the number of symbols and relocations.
[[nodiscard]] inline Status contain_loader_effects(ElfEditor& library) {
  return detail::LoaderEffects(library).contain();
}

}}}  // namespace tenon::TENON_RELEASE::aoti
