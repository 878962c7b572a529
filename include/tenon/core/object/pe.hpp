// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tenon/core/concat.hpp"
#include "tenon/core/file_bytes.hpp"
#include "tenon/core/object/pe_header.hpp"
#include "tenon/core/result.hpp"

/// Finds a plugin's object in a DLL of Windows (PE, of 32 or 64 bits).
///
/// It searches as GetProcAddress does: headers, export directory, a binary search among the sorted
/// names, the address. Layouts come from Microsoft's "PE Format" and from <winnt.h>.
namespace tenon { inline namespace TENON_RELEASE { namespace detail::pe {

inline constexpr std::uint64_t export_directory_size = 40;

/// Most sections of a DLL, as in the loader of Windows XP; linkers write about ten. Each address
/// that is looked up costs a pass over them.
inline constexpr std::uint32_t max_sections = 96;

template <class... Pieces>
[[nodiscard]] Status malformed(const Pieces&... pieces) {
  return error(Error::InvalidArgument, "is a malformed PE file: ", pieces...);
}

/// A DLL whose sections are all inside the file.
class PeImage {
 public:
  static Result<PeImage> open(FileBytes file, std::uint32_t machine) {
    PeImage image;
    image.file_ = file;
    image.headers_ = Headers::of(file);
    const Headers& headers = image.headers_;
    if (headers.coff.empty() || !headers.is_dll() || headers.machine() != machine) {
      return error(Error::InvalidArgument, "is ", describe(file), ", expected a Windows DLL for ",
                   machine_name(machine));
    }
    if (const auto magic = headers.optional.u16(0); magic != 0x20b && magic != 0x10b) {
      return malformed("its optional header has the number ", magic,
                       ", expected 267 (PE32) or 523 (PE32+)");
    }
    const std::uint64_t count = headers.num_sections();
    if (count > max_sections) {
      return malformed("it has ", count, " sections, expected at most ", max_sections);
    }
    if (headers.sections.size() != count * section_header_size) {
      return malformed("the headers of its ", count, " sections are not in the file");
    }
    for (std::uint64_t at = 0; at < headers.sections.size(); at += section_header_size) {
      const std::uint64_t size = headers.sections.u32(at + 16);
      const std::uint64_t offset = headers.sections.u32(at + 20);
      if (size == 0 || file.holds(offset, size)) continue;
      return error(Error::InvalidArgument, "is a truncated PE file of ", file.size(),
                   " bytes: section ", at / section_header_size, " has ", size, " bytes at ",
                   offset);
    }
    return image;
  }

  /// A part of the image, by addresses that are relative to its begin.
  struct Range {
    std::uint32_t address = 0;
    std::uint32_t size = 0;
    [[nodiscard]] bool holds(std::uint32_t other) const noexcept {
      return other >= address && other - address < size;
    }
  };

  /// Where the export directory is; a size of 0 where there is none.
  [[nodiscard]] Range exports() const noexcept {
    const std::uint64_t directories = headers_.is_wide() ? 112 : 96;
    if (headers_.optional.u32(directories - 4) == 0) return {};
    return {headers_.optional.u32(directories), headers_.optional.u32(directories + 4)};
  }

  /// The file's bytes from `address` to the end of the section around it; empty when no section has
  /// bytes in the file there.
  [[nodiscard]] FileBytes at_address(std::uint32_t address) const noexcept {
    const FileBytes sections = headers_.sections;
    for (std::uint64_t at = 0; at < sections.size(); at += section_header_size) {
      const std::uint32_t begin = sections.u32(at + 12);
      const std::uint32_t in_memory = sections.u32(at + 8);
      const std::uint32_t in_file = sections.u32(at + 16);
      // What is in the file beyond the size in memory is padding; a linker may leave that size out.
      const Range section{begin, in_memory == 0 ? in_file : std::min(in_memory, in_file)};
      if (!section.holds(address)) continue;
      return file_.part(sections.u32(at + 20), section.size).part(address - begin);
    }
    return {};
  }

 private:
  FileBytes file_;
  Headers headers_;
};

/// Address of the export `name`, relative to the image's begin; nothing when there is none.
inline Result<std::optional<std::uint32_t>> find_export(const PeImage& image,
                                                        std::string_view name) {
  const PeImage::Range range = image.exports();
  if (range.size == 0) return std::optional<std::uint32_t>();
  const FileBytes directory = image.at_address(range.address);
  if (directory.size() < export_directory_size) {
    return malformed("its export directory at address ", range.address, " is not in the file");
  }
  const std::uint32_t num_addresses = directory.u32(20);
  const std::uint32_t num_names = directory.u32(24);
  const FileBytes addresses = image.at_address(directory.u32(28));
  const FileBytes names = image.at_address(directory.u32(32));
  const FileBytes ordinals = image.at_address(directory.u32(36));
  if (!addresses.holds(0, std::uint64_t{num_addresses} * 4) ||
      !names.holds(0, std::uint64_t{num_names} * 4) ||
      !ordinals.holds(0, std::uint64_t{num_names} * 2)) {
    return malformed("its tables of ", num_addresses, " exported addresses and ", num_names,
                     " names are not in the file");
  }
  std::uint32_t first = 0, last = num_names;
  while (first < last) {
    const std::uint32_t middle = first + (last - first) / 2;
    // One character more than `name` has, so that a longer one differs.
    const std::string_view found =
        image.at_address(names.u32(std::uint64_t{middle} * 4)).part(0, name.size() + 1).text();
    const int order = found.substr(0, found.find('\0')).compare(name);
    if (order == 0) {
      const std::uint32_t index = ordinals.u16(std::uint64_t{middle} * 2);
      if (index >= num_addresses) {
        return malformed(name, " has the number ", index, " of ", num_addresses,
                         " exported addresses");
      }
      const std::uint32_t address = addresses.u32(std::uint64_t{index} * 4);
      if (range.holds(address)) {
        return error(Error::InvalidArgument, "forwards the export ", name,
                     " to another DLL, expected a data object of its own");
      }
      return std::optional<std::uint32_t>(address);
    }
    (order < 0 ? first : last) = order < 0 ? middle + 1 : middle;
  }
  return std::optional<std::uint32_t>();
}

/// The bytes from the data object `name` to the end of its section: PE does not record sizes.
///
/// `machine` is the machine number that the file must be for. Nothing in the file is trusted; the
/// time is bounded by a few passes over the section headers. Failures do not name the file.
inline Result<std::span<const std::byte>> find_object(FileBytes file, std::uint32_t machine,
                                                      std::string_view name) {
  TENON_TRY(const PeImage image, PeImage::open(file, machine));
  TENON_TRY(const auto address, find_export(image, name));
  if (!address) {
    return error(Error::InvalidArgument, "exports no symbol ", name,
                 ", expected one: it is a DLL but not a plugin");
  }
  const FileBytes found = image.at_address(*address);
  if (found.empty()) {
    return malformed("the object ", name, " at address ", *address, " is not in the file");
  }
  return found.bytes();
}

}}}  // namespace tenon::TENON_RELEASE::detail::pe
