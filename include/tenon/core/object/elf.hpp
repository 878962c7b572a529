// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/concat.hpp"
#include "tenon/core/elf/elf_class.hpp"
#include "tenon/core/elf/elf_image.hpp"
#include "tenon/core/elf/elf_symbols.hpp"
#include "tenon/core/file_bytes.hpp"
#include "tenon/core/object/format.hpp"
#include "tenon/core/result.hpp"

/// Finds a plugin's object in a little-endian ELF shared library, of 64 or 32 bits, and what the
/// library needs.
///
/// It searches as the dynamic loader does: program headers, dynamic section, hash table, symbol. So
/// it works without section headers, and what is found here is what `dlsym` finds.
namespace tenon { inline namespace TENON_RELEASE { namespace detail::elf {

/// Name of an ELF machine number (`e_machine`).
inline std::string machine_name(std::uint32_t machine) {
  struct Machine {
    std::uint32_t number;
    std::string_view name;
  };
  static constexpr Machine machines[] = {
      {3, "i386"},      {8, "mips"},     {20, "powerpc"},   {21, "powerpc64"}, {22, "s390x"},
      {40, "arm"},      {43, "sparc64"}, {62, "x86_64"},    {183, "aarch64"},  {190, "NVIDIA CUDA"},
      {224, "AMD GPU"}, {243, "riscv"},  {258, "loongarch"}};
  for (const Machine& known : machines) {
    if (known.number == machine) return std::string(known.name);
  }
  return concat("machine number ", machine);
}

/// The width of the shared libraries of a machine. Where a number means machines of both widths,
/// the width that is supported: 32 bits for mips, 64 for riscv and loongarch.
constexpr ElfClass class_of_machine(std::uint32_t machine) {
  constexpr std::uint32_t i386 = 3, mips = 8, powerpc = 20, arm = 40;
  return {machine != i386 && machine != mips && machine != powerpc && machine != arm};
}

/// Name of a system by the `EI_OSABI` of its files; empty for Linux and for those that do not say.
inline std::string system_name(unsigned os_abi) {
  switch (os_abi) {
    case 0:  // System V: Linux too, unless the file uses what only GNU has.
    case 3:
      return {};
    case 2:
      return "NetBSD";
    case 6:
      return "Solaris";
    case 9:
      return "FreeBSD";
    case 12:
      return "OpenBSD";
    default:
      return concat("system number ", os_abi);
  }
}

/// "an ELF shared library for x86_64"
inline std::string describe_library(std::uint32_t machine) {
  return concat("an ELF shared library for ", machine_name(machine));
}

/// Checks that the file is a shared library for `machine`.
inline Status check_file_header(FileBytes file, std::uint32_t machine) {
  const auto refuse = [&](Piece a, Piece b = "", Piece c = "", Piece d = "", Piece e = "",
                          Piece f = "") {
    return error(Error::InvalidArgument, "is ", a, b, c, d, e, f, ", expected ",
                 describe_library(machine));
  };
  const ElfClass expected = class_of_machine(machine);
  if (file.size() < expected.file_header_size()) {
    return refuse("a truncated ELF file of ", file.size(), " bytes");
  }
  const auto byte_order = file.u8(5);
  const bool big_endian = byte_order == 2;
  const auto found_machine = big_endian ? file.big_endian<std::uint16_t>(18) : file.u16(18);
  const auto width = file.u8(4);
  if (width != 1 && width != 2) {
    return malformed_elf("its class is ", width, ", expected ",
                         expected.wide ? "2 (64-bit)" : "1 (32-bit)");
  }
  if (const bool wide = width == 2; wide != expected.wide) {
    return refuse(wide ? "a 64-bit" : "a 32-bit", " ELF file for ", machine_name(found_machine));
  }
  if (big_endian) return refuse("a big-endian ELF file for ", machine_name(found_machine));
  if (byte_order != 1) {
    return malformed_elf("its data encoding is ", byte_order, ", expected 1 (little-endian)");
  }
  if (const std::string system = system_name(file.u8(7)); !system.empty()) {
    return refuse("an ELF file for ", machine_name(found_machine), " and ", system);
  }
  switch (const auto type = file.u16(16)) {
    case 3:
      break;
    case 1:
      return refuse("an object file that is not linked (.o)");
    case 2:
      return refuse("an executable");
    case 4:
      return refuse("a core dump");
    default:
      return refuse("an ELF file of type ", type);
  }
  if (found_machine != machine) {
    return refuse(describe_library(found_machine));
  }
  constexpr std::uint32_t arm = 40, soft_float = 0x200;  // EF_ARM_ABI_FLOAT_SOFT
  if (machine == arm && (expected.file_header(file).flags & soft_float) != 0) {
    return refuse("an ELF shared library for arm without floating-point registers (armel)");
  }
  return ok();
}

/// A file that is a shared library for `machine`.
inline Result<ElfImage> open_image(FileBytes file, std::uint32_t machine) {
  TENON_RETURN_IF_ERROR(check_file_header(file, machine));
  return ElfImage::open(file, class_of_machine(machine));
}

struct OpenedLibrary {
  ElfImage image;
  ElfSymbols symbols;
};

/// A shared library for `machine` whose symbols other libraries may use.
inline Result<OpenedLibrary> open_library(FileBytes file, std::uint32_t machine) {
  TENON_TRY(ElfImage image, open_image(file, machine));
  constexpr std::uint64_t position_independent_executable = 0x08000000;  // DF_1_PIE
  if ((image.value_of(ElfClass::dt_flags_1).value_or(0) & position_independent_executable) != 0) {
    return error(Error::InvalidArgument,
                 "is a position-independent executable, expected a shared library");
  }
  TENON_TRY(ElfSymbols symbols, ElfSymbols::open(image));
  return OpenedLibrary{std::move(image), std::move(symbols)};
}

/// A library's description of the libraries that it needs.
struct Dependencies {
  /// DT_NEEDED, DT_FILTER and DT_AUXILIARY, in order: the dynamic loader opens all of them.
  std::vector<std::string> needed;
  std::string soname;                   ///< DT_SONAME; empty when there is none.
  std::optional<std::string> rpath;     ///< DT_RPATH; of no effect when there is a DT_RUNPATH.
  std::optional<std::string> run_path;  ///< DT_RUNPATH.
};

/// The names of the libraries that a library needs, and where it says they are. A text that is not
/// in the file reads as empty.
inline Result<Dependencies> dependencies_of(const OpenedLibrary& library) {
  ElfStrings texts(library.symbols.strings());
  const auto text = [&](std::uint64_t offset) { return std::string(texts.at(offset)); };
  Dependencies out;
  for (const auto& [tag, value] : library.image.entries()) {
    if (tag == ElfClass::dt_needed || tag == ElfClass::dt_auxiliary || tag == ElfClass::dt_filter) {
      out.needed.push_back(text(value));
    }
    if (tag == ElfClass::dt_soname) out.soname = text(value);
    if (tag == ElfClass::dt_rpath) out.rpath = text(value);
    if (tag == ElfClass::dt_runpath) out.run_path = text(value);
  }
  TENON_RETURN_IF_ERROR(texts.check());
  return out;
}

/// `dependencies_of` a shared library for `machine`. Any bytes may be given.
inline Result<Dependencies> read_dependencies(FileBytes file, std::uint32_t machine) {
  TENON_TRY(const OpenedLibrary library, open_library(file, machine));
  return dependencies_of(library);
}

/// The C library among the needed ones. Names that are not in the file are passed over.
inline CLibrary needed_c_library(const OpenedLibrary& library) {
  constexpr std::uint64_t longest_name = 32;
  for (const auto& [tag, value] : library.image.entries()) {
    if (tag != ElfClass::dt_needed) continue;
    const auto name = library.symbols.strings().c_string(value, longest_name).value_or("");
    if (name == "libc.so.6") return CLibrary::glibc;
    if (name == "libc.so" || name.starts_with("libc.musl-")) return CLibrary::musl;
  }
  return CLibrary::any;
}

/// The bytes of the data object `name` that the library exports.
///
/// `machine` is the `e_machine` that the file must be for, and `c_library` the C library that it
/// must need, if it needs one. Nothing in the file is trusted; the time is bounded by a few passes
/// over its tables. Failures do not name the file.
inline Result<std::span<const std::byte>> find_object(FileBytes file, std::uint32_t machine,
                                                      std::string_view name,
                                                      CLibrary c_library = CLibrary::any) {
  TENON_TRY(const OpenedLibrary library, open_library(file, machine));
  if (c_library != CLibrary::any) {
    const CLibrary needed = needed_c_library(library);
    if (needed != CLibrary::any && needed != c_library) {
      return error(Error::InvalidArgument, "is ", describe_library(machine), " that needs ",
                   name_of(needed), ", expected one for ", name_of(c_library));
    }
  }
  TENON_TRY(const std::uint32_t index, library.symbols.find(name));
  const ElfClass::Symbol symbol = library.symbols.symbol(index);
  const unsigned type = symbol.type();
  if (index == 0 || symbol.binding() == ElfClass::stb_local || symbol.is_hidden()) {
    return error(Error::InvalidArgument, "exports no symbol ", name,
                 ", expected one: it is a shared library but not a plugin");
  }
  if (symbol.section == 0) {
    return error(Error::InvalidArgument, "uses the symbol ", name,
                 " without defining it, expected a library that exports it");
  }
  if (type != ElfClass::stt_notype && type != ElfClass::stt_object) {
    return error(Error::InvalidArgument, "exports ", name, " as ",
                 type == ElfClass::stt_func ? "a function" : concat("a symbol of type ", type),
                 ", expected a data object");
  }
  const FileBytes found = library.image.at_address(symbol.address);
  if (!found.holds(0, symbol.size) || found.empty()) {
    return malformed_elf("the ", symbol.size, " bytes of ", name, " at address ", symbol.address,
                         " are not all in the file");
  }
  return found.part(0, symbol.size).bytes();
}

}}}  // namespace tenon::TENON_RELEASE::detail::elf
