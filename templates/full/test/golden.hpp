// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "common/blob.hpp"

namespace my_npu::test {

/// The golden programs: made once by this backend's ahead-of-time half and kept, so that a later
/// version which does not run them any more, or not with the same numbers, is noticed.
inline std::filesystem::path golden_folder() { return MY_NPU_GOLDEN; }

/// What they compute from a, b and c: relu(a * b + c) and, as a second output, that minus c.
inline Code golden_code() {
  return {3, {{Op::mul, 0, 1}, {Op::add, 3, 2}, {Op::relu, 4, 4}, {Op::sub, 5, 2}}, {5, 6}};
}

/// The bytes of a file; none when it cannot be read.
inline std::vector<std::byte> read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::byte> out;
  for (std::istreambuf_iterator<char> at(file), end; at != end; ++at) {
    out.push_back(static_cast<std::byte>(*at));
  }
  return out;
}

}  // namespace my_npu::test
