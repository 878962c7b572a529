// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "onednn/onednn.hpp"

namespace tenon::cpu_aoti::onednn {

/// Copies one argument into another format. Threads: one at a time.
class Reorder {
 public:
  /// errors: those of oneDNN.
  Status make(const Format& from, const Format& to);

  /// Bytes of an argument in either format.
  [[nodiscard]] std::int64_t from_nbytes() const noexcept { return from_nbytes_; }
  [[nodiscard]] std::int64_t to_nbytes() const noexcept { return to_nbytes_; }

  Status run(const std::byte* source, std::byte* target);

 private:
  Bound bound_;
  std::int64_t from_nbytes_ = 0;
  std::int64_t to_nbytes_ = 0;
};

}  // namespace tenon::cpu_aoti::onednn
