// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/object/elf.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/plugin/platform.hpp"

/// The properties of an ELF shared library that matter before it is loaded, read from the file.
/// Formats: System V gABI, the GNU extensions of glibc's elf.h.
namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// A symbol of the dynamic symbol table.
struct LibrarySymbol {
  enum class Binding : std::uint8_t { local = 0, global = 1, weak = 2, gnu_unique = 10 };
  enum class Kind : std::uint8_t { none = 0, object = 1, function = 2, tls = 6, ifunc = 10 };

  std::string name;  ///< As in the file: mangled.
  Binding binding = Binding::global;
  Kind kind = Kind::none;
};

/// The result of reading. Symbols are in the file's order.
struct ElfLibrary {
  std::uint64_t file_size = 0;
  std::uint32_t machine = 0;  ///< `e_machine`.
  std::string build_id;       ///< Hexadecimal; empty without one.
  tenon::detail::elf::Dependencies dependencies;
  std::vector<std::string> versions;  ///< Symbol versions it needs: "libc.so.6 GLIBC_2.34".

  std::vector<LibrarySymbol> exported;   ///< Defined here and visible to others.
  std::vector<LibrarySymbol> undefined;  ///< To be found in others.

  std::uint64_t num_constructors = 0;  ///< Entries of .init_array.
  std::uint64_t num_destructors = 0;   ///< Entries of .fini_array.
  /// The C runtime's crtbeginS.o is linked in, which has an entry of .init_array (frame_dummy).
  bool has_start_files = false;
  /// DT_INIT calls another function than the section .init, which is the C runtime's.
  bool own_init_function = false;

  /// The object `tenon_plugin_v1` stays writable after loading: it is in a writable segment, and
  /// not in the part of PT_GNU_RELRO.
  bool writable_object = false;

  bool has_stack_note = false;     ///< PT_GNU_STACK; without it the stack becomes executable.
  bool executable_stack = false;   ///< PT_GNU_STACK asks for one.
  bool relro = false;              ///< PT_GNU_RELRO.
  bool bind_now = false;           ///< DF_BIND_NOW or DF_1_NOW.
  bool text_relocations = false;   ///< DF_TEXTREL.
  bool writable_code = false;      ///< A segment that is writable and executable.
  bool no_delete = false;          ///< DF_1_NODELETE.
  bool thread_local_data = false;  ///< PT_TLS.
  bool static_tls = false;         ///< DF_STATIC_TLS: it may be impossible to load it late.
  bool interpreter = false;        ///< PT_INTERP: can be run as a program too.
  bool symbol_table = false;       ///< .symtab: not stripped.
  bool debug_information = false;  ///< .debug_info.

  /// Whether an undefined symbol of one of these names exists.
  [[nodiscard]] bool needs_symbol(std::string_view name) const {
    return std::ranges::find(undefined, name, &LibrarySymbol::name) != undefined.end();
  }
};

/// Reads the facts of an ELF shared library for `machine` (`e_machine`). Any bytes may be given: a
/// hostile file gets an error or nonsense, in time that is bounded by its size.
///
/// threads: any. errors: InvalidArgument as `peek` has them, without the file's name.
[[nodiscard]] Result<ElfLibrary> read_elf_library(std::span<const std::byte> file,
                                                  std::uint32_t machine = this_platform.machine);

}}}  // namespace tenon::TENON_RELEASE::host
