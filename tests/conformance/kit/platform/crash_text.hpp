// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance::platform {

/// Builds a line without allocating, which a handler of crashes must not do. What has no room is
/// left out.
class CrashText {
 public:
  CrashText& operator<<(std::string_view text) noexcept {
    used_ += text.copy(text_.data() + used_, text_.size() - used_);
    return *this;
  }
  /// Appends "0x1c".
  CrashText& hex(std::uintptr_t number) noexcept {
    *this << "0x";
    return digits(number);
  }
  /// Appends "1c".
  CrashText& digits(std::uintptr_t number) noexcept {
    bool leading = true;
    for (int shift = 8 * sizeof number - 4; shift >= 0; shift -= 4) {
      const unsigned digit = static_cast<unsigned>(number >> shift) & 0xF;
      if (leading && digit == 0 && shift != 0) continue;
      leading = false;
      *this << std::string_view("0123456789abcdef").substr(digit, 1);
    }
    return *this;
  }
  [[nodiscard]] std::string_view view() const noexcept { return {text_.data(), used_}; }

 private:
  std::array<char, 4608> text_;  // A path of 4096 bytes and the numbers before it.
  std::size_t used_ = 0;
};

/// A crash, as its handler knows it.
struct CrashFacts {
  std::string_view name;              ///< "SIGSEGV", "access violation".
  bool has_address = false;           ///< Of memory that could not be used.
  std::uintptr_t address = 0;         ///< When `has_address`.
  bool is_on_main_thread = true;      ///< Or the system does not say.
  const void* instruction = nullptr;  ///< The failed instruction; null where the system does not
                                      ///< say.
  const void* context = nullptr;      ///< The registers, as the system reports them.
};

/// Receives a crash, in the thread that crashed. Allocates nothing; where it writes a backtrace,
/// the unwinder may take the lock of the dynamic loader.
using OnCrash = void (*)(const CrashFacts&) noexcept;

}}}  // namespace tenon::TENON_RELEASE::conformance::platform
