// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tenon/core/bytes.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/elf/elf_class.hpp"
#include "tenon/core/file_bytes.hpp"
#include "tenon/core/result.hpp"

/// Reads ELF files: plugins and what they need, libraries of compiled models. Nothing in a file is
/// trusted: an offset is checked where it is read, and the time is linear in the file.
namespace tenon { inline namespace TENON_RELEASE {

/// Whether a file begins as every ELF file does.
[[nodiscard]] inline bool is_elf(FileBytes file) noexcept {
  return file.big_endian<std::uint32_t>(0) == 0x7f454c46;
}

/// Whether a file begins as a little-endian ELF file of 64 bits and has all of its file header.
[[nodiscard]] inline bool is_elf64(FileBytes file) noexcept {
  return is_elf(file) && file.u8(4) == 2 && file.u8(5) == 1 &&
         file.size() >= ElfClass().file_header_size();
}

/// The number of the machine (`e_machine`) that a little-endian ELF file of 64 bits is for; nothing
/// for other bytes.
[[nodiscard]] inline std::optional<std::uint16_t> elf64_machine(Bytes file) noexcept {
  const FileBytes bytes(file);
  return is_elf64(bytes) ? std::optional(bytes.u16(18)) : std::nullopt;
}

/// The headers of an ELF file of one width. A table of headers whose entries have another size than
/// is known, or that is not all in the file, has none.
class ElfHeaders {
 public:
  ElfHeaders() = default;
  explicit ElfHeaders(FileBytes file, ElfClass elf_class = {}) noexcept
      : file_(file), class_(elf_class), header_(elf_class.file_header(file)) {
    if (header_.program_header_size == class_.segment_size()) {
      segments_ =
          table(header_.program_headers, header_.num_program_headers, class_.segment_size());
    }
    if (header_.section_header_size == class_.section_size()) {
      sections_ = table(header_.section_headers, header_.num_sections, class_.section_size());
      section_names_ = bytes_of(section(header_.section_of_names));
    }
  }

  [[nodiscard]] FileBytes file() const noexcept { return file_; }
  [[nodiscard]] const ElfClass& elf_class() const noexcept { return class_; }
  [[nodiscard]] const ElfClass::FileHeader& header() const noexcept { return header_; }

  [[nodiscard]] std::uint64_t num_segments() const noexcept {
    return segments_.size() / class_.segment_size();
  }
  [[nodiscard]] ElfClass::Segment segment(std::uint64_t index) const noexcept {
    return class_.segment(segments_, index);
  }

  /// The headers of sections, which are not needed to load a library and may be missing.
  [[nodiscard]] FileBytes section_table() const noexcept { return sections_; }
  [[nodiscard]] std::uint64_t num_sections() const noexcept {
    return sections_.size() / class_.section_size();
  }
  [[nodiscard]] ElfClass::Section section(std::uint64_t index) const noexcept {
    return class_.section(sections_, index);
  }
  [[nodiscard]] FileBytes bytes_of(const ElfClass::Section& section) const noexcept {
    return file_.part(section.offset, section.size);
  }
  /// Empty for a name that is not in the file or has more than `longest` characters.
  [[nodiscard]] std::string_view section_name(const ElfClass::Section& section,
                                              std::uint64_t longest = 255) const noexcept {
    return section_names_.c_string(section.name, longest + 1).value_or("");
  }

 private:
  [[nodiscard]] FileBytes table(std::uint64_t offset, std::uint64_t count,
                                std::uint64_t size) const noexcept {
    return file_.holds(offset, count * size) ? file_.part(offset, count * size) : FileBytes();
  }

  FileBytes file_;
  ElfClass class_;
  ElfClass::FileHeader header_{};
  FileBytes segments_;
  FileBytes sections_;
  FileBytes section_names_;
};

/// A failure of a file whose structures contradict each other. As all failures of this folder, it
/// does not name the file.
[[nodiscard, gnu::cold]] inline Status malformed_elf(detail::Piece a, detail::Piece b = "",
                                                     detail::Piece c = "", detail::Piece d = "",
                                                     detail::Piece e = "", detail::Piece f = "",
                                                     detail::Piece g = "") {
  return error(Error::InvalidArgument, "is a malformed ELF file: ", a, b, c, d, e, f, g);
}

/// The parts of a library that the dynamic loader reads: segments and the dynamic section. All
/// bytes of the loaded segments are in the file.
class ElfImage {
 public:
  /// The file header must have been checked: width, byte order, machine and type are not looked at.
  /// `file` must outlive the image.
  ///
  /// errors: InvalidArgument for a file that is cut off or has no dynamic section.
  [[nodiscard]] static Result<ElfImage> open(FileBytes file, ElfClass elf_class) {
    ElfImage image;
    image.headers_ = ElfHeaders(file, elf_class);
    TENON_RETURN_IF_ERROR(image.read_segments());
    TENON_RETURN_IF_ERROR(image.read_dynamic());
    return image;
  }

  [[nodiscard]] const ElfHeaders& headers() const noexcept { return headers_; }
  [[nodiscard]] FileBytes file() const noexcept { return headers_.file(); }
  [[nodiscard]] const ElfClass& elf_class() const noexcept { return headers_.elf_class(); }

  /// All program headers, in their order. The PT_LOAD segments are inside of the file.
  [[nodiscard]] const std::vector<ElfClass::Segment>& segments() const noexcept {
    return segments_;
  }

  /// Entries of the dynamic section, in their order, without its end (DT_NULL).
  [[nodiscard]] const std::vector<ElfClass::DynamicEntry>& entries() const noexcept {
    return entries_;
  }
  /// Whether the dynamic section ends with DT_NULL, and not with its segment.
  [[nodiscard]] bool entries_have_end() const noexcept { return entries_have_end_; }
  /// The value of the last entry with a tag, which the dynamic loader takes.
  [[nodiscard]] std::optional<std::uint64_t> value_of(std::uint64_t tag) const noexcept {
    for (std::size_t i = entries_.size(); i-- != 0;) {
      if (entries_[i].tag == tag) return entries_[i].value;
    }
    return std::nullopt;
  }
  /// Offset in the file of the dynamic section.
  [[nodiscard]] std::uint64_t entries_at() const noexcept { return offset_of(dynamic_); }

  /// The segment that is loaded around an address; null when none is. Of two the later one, which
  /// the dynamic loader maps over the other.
  [[nodiscard]] const ElfClass::Segment* loaded_at(std::uint64_t address) const noexcept {
    for (std::size_t i = loads_.size(); i-- != 0;) {
      if (address - loads_[i].address < loads_[i].memory_size) return &loads_[i];
    }
    return nullptr;
  }

  /// The file's bytes from `address` to the end of the loaded segment around it; empty when no
  /// segment has bytes in the file there.
  [[nodiscard]] FileBytes at_address(std::uint64_t address) const noexcept {
    const ElfClass::Segment* const found = loaded_at(address);
    if (!found) return {};
    return file()
        .part(found->offset, std::min(found->file_size, found->memory_size))
        .part(address - found->address);
  }

  /// Offset in the file of a part of it that is not empty, as `at_address` returns it.
  [[nodiscard]] std::uint64_t offset_of(FileBytes part) const noexcept {
    return static_cast<std::uint64_t>(part.bytes().data() - file().bytes().data());
  }

  /// Calls `visit(type, content)` for the notes of GNU in a segment, which lowers `notes_left`:
  /// headers that all cover one large part of the file would otherwise have it read once for each.
  template <class Visit>
  void for_each_gnu_note(const ElfClass::Segment& segment, std::uint64_t& notes_left,
                         const Visit& visit) const {
    const FileBytes notes = file().part(segment.offset, segment.file_size);
    const auto padded = [](std::uint64_t size) { return (size + 3) / 4 * 4; };
    for (std::uint64_t at = 0; at + 12 <= notes.size() && notes_left != 0; --notes_left) {
      const std::uint64_t name = at + 12;
      const std::uint64_t content = name + padded(notes.u32(at));
      const std::uint64_t size = notes.u32(at + 4);
      if (notes.c_string(name, 4) == "GNU" && notes.holds(content, size)) {
        visit(notes.u32(at + 8), notes.part(content, size));
      }
      at = content + padded(size);
    }
  }

 protected:
  // An editor changes them together with the file.
  std::vector<ElfClass::Segment> segments_;
  std::vector<ElfClass::DynamicEntry> entries_;

 private:
  /// Bounds the work on a hostile file.
  static constexpr std::uint64_t max_dynamic_entries = 65536;
  /// Linkers write about four. Each address that is looked up costs a pass over them.
  static constexpr std::size_t max_loaded_segments = 128;

  Status read_segments() {
    const ElfClass::FileHeader& header = headers_.header();
    if (header.program_header_size != elf_class().segment_size()) {
      return malformed_elf("its program headers have ", header.program_header_size,
                           " bytes, expected ", elf_class().segment_size());
    }
    if (headers_.num_segments() != header.num_program_headers) {
      return error(Error::InvalidArgument, "is a truncated ELF file of ", file().size(),
                   " bytes whose ", header.num_program_headers, " program headers begin at ",
                   header.program_headers);
    }
    segments_.reserve(header.num_program_headers);
    for (std::uint64_t i = 0; i < header.num_program_headers; ++i) {
      const ElfClass::Segment& segment = segments_.emplace_back(headers_.segment(i));
      if (segment.type != ElfClass::pt_load) continue;
      if (!file().holds(segment.offset, segment.file_size)) {
        return error(Error::InvalidArgument, "is a truncated ELF file of ", file().size(),
                     " bytes: segment ", i, " has ", segment.file_size, " bytes at ",
                     segment.offset);
      }
      loads_.push_back(segment);
    }
    if (loads_.size() > max_loaded_segments) {
      return malformed_elf("it has ", loads_.size(), " segments to load, expected at most ",
                           max_loaded_segments);
    }
    return ok();
  }

  Status read_dynamic() {
    // Of several, the dynamic loader takes the last one.
    const auto segment =
        std::find_if(segments_.rbegin(), segments_.rend(),
                     [](const ElfClass::Segment& one) { return one.type == ElfClass::pt_dynamic; });
    if (segment == segments_.rend()) {
      return error(Error::InvalidArgument,
                   "is an ELF file without a dynamic section (statically linked, or only debug "
                   "information), expected a shared library");
    }
    dynamic_ = at_address(segment->address).part(0, segment->file_size);
    if (dynamic_.empty()) {
      return malformed_elf(
          "its dynamic section is not in the file (one with only debug information has none)");
    }
    const std::uint64_t count = dynamic_.size() / elf_class().dynamic_size();
    if (count > max_dynamic_entries) {
      return malformed_elf("its dynamic section has ", count, " entries, expected at most ",
                           max_dynamic_entries);
    }
    for (std::uint64_t i = 0; i < count && !entries_have_end_; ++i) {
      const ElfClass::DynamicEntry entry = elf_class().dynamic_entry(dynamic_, i);
      entries_have_end_ = entry.tag == ElfClass::dt_null;
      if (!entries_have_end_) entries_.push_back(entry);
    }
    return ok();
  }

  ElfHeaders headers_;
  std::vector<ElfClass::Segment> loads_;  ///< The PT_LOAD segments, in their order.
  FileBytes dynamic_;
  bool entries_have_end_ = false;
};

}}  // namespace tenon::TENON_RELEASE
