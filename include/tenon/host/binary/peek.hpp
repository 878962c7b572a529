// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "tenon/abi/plugin.h"
#include "tenon/core/api.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/binary/elf.hpp"
#include "tenon/host/binary/file_bytes.hpp"
#include "tenon/host/binary/macho.hpp"
#include "tenon/host/binary/pe.hpp"
#include "tenon/host/binary/plugin_record.hpp"
#include "tenon/host/files/mapped_file.hpp"
#include "tenon/host/files/read_at.hpp"
#include "tenon/host/files/trusted_path.hpp"
#include "tenon/host/platform/path_text.hpp"

/// Reads a plugin's record from its FILE. The library is not loaded and none of its code
/// runs, so a host can describe a thousand plugins for the price of opening them.
namespace tenon::host {

/// The file formats that are read: of Linux, macOS and Windows.
enum class BinaryFormat : std::uint8_t { elf, mach_o, pe };

/// "ELF", "Mach-O", "PE".
[[nodiscard]] constexpr std::string_view name_of(BinaryFormat format) noexcept {
  constexpr std::string_view names[] = {"ELF", "Mach-O", "PE"};
  return names[static_cast<std::size_t>(format)];
}

/// The platform of a shared library that a process can load.
struct Platform {
  BinaryFormat format;
  std::uint32_t machine;  ///< `e_machine` of an ELF file, `cputype` of Mach-O, `Machine` of PE.
  /// The C library of ELF files; a plugin that needs another one is refused.
  CLibrary c_library = CLibrary::any;

  friend bool operator==(const Platform&, const Platform&) = default;
};

/// The platform that this host was compiled for.
#if defined(__APPLE__) && defined(__aarch64__)
inline constexpr Platform this_platform{BinaryFormat::mach_o, detail::macho::cpu_arm64};
#elif defined(__APPLE__) && defined(__x86_64__)
inline constexpr Platform this_platform{BinaryFormat::mach_o, detail::macho::cpu_x86_64};
#elif defined(_WIN32) && (defined(_M_ARM64) || defined(__aarch64__))
inline constexpr Platform this_platform{BinaryFormat::pe, detail::pe::machine_arm64};
#elif defined(_WIN32) && (defined(_M_X64) || defined(__x86_64__))
inline constexpr Platform this_platform{BinaryFormat::pe, detail::pe::machine_x86_64};
#elif defined(_WIN32) && (defined(_M_IX86) || defined(__i386__))
inline constexpr Platform this_platform{BinaryFormat::pe, detail::pe::machine_i386};
#elif defined(__x86_64__)
inline constexpr Platform this_platform{BinaryFormat::elf, 62, detail::elf::this_c_library};
#elif defined(__aarch64__)
inline constexpr Platform this_platform{BinaryFormat::elf, 183, detail::elf::this_c_library};
#elif defined(__arm__)
inline constexpr Platform this_platform{BinaryFormat::elf, 40, detail::elf::this_c_library};
#elif defined(__riscv) && __riscv_xlen == 64
inline constexpr Platform this_platform{BinaryFormat::elf, 243, detail::elf::this_c_library};
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
inline constexpr Platform this_platform{BinaryFormat::elf, 21, detail::elf::this_c_library};
#elif defined(__loongarch64)
inline constexpr Platform this_platform{BinaryFormat::elf, 258, detail::elf::this_c_library};
#else
#error \
    "tenon/host/binary/peek.hpp does not know this machine: add its ELF, Mach-O or PE number above"
#endif

/// Name of the platform's machine as its system has it ("x86_64", "aarch64" of Linux, "arm64" of
/// macOS and Windows); "machine number N" for one that is not known. threads: any.
TENON_COLD [[nodiscard]] inline std::string machine_name(const Platform& platform) {
  switch (platform.format) {
    case BinaryFormat::mach_o:
      return detail::macho::machine_name(platform.machine);
    case BinaryFormat::pe:
      return detail::pe::machine_name(platform.machine);
    default:
      return detail::elf::machine_name(platform.machine);
  }
}

/// The name of a platform in manifests: "linux-x86_64", "macos-arm64", "windows-x86_64". threads:
/// any.
TENON_COLD [[nodiscard]] inline std::string platform_name(
    const Platform& platform = this_platform) {
  constexpr std::string_view systems[] = {"linux-", "macos-", "windows-"};
  const std::string_view system = systems[static_cast<std::size_t>(platform.format)];
  // ELF has one number for both widths, where Linux's distributions name the width as well.
  if (platform.format == BinaryFormat::elf) {
    if (platform.machine == 21) return concat(system, "ppc64le");
    if (platform.machine == 243) return concat(system, "riscv64");
    if (platform.machine == 258) return concat(system, "loongarch64");
  }
  return concat(system, machine_name(platform));
}

/// The kind of file that a platform loads: "ELF shared library for x86_64", "Mach-O library for
/// arm64", "Windows DLL for x86_64". threads: any.
[[nodiscard]] inline std::string library_kind(const Platform& platform) {
  constexpr std::string_view kinds[] = {"ELF shared library for ", "Mach-O library for ",
                                        "Windows DLL for "};
  return concat(kinds[static_cast<std::size_t>(platform.format)], machine_name(platform));
}

namespace detail {

/// With the article of the name that follows it.
constexpr std::string_view article_of(BinaryFormat format) {
  return format == BinaryFormat::elf ? "an " : "a ";
}

/// "an ELF shared library for x86_64"
[[gnu::cold]] inline std::string describe_library(const Platform& platform) {
  return concat(article_of(platform.format), library_kind(platform));
}

/// Bytes of a pointer in the shared libraries of a platform.
constexpr std::size_t pointer_size_of(const Platform& platform) {
  if (platform.format == BinaryFormat::elf) {
    return static_cast<std::size_t>(elf::class_of_machine(platform.machine).word_size());
  }
  return platform.format == BinaryFormat::pe && platform.machine == pe::machine_i386 ? 4 : 8;
}

/// Describes a file that is neither ELF nor 64-bit Mach-O nor PE.
[[gnu::cold]] inline std::string describe_content(FileBytes file) {
  struct Kind {
    std::size_t offset;
    std::string_view bytes;
    std::string_view name;
  };
  using namespace std::string_view_literals;
  static constexpr std::array kinds{
      Kind{0, "\xce\xfa\xed\xfe"sv, "a 32-bit Mach-O file"sv},
      Kind{0, "\xfe\xed\xfa\xcf"sv, "a big-endian Mach-O file"sv},
      Kind{0, "\xfe\xed\xfa\xce"sv, "a big-endian 32-bit Mach-O file"sv},
      Kind{0, "\xca\xfe\xba\xbe"sv, "a Java class file"sv},
      Kind{0, "!<arch>\n"sv, "a static library (.a)"sv},
      Kind{0, "!<thin>\n"sv, "a static library (.a)"sv},
      Kind{0, "BC\xc0\xde"sv, "LLVM bitcode"sv},
      Kind{0, "\0asm"sv, "a WebAssembly module"sv},
      Kind{0, "PK\x03\x04"sv, "a zip archive"sv},
      Kind{0, "\x1f\x8b"sv, "a gzip archive"sv},
      Kind{4, "ET12"sv, "an ExecuTorch program (.pte)"sv},
      Kind{4, "FT01"sv, "an ExecuTorch data file (.ptd)"sv},
      Kind{0, "\x89TENON1\n"sv, "a bare plugin object"sv},
      Kind{0, "#!"sv, "a script"sv},
      Kind{0, "version https://git-lfs"sv, "a Git LFS pointer whose file was not fetched"sv},
  };
  const std::string_view text = file.part(0, 512).text();
  for (const Kind& kind : kinds) {
    if (text.size() >= kind.offset && text.substr(kind.offset).starts_with(kind.bytes)) {
      return std::string(kind.name);
    }
  }
  bool printable = true;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    printable = printable && (code >= 0x20 ? code != 0x7f : (code >= '\t' && code <= '\r'));
  }
  if (printable) return "a text file";
  return concat("a file of no known kind that begins with ", hex(file.bytes(), 8));
}

/// Which of the formats the file begins as; nothing for another file.
inline std::optional<BinaryFormat> format_of(FileBytes file) noexcept {
  const auto first = file.big_endian<std::uint32_t>(0);
  if (first == 0x7f454c46) return BinaryFormat::elf;
  if (file.u16(0) == pe::dos_magic) return BinaryFormat::pe;
  const bool is_universal =
      first == macho::fat_magic_64 ||
      (first == macho::fat_magic && file.big_endian<std::uint32_t>(4) <= macho::max_slices);
  if (is_universal || file.u32(0) == macho::thin_magic) return BinaryFormat::mach_o;
  return std::nullopt;
}

/// Whether a file has the format of `platform`. Failures do not name the file.
TENON_COLD inline Status check_format(FileBytes file, const Platform& platform) {
  const auto refuse = [&](std::string_view found) {
    return error(Error::InvalidArgument, "is ", found, ", expected ", describe_library(platform));
  };
  if (file.empty()) return refuse("empty");
  const auto format = format_of(file);
  if (!format) return refuse(describe_content(file));
  if (*format != platform.format) {
    if (*format == BinaryFormat::pe) return refuse(pe::describe(file));
    return refuse(concat(article_of(*format), name_of(*format),
                         *format == BinaryFormat::elf ? " file (Linux)" : " file (macOS)"));
  }
  return ok();
}

/// The bytes of the plugin's object in a file. Failures do not name the file.
inline Result<std::span<const std::byte>> find_plugin_object(FileBytes file,
                                                             const Platform& platform) {
  TENON_RETURN_IF_ERROR(check_format(file, platform));
  switch (platform.format) {
    case BinaryFormat::mach_o:
      return macho::find_object(file, platform.machine, TENON_PLUGIN_SYMBOL);
    case BinaryFormat::pe:
      return pe::find_object(file, platform.machine, TENON_PLUGIN_SYMBOL);
    default:
      return elf::find_object(file, platform.machine, TENON_PLUGIN_SYMBOL, platform.c_library);
  }
}

/// The same in a file for this host. Compiles the reader of this host's format alone.
inline Result<std::span<const std::byte>> find_plugin_object(FileBytes file) {
  TENON_RETURN_IF_ERROR(check_format(file, this_platform));
#if defined(__APPLE__)
  return macho::find_object(file, this_platform.machine, TENON_PLUGIN_SYMBOL);
#elif defined(_WIN32)
  return pe::find_object(file, this_platform.machine, TENON_PLUGIN_SYMBOL);
#else
  return elf::find_object(file, this_platform.machine, TENON_PLUGIN_SYMBOL,
                          this_platform.c_library);
#endif
}

/// Describes what a path names instead of a regular file.
[[gnu::cold]] inline std::string_view describe_file_type(std::filesystem::file_type type) {
  using std::filesystem::file_type;
  switch (type) {
    case file_type::directory:
      return "a directory";
    case file_type::fifo:
      return "a FIFO";
    case file_type::socket:
      return "a socket";
    case file_type::character:
      return "a character device";
    case file_type::block:
      return "a block device";
    default:
      return "not a regular file";
  }
}

/// Why `path` could not be mapped, when the path itself shows it; otherwise `failure`.
[[gnu::cold]] inline Status explain_unmapped(const std::filesystem::path& path, Status failure) {
  std::error_code system_error;
  const auto status = std::filesystem::status(path, system_error);
  if (status.type() == std::filesystem::file_type::not_found) {
    return error(Error::NotFound, path_text(path), ": there is no such file");
  }
  if (!std::filesystem::status_known(status)) return failure;
  const bool regular = std::filesystem::is_regular_file(status);
  if (regular && std::filesystem::file_size(path, system_error) != 0) return failure;
  return error(Error::InvalidArgument, path_text(path), ": is ",
               regular ? "empty" : describe_file_type(status.type()), ", expected ",
               describe_library(this_platform));
}

}  // namespace detail

/// The platform that a library is for, by its first bytes alone, so that a plugin can be described
/// that this host cannot load; nothing for a file that is not read (of another kind, or ELF of
/// another width than its machine's or not little-endian). The C library is not found so: it is
/// `any`. Of a universal Mach-O file on macOS this host's platform, otherwise that of the first
/// slice.
[[nodiscard]] inline std::optional<Platform> platform_of(std::span<const std::byte> bytes) {
  const detail::FileBytes file(bytes);
  const auto format = detail::format_of(file);
  if (!format) return std::nullopt;
  if (*format == BinaryFormat::pe) {
    return Platform{*format, detail::pe::Headers::of(file).machine()};
  }
  if (*format == BinaryFormat::elf) {
    const std::uint32_t machine = file.u16(18);
    const auto width = detail::elf::class_of_machine(machine).word_size() / 4;
    if (file.u8(4) != width || file.u8(5) != 1) return std::nullopt;
    return Platform{*format, machine};
  }
  if (file.u32(0) == detail::macho::thin_magic) return Platform{*format, file.u32(4)};
  if (this_platform.format == *format) return this_platform;
  return Platform{*format, file.big_endian<std::uint32_t>(8)};
}

/// Reads the record of the plugin whose whole file is `file`.
///
/// Any bytes may be given: a hostile file gets an error, in bounded time. `name` begins the text of
/// a failure. Another `platform` than this host's describes a plugin that cannot be loaded here.
///
/// The ABI version is not checked: a plugin that is too new can be described, and `check_abi`
/// decides whether it may be loaded.
///
/// threads: any. errors: InvalidArgument when the bytes are not a plugin for `platform`, with a
/// text that says what they are; and those of `read_record`.
[[nodiscard]] inline Result<PluginRecord> peek(std::span<const std::byte> file,
                                               std::string_view name, const Platform& platform) {
  auto object = detail::find_plugin_object(detail::FileBytes(file), platform);
  if (!object.ok()) return std::move(object).status().with_context(name);
  return read_record(*object, name, detail::pointer_size_of(platform));
}

/// The same for this host's platform.
[[nodiscard]] inline Result<PluginRecord> peek(std::span<const std::byte> file,
                                               std::string_view name) {
  auto object = detail::find_plugin_object(detail::FileBytes(file));
  if (!object.ok()) return std::move(object).status().with_context(name);
  return read_record(*object, name);
}

/// Reads the record of the plugin at `path`.
///
/// The file is mapped and only the pages that lead to the record are touched. As when a library is
/// loaded, a file that another process cuts short in that moment ends this process with SIGBUS:
/// replace a plugin by renaming a new file over it.
///
/// threads: any. errors: NotFound when there is no such file; InvalidArgument when it is empty or
/// not a regular file; AccessFailed when it cannot be opened or mapped; and those of the other
/// `peek`. The text begins with the path.
[[nodiscard]] inline Result<PluginRecord> peek(const std::filesystem::path& path) {
  TENON_RETURN_IF_ERROR(check_no_nul(path));
  auto file = MappedFile::open(path);
  if (!file.ok()) return detail::explain_unmapped(path, std::move(file).status());
  return peek(file->bytes(), path_text(path));
}

/// Calls `use` with all bytes of an open file and returns what it returns. A small file is read:
/// for the size of a usual plugin a copy costs less than mapping it and touching its pages.
template <class Use>
[[nodiscard]] auto with_bytes(const OpenedFile& file, const Use& use)
    -> decltype(use(std::span<const std::byte>())) {
  constexpr std::size_t largest_copy = 64 * 1024;
  if (file.identity.size == 0) return use(std::span<const std::byte>());
  if (file.identity.size > largest_copy) {
    TENON_TRY(const MappedFile mapped,
              MappedFile::map(file.descriptor.get(), file.identity.size, file.path));
    return use(mapped.bytes());
  }
  const auto size = static_cast<std::size_t>(file.identity.size);
  const std::unique_ptr<std::byte[]> buffer(new std::byte[size]);
  // Fewer where another process cut it short; the rest is judged.
  const std::ptrdiff_t done = read_at(file.descriptor.get(), {buffer.get(), size}, 0);
  if (done < 0) return error(Error::AccessFailed, path_text(file.path), ": ", std::strerror(errno));
  return use(std::span<const std::byte>(buffer.get(), static_cast<std::size_t>(done)));
}

/// Reads the record of the plugin in a file that is open already. Fails as the other two.
[[nodiscard]] inline Result<PluginRecord> peek(const OpenedFile& file) {
  return with_bytes(
      file, [&](std::span<const std::byte> bytes) { return peek(bytes, path_text(file.path)); });
}

}  // namespace tenon::host
