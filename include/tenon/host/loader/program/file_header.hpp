// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tenon/core/file_bytes.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/files/quoted.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

static_assert(std::endian::native == std::endian::little,
              "programs are little-endian and are read in place");

/// Offsets and sizes of the parts of a `.pte` or `.ptd` file, in bytes. All parts are inside the
/// file.
struct FileParts {
  std::uint64_t flatbuffer_size = 0;  ///< The flatbuffer begins at 0 and includes the header.
  std::uint64_t segment_base = 0;     ///< Offset of the first segment.
  std::uint64_t segment_size = 0;     ///< Bytes that segments may use from there on.
};

/// Largest flatbuffer: its offsets are signed numbers of 32 bits.
inline constexpr std::uint64_t largest_flatbuffer = 0x7ffffffe;

/// Checks the parts of a file against its size.
inline Status check_parts(const FileParts& parts, std::uint64_t file_size, Error code) {
  if (parts.flatbuffer_size > file_size) {
    return error(code, "header: the flatbuffer has ", parts.flatbuffer_size,
                 " bytes, but the file has ", file_size, "; it may be truncated");
  }
  if (parts.flatbuffer_size > largest_flatbuffer) {
    return error(code, "the flatbuffer has ", parts.flatbuffer_size, " bytes, the format allows ",
                 largest_flatbuffer);
  }
  if (parts.segment_base > file_size || parts.segment_size > file_size - parts.segment_base) {
    return error(code, "header: segments of ", parts.segment_size, " bytes begin at ",
                 parts.segment_base, ", but the file has ", file_size,
                 " bytes; it may be truncated");
  }
  return ok();
}

/// The file identifier, bytes 4 to 7. "" when the file is too short to have one.
inline std::string_view file_identifier(FileBytes file) {
  return file.size() < 8 ? std::string_view() : file.part(4, 4).text();
}

/// Reads the head of a `.pte` file (ExecuTorch: schema/extended_header.cpp, Program::load).
///
/// The extended header is optional: "eh00" at byte 8, its length (u32, at least 24), program_size,
/// segment_base_offset, and, from length 32 on, segment_data_size (u64 each). Without it the whole
/// file is the flatbuffer, and segments have no bytes. Headers written before ExecuTorch 1.0 have
/// no segment_data_size; then, and when it is 0, segments may use the file to its end.
///
/// `file` is the whole file of `file_size` bytes, or its beginning: at least 64 bytes when the
/// file has them.
///
/// errors: InvalidProgram.
[[nodiscard]] inline Result<FileParts> read_program_header(FileBytes file,
                                                           std::uint64_t file_size) {
  constexpr std::uint64_t at = 8;
  constexpr std::uint32_t shortest = 24;
  constexpr std::uint32_t with_data_size = 32;
  const auto identifier = file_identifier(file);
  if (identifier.empty()) {
    return error(Error::InvalidProgram, "the file has ", file_size,
                 " bytes, too few for a program");
  }
  if (identifier != "ET12") {
    if (identifier.starts_with("ET")) {
      return error(Error::InvalidProgram, "incompatible version: the file identifier is ",
                   quoted(identifier), ", this host reads 'ET12'");
    }
    return error(Error::InvalidProgram, "not a program: the file identifier is ",
                 quoted(identifier), ", expected 'ET12'",
                 identifier == "FT01" ? " (this is a .ptd data file)" : "");
  }
  FileParts parts;
  if (file.part(at, 4).text() != "eh00") {
    parts = {file_size, file_size, 0};
  } else {
    const auto length = file.u32(at + 4);
    if (length < shortest) {
      return error(Error::InvalidProgram, "extended header: length is ", length,
                   ", expected at least ", shortest);
    }
    if (length > file_size - at) {
      return error(Error::InvalidProgram, "extended header: its ", length,
                   " bytes are not in the file of ", file_size, "; it may be truncated");
    }
    const auto base = file.u64(at + 16);
    const auto data_size = length >= with_data_size ? file.u64(at + 24) : 0;
    parts.flatbuffer_size = file.u64(at + 8);
    if (base == 0 && data_size != 0) {
      return error(Error::InvalidProgram, "extended header: segment_data_size is ", data_size,
                   ", but segment_base_offset is 0");
    }
    if (base != 0 && base < parts.flatbuffer_size) {
      return error(Error::InvalidProgram, "extended header: segment_base_offset ", base,
                   " is inside the flatbuffer of ", parts.flatbuffer_size, " bytes");
    }
    parts.segment_base = base == 0 ? file_size : base;
    parts.segment_size = data_size;
    if (data_size == 0 && parts.segment_base < file_size) {
      parts.segment_size = file_size - parts.segment_base;
    }
  }
  TENON_RETURN_IF_ERROR(check_parts(parts, file_size, Error::InvalidProgram));
  return parts;
}

/// Reads the head of a `.ptd` file (ExecuTorch: extension/flat_tensor/serialize/
/// flat_tensor_header.cpp, FlatTensorDataMap::load).
///
/// "FH01" at byte 8, its length (u32, at least 40), flatbuffer_offset, flatbuffer_size,
/// segment_base_offset, segment_data_size (u64 each). The header is put into the flatbuffer, behind
/// the identifier: flatbuffer_offset is the header's length, and the flatbuffer with it occupies
/// the first flatbuffer_offset + flatbuffer_size bytes.
///
/// errors: InvalidExternalData.
[[nodiscard]] inline Result<FileParts> read_data_file_header(FileBytes file) {
  constexpr std::uint64_t at = 8;
  constexpr std::uint32_t shortest = 40;
  constexpr auto code = Error::InvalidExternalData;
  const auto identifier = file_identifier(file);
  if (identifier.empty()) {
    return error(code, "the file has ", file.size(), " bytes, too few for a data file");
  }
  if (identifier != "FT01") {
    if (identifier.starts_with("FT")) {
      return error(code, "incompatible version: the file identifier is ", quoted(identifier),
                   ", this host reads 'FT01'");
    }
    return error(code, "not a data file: the file identifier is ", quoted(identifier),
                 ", expected 'FT01'",
                 identifier.starts_with("ET") ? " (this is a .pte program)" : "");
  }
  if (file.part(at, 4).text() != "FH01") {
    return error(code, "header: byte 8 begins ", quoted(file.part(at, 4).text()),
                 ", expected 'FH01'");
  }
  const auto length = file.u32(at + 4);
  if (length < shortest) {
    return error(code, "header: length is ", length, ", expected at least ", shortest);
  }
  if (!file.holds(at, length)) {
    return error(code, "header: its ", length, " bytes are not in the file of ", file.size(),
                 "; it may be truncated");
  }
  const auto offset = file.u64(at + 8);
  const auto size = file.u64(at + 16);
  if (!file.holds(offset, size)) {
    return error(code, "header: the flatbuffer has ", size, " bytes at ", offset,
                 ", but the file has ", file.size(), "; it may be truncated");
  }
  const FileParts parts{offset + size, file.u64(at + 24), file.u64(at + 32)};
  if (parts.segment_base < parts.flatbuffer_size) {
    return error(code, "header: segment_base_offset ", parts.segment_base,
                 " is inside the flatbuffer of ", parts.flatbuffer_size, " bytes");
  }
  TENON_RETURN_IF_ERROR(check_parts(parts, file.size(), code));
  return parts;
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
