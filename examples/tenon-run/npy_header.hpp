// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tenon/core/result.hpp"

namespace tenon::run {

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

/// Where the dictionary lies.
struct NpyPreamble {
  std::size_t header_offset = 0;
  std::size_t header_size = 0;
};

/// Reads magic, version and length from the file's first bytes (`npy_preamble_size` of them, or the
/// whole file when it is shorter).
[[nodiscard]] Result<NpyPreamble> parse_npy_preamble(std::string_view front,
                                                     std::uint64_t file_size);

/// Reads the dictionary: the keys 'descr', 'fortran_order' and 'shape' in any order, each once, as
/// NumPy requires.
[[nodiscard]] Result<NpyHeader> parse_npy_header(std::string_view text);

}  // namespace tenon::run
