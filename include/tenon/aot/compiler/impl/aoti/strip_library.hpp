// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/aot/compiler/aoti/strip_library.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/elf/elf_class.hpp"
#include "tenon/core/elf/elf_image.hpp"
#include "tenon/core/file_bytes.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

namespace detail {

/// Removes the sections of one ELF file of 64 bits that are not loaded. Layouts: System V gABI.
class LibraryStripper {
 public:
  explicit LibraryStripper(FileBytes library) : file_(library), headers_(library) {}

  /// Empty when there is nothing to remove.
  [[nodiscard]] Result<std::vector<std::byte>> strip() {
    if (headers_.header().section_headers == 0) return std::vector<std::byte>();
    if (headers_.num_sections() == 0) {
      return error(Error::InvalidProgram, "its section headers are not in the file");
    }
    TENON_RETURN_IF_ERROR(read_sections());
    if (!has_symbols_) return std::vector<std::byte>();
    TENON_RETURN_IF_ERROR(check_segments());
    if (end_of_all_ < file_.size()) {
      return error(Error::NotSupported, "it has ", file_.size() - end_of_all_,
                   " bytes behind its sections");
    }
    return make();
  }

 private:
  Status read_sections() {
    end_of_all_ = headers_.header().section_headers + headers_.section_table().size();
    end_ = elf.file_header_size();
    bool behind_loaded = false;
    for (std::uint64_t i = 0; i < headers_.num_sections(); ++i) {
      const ElfClass::Section section = headers_.section(i);
      const bool has_bytes = i != 0 && section.type != ElfClass::sht_nobits;
      if (has_bytes && !file_.holds(section.offset, section.size)) {
        return error(Error::InvalidProgram, "section ", i, " is not in the file of ", file_.size(),
                     " bytes");
      }
      const std::uint64_t end = has_bytes ? section.offset + section.size : 0;
      end_of_all_ = std::max(end_of_all_, end);
      if (i == 0 || (section.flags & ElfClass::shf_alloc) != 0) {
        if (behind_loaded) {
          return error(Error::NotSupported, "section ", i,
                       " is loaded and follows a section that is not");
        }
        num_kept_ = i + 1;
        end_ = std::max(end_, end);
        continue;
      }
      behind_loaded = true;
      const std::string_view name = headers_.section_name(section);
      has_symbols_ = has_symbols_ || section.type == ElfClass::sht_symtab ||
                     name.starts_with(".debug_") || name.starts_with(".zdebug_");
    }
    return ok();
  }

  /// Everything that a loader reads is kept.
  Status check_segments() {
    const ElfClass::FileHeader& header = headers_.header();
    if (headers_.num_segments() != header.num_program_headers) {
      return error(Error::InvalidProgram, "its program headers are not in the file");
    }
    end_ = std::max(end_, header.program_headers + headers_.num_segments() * elf.segment_size());
    for (std::uint64_t i = 0; i < headers_.num_segments(); ++i) {
      const ElfClass::Segment segment = headers_.segment(i);
      if (!file_.holds(segment.offset, segment.file_size)) {
        return error(Error::InvalidProgram, "segment ", i, " is not in the file");
      }
      if (segment.file_size != 0) end_ = std::max(end_, segment.offset + segment.file_size);
    }
    for (std::uint64_t i = 0; i < num_kept_; ++i) {
      const ElfClass::Section section = headers_.section(i);
      const bool has_info = (section.flags & ElfClass::shf_info_link) != 0;
      if (section.link < num_kept_ && (!has_info || section.info < num_kept_)) continue;
      return error(Error::NotSupported, "section ", i, " needs a section that is not loaded");
    }
    return ok();
  }

  template <class Number>
  static void put(std::vector<std::byte>& out, std::size_t at, Number number) {
    for (std::size_t i = 0; i < sizeof number; ++i) {
      out[at + i] = static_cast<std::byte>(number >> (8 * i));
    }
  }

  [[nodiscard]] std::vector<std::byte> make() const {
    std::string names(1, '\0');
    std::vector<std::uint32_t> name_at;
    const auto add_name = [&](std::string_view name) {
      name_at.push_back(static_cast<std::uint32_t>(name.empty() ? 0 : names.size()));
      if (!name.empty()) names.append(name).push_back('\0');
    };
    for (std::uint64_t i = 0; i < num_kept_; ++i) {
      add_name(headers_.section_name(headers_.section(i)));
    }
    add_name(".shstrtab");

    const auto end = static_cast<std::size_t>(end_);
    const auto section_size = static_cast<std::size_t>(elf.section_size());
    const auto num_kept = static_cast<std::size_t>(num_kept_);
    const std::size_t headers = (end + names.size() + 7) / 8 * 8;
    std::vector<std::byte> out(headers + (num_kept + 1) * section_size);
    std::memcpy(out.data(), file_.bytes().data(), end);
    std::memcpy(out.data() + end, names.data(), names.size());
    std::memcpy(out.data() + headers, headers_.section_table().bytes().data(),
                num_kept * section_size);
    for (std::size_t i = 0; i < num_kept; ++i) put(out, headers + i * section_size, name_at[i]);
    const std::size_t last = headers + num_kept * section_size;
    put(out, last, name_at[num_kept]);
    put(out, last + 4, std::uint32_t{ElfClass::sht_strtab});
    put(out, last + 24, static_cast<std::uint64_t>(end));
    put(out, last + 32, static_cast<std::uint64_t>(names.size()));
    put(out, last + 48, std::uint64_t{1});  // Alignment.
    put(out, 40, static_cast<std::uint64_t>(headers));
    put(out, 60, static_cast<std::uint16_t>(num_kept + 1));
    put(out, 62, static_cast<std::uint16_t>(num_kept));
    return out;
  }

  static constexpr ElfClass elf{};

  FileBytes file_;
  ElfHeaders headers_;
  std::uint64_t num_kept_ = 0;    // Sections, with the null one.
  std::uint64_t end_ = 0;         // Of what is kept.
  std::uint64_t end_of_all_ = 0;  // Of all sections and their headers.
  bool has_symbols_ = false;
};

}  // namespace detail

Result<SharedBytes> strip_library(const SharedBytes& library) {
  const FileBytes file(library.bytes());
  if (!is_elf64(file)) return library;
  TENON_TRY(std::vector<std::byte> stripped, detail::LibraryStripper(file).strip());
  return stripped.empty() ? library : SharedBytes(std::move(stripped));
}

}}}  // namespace tenon::TENON_RELEASE::aot
