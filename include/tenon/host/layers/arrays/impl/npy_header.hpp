// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/loader/files/quoted.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// The dictionary at the front of a .npy file.
struct NpyHeader {
  char kind = 0;
  std::size_t item_size = 0;
  bool big_endian = false;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::uint64_t num_elements = 0;  ///< Product of the shape.
  std::uint64_t nbytes = 0;        ///< Bytes of the data.
};

/// Bytes before the dictionary at most: magic, version, and a length of two or four bytes.
inline constexpr std::size_t npy_preamble_size = 12;

/// Offset and size of the dictionary.
struct NpyPreamble {
  std::size_t header_offset = 0;
  std::size_t header_size = 0;
};

namespace detail {

inline constexpr std::string_view npy_magic = "\x93NUMPY";

inline Status damaged_npy(std::string_view what) { return error(Error::InvalidExternalData, what); }

// Reads the part of Python's literal syntax that NumPy writes into headers.
class NpyHeaderReader {
 public:
  explicit NpyHeaderReader(std::string_view text) : text_(text) {}

  [[nodiscard]] bool take(char c) {
    skip_space();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }

  [[nodiscard]] bool take(std::string_view word) {
    skip_space();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }

  /// A string in either kind of quotes. NumPy's strings here need no escapes.
  [[nodiscard]] std::optional<std::string_view> take_string() {
    skip_space();
    if (text_.empty() || (text_.front() != '\'' && text_.front() != '"')) return std::nullopt;
    const std::size_t end = text_.find(text_.front(), 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view value = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return value;
  }

  [[nodiscard]] std::optional<bool> take_bool() {
    if (take("True")) return true;
    if (take("False")) return false;
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::int64_t> take_size() {
    skip_space();
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (code != std::errc() || value < 0) return std::nullopt;
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    // Python 2 wrote long integers as "3L".
    if (text_.starts_with('L')) text_.remove_prefix(1);
    return value;
  }

  [[nodiscard]] std::optional<std::vector<std::int64_t>> take_shape() {
    std::vector<std::int64_t> shape;
    if (!take('(')) return std::nullopt;
    while (!take(')')) {
      const auto size = take_size();
      if (!size) return std::nullopt;
      shape.push_back(*size);
      if (!take(',')) {
        // "(3)" is a number in Python and not a tuple.
        if (shape.size() < 2 || !take(')')) return std::nullopt;
        break;
      }
    }
    return shape;
  }

  [[nodiscard]] bool at_end() {
    skip_space();
    return text_.empty();
  }

 private:
  void skip_space() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\n' ||
                              text_.front() == '\t' || text_.front() == '\r')) {
      text_.remove_prefix(1);
    }
  }

  std::string_view text_;
};

inline bool is_npy_type(char kind, std::size_t size) {
  switch (kind) {
    case 'b':
      return size == 1;
    case 'i':
    case 'u':
      return size == 1 || size == 2 || size == 4 || size == 8;
    case 'f':
      return size == 1 || size == 2 || size == 4 || size == 8;
    case 'c':
      return size == 8 || size == 16;
    case 'V':
      return size == 1 || size == 2 || size == 4;
    default:
      return false;
  }
}

inline Status parse_npy_descr(std::string_view descr, NpyHeader& header) {
  const auto unknown = [&] {
    return error(Error::NotSupported, "npy 'descr' is ", quoted(descr),
                 ", which is the type of no tensor; expected one like '<f4', '|b1' or '<V2'");
  };
  if (descr.size() < 3) return unknown();
  const char order = descr[0];
  if (order != '<' && order != '>' && order != '|' && order != '=') return unknown();
  std::size_t size = 0;
  const auto [end, code] = std::from_chars(descr.data() + 2, descr.data() + descr.size(), size);
  if (code != std::errc() || end != descr.data() + descr.size()) return unknown();
  if (!is_npy_type(descr[1], size)) return unknown();
  header.kind = descr[1];
  header.item_size = size;
  header.big_endian = order == '>';
  return ok();
}

// Multiplies up the shape. The product of the sizes alone must fit too: an empty array of 2^40 by
// 2^40 by 0 has no bytes but strides that overflow.
inline Status count_npy_elements(NpyHeader& header) {
  std::uint64_t product = 1;
  bool empty = false;
  for (const std::int64_t size : header.shape) {
    if (size == 0) {
      empty = true;
      continue;
    }
    constexpr auto limit = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (product > limit / header.item_size / static_cast<std::uint64_t>(size)) {
      return damaged_npy("npy 'shape' asks for more bytes than 64 bits can count");
    }
    product *= static_cast<std::uint64_t>(size);
  }
  header.num_elements = empty ? 0 : product;
  header.nbytes = header.num_elements * header.item_size;
  return ok();
}

}  // namespace detail

/// Reads magic, version and length from the file's first bytes (`npy_preamble_size` of them, or the
/// whole file when it is shorter).
[[nodiscard]] inline Result<NpyPreamble> parse_npy_preamble(std::string_view front,
                                                            std::uint64_t file_size) {
  if (!front.starts_with(detail::npy_magic)) {
    return detail::damaged_npy("not a .npy file: it does not begin with \\x93NUMPY");
  }
  if (front.size() < 10) return detail::damaged_npy("npy file ends inside its first 10 bytes");
  const auto byte = [&](std::size_t i) {
    return std::size_t{static_cast<unsigned char>(front[i])};
  };
  const std::size_t major = byte(6);
  const std::size_t minor = byte(7);
  if (major < 1 || major > 3 || minor != 0) {
    return error(Error::InvalidExternalData, "npy format version is ", major, ".", minor,
                 "; expected 1.0, 2.0 or 3.0");
  }
  NpyPreamble preamble;
  if (major == 1) {
    preamble.header_offset = 10;
    preamble.header_size = byte(8) | byte(9) << 8;
  } else {
    if (front.size() < 12) return detail::damaged_npy("npy file ends inside its first 12 bytes");
    preamble.header_offset = 12;
    preamble.header_size = byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  }
  if (preamble.header_size > file_size - preamble.header_offset) {
    return error(Error::InvalidExternalData, "npy header is ", preamble.header_size,
                 " bytes long; the file has ", file_size - preamble.header_offset,
                 " bytes after the length");
  }
  return preamble;
}

/// Reads the dictionary: the keys 'descr', 'fortran_order' and 'shape' in any order, each once, as
/// NumPy requires.
[[nodiscard]] inline Result<NpyHeader> parse_npy_header(std::string_view text) {
  const auto malformed = [&](std::string_view what) {
    return error(Error::InvalidExternalData, "npy header: ", what, ": ", quoted(text));
  };
  detail::NpyHeaderReader reader(text);
  NpyHeader header;
  bool has_descr = false;
  bool has_order = false;
  bool has_shape = false;
  std::string_view descr;
  if (!reader.take('{')) return malformed("no dictionary");
  while (!reader.take('}')) {
    const auto key = reader.take_string();
    if (!key || !reader.take(':')) return malformed("a key is missing");
    if (*key == "descr" && !has_descr) {
      has_descr = true;
      const auto value = reader.take_string();
      if (!value) {
        if (!reader.take('[')) return malformed("'descr' is not a text");
        return error(Error::NotSupported,
                     "npy 'descr' is a list of fields; a tensor has one type for all elements");
      }
      descr = *value;
    } else if (*key == "fortran_order" && !has_order) {
      has_order = true;
      const auto value = reader.take_bool();
      if (!value) return malformed("'fortran_order' is neither True nor False");
      header.fortran_order = *value;
    } else if (*key == "shape" && !has_shape) {
      has_shape = true;
      auto value = reader.take_shape();
      if (!value) return malformed("'shape' is not a tuple of sizes");
      header.shape = *std::move(value);
    } else {
      return malformed("a key is unknown or comes twice");
    }
    if (!reader.take(',')) {
      if (!reader.take('}')) return malformed("it does not end");
      break;
    }
  }
  if (!reader.at_end()) return malformed("there is more after the dictionary");
  if (!has_descr || !has_order || !has_shape) {
    return malformed("'descr', 'fortran_order' or 'shape' is missing");
  }
  TENON_RETURN_IF_ERROR(detail::parse_npy_descr(descr, header));
  TENON_RETURN_IF_ERROR(detail::count_npy_elements(header));
  return header;
}

}}}  // namespace tenon::TENON_RELEASE::host
