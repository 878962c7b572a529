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

/// The golden programs, compiled once by this backend's ahead-of-time half. They detect a later
/// version that no longer runs them or computes other numbers.
inline std::filesystem::path golden_directory() { return MY_NPU_GOLDEN; }

/// Their code. From a, b and c it computes relu(a * b + c) and, as a second output, that minus c.
inline Code golden_code() {
  return {3, {{Op::mul, 0, 1}, {Op::add, 3, 2}, {Op::relu, 4, 4}, {Op::sub, 5, 2}}, {5, 6}};
}

/// The bytes of a file; empty when it cannot be read.
inline std::vector<std::byte> read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::byte> out;
  for (std::istreambuf_iterator<char> at(file), end; at != end; ++at) {
    out.push_back(static_cast<std::byte>(*at));
  }
  return out;
}

}  // namespace my_npu::test
