// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "boundary/descriptors.hpp"
#include "tenon/core/result.hpp"

namespace tenon::isolated {

/// Memory for the tensors of calls: mapped here, and a file to read outputs from, which the worker
/// maps as well.
class Arena {
 public:
  [[nodiscard]] std::byte* data() const noexcept { return mapping_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return mapping_.size(); }
  [[nodiscard]] int file() const noexcept { return file_.get(); }

  /// Makes it hold `size` bytes. Its descriptor, which is to be sent, when it is a new one,
  /// otherwise -1.
  [[nodiscard]] Result<int> grow(std::uint64_t size) {
    if (size <= mapping_.size()) return -1;
    constexpr std::uint64_t page = 4096;
    if (size > max_size) {
      return error(Error::MemoryAllocationFailed, "arguments of ", size, " bytes");
    }
    const auto rounded = static_cast<std::size_t>((size + page - 1) / page * page);
    TENON_TRY(host::FileDescriptor file, memory_file("tenon-arguments", rounded));
    TENON_TRY(Mapping mapping, Mapping::of(file.get(), rounded, true));
    mapping_ = std::move(mapping);
    file_ = std::move(file);
    return file_.get();
  }

 private:
  static constexpr std::uint64_t max_size = std::uint64_t{1} << 42;

  Mapping mapping_;
  host::FileDescriptor file_;
};

}  // namespace tenon::isolated
