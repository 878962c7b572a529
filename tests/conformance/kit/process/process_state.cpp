// SPDX-License-Identifier: MIT
#include "kit/process/process_state.hpp"

#include <algorithm>
#include <cfenv>
#include <clocale>
#include <cstddef>
#include <string_view>
#include <utility>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "tenon/core/concat.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace {

/// Rounding, traps and the treatment of subnormal numbers, without the flags that were raised.
std::uint32_t floating_point_control() noexcept {
#if defined(__x86_64__)
  return _mm_getcsr() & ~0x3Fu;
#elif defined(__aarch64__)
  std::uint64_t control;
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  return static_cast<std::uint32_t>(control);
#else
  return static_cast<std::uint32_t>(std::fegetround());
#endif
}
void set_floating_point_control(std::uint32_t control) noexcept {
#if defined(__x86_64__)
  _mm_setcsr(control | (_mm_getcsr() & 0x3Fu));
#elif defined(__aarch64__)
  const std::uint64_t wide = control;
  __asm__ volatile("msr fpcr, %0" : : "r"(wide));
#else
  std::fesetround(static_cast<int>(control));
#endif
}
/// The changed parts of the floating-point control, each after "; ".
std::string control_difference([[maybe_unused]] std::uint32_t before,
                               [[maybe_unused]] std::uint32_t after) {
#if defined(__x86_64__)
  const std::uint32_t changed = before ^ after;
  std::string out;
  if (changed & 0x8000) out += "; subnormal results become 0, or no longer do";
  if (changed & 0x0040) out += "; subnormal inputs count as 0, or no longer do";
  if (changed & 0x6000) out += "; the rounding mode changed";
  if (changed & 0x1F80) out += "; the exceptions that trap changed";
  return out;
#else
  return {};
#endif
}

/// The first line that only one of the texts has.
std::string first_difference(std::string_view before, std::string_view after) {
  const auto lacks = [](std::string_view text, std::string_view line) {
    return concat("\n", text).find(concat("\n", line, "\n")) == std::string::npos;
  };
  const auto first_new = [&](std::string_view from, std::string_view other) {
    for (std::size_t begin = 0; begin < from.size();) {
      const std::size_t end = std::min(from.find('\n', begin), from.size());
      const std::string_view line = from.substr(begin, end - begin);
      if (!line.empty() && lacks(other, line)) return line;
      begin = end + 1;
    }
    return std::string_view();
  };
  if (const auto line = first_new(after, before); !line.empty()) return concat("new: ", line);
  if (const auto line = first_new(before, after); !line.empty()) return concat("removed: ", line);
  return "their order";
}

}  // namespace

void ProcessState::take() {
  locale_ = std::setlocale(LC_ALL, nullptr);
  signals_.take();
  control_ = floating_point_control();
  platform::read_directory(directory_);
  if (with_mask_) new_file_mask_ = platform::new_file_mask();
  platform::read_environment(environment_);
}

std::vector<Finding> ProcessState::differences(const ProcessState& later) const {
  std::vector<Finding> out;
  if (later.locale_ != locale_) {
    out.push_back({"TN-PRC-1", concat("the locale was ", locale_, " and is ", later.locale_)});
  }
  for (std::string& text : signals_.differences(later.signals_)) {
    out.push_back({"TN-PRC-2", std::move(text)});
  }
  if (later.control_ != control_) {
    out.push_back(
        {"TN-PRC-3", concat("the floating-point control was ", control_, " and is ", later.control_,
                            control_difference(control_, later.control_))});
  }
  if (later.directory_ != directory_) {
    out.push_back({"TN-PRC-4",
                   concat("the current directory was ", directory_, " and is ", later.directory_)});
  }
  if (later.new_file_mask_ != new_file_mask_) {
    out.push_back({"TN-PRC-4", concat("the mask for new files was ", new_file_mask_, " and is ",
                                      later.new_file_mask_)});
  }
  if (later.environment_ != environment_) {
    out.push_back({"TN-PRC-4", "the environment variables changed: " +
                                   first_difference(environment_, later.environment_)});
  }
  return out;
}

void ProcessState::restore() const {
  std::setlocale(LC_ALL, locale_.c_str());
  signals_.restore();
  set_floating_point_control(control_);
  platform::set_directory(directory_);
  if (with_mask_) platform::set_new_file_mask(new_file_mask_);
}

}}}  // namespace tenon::TENON_RELEASE::conformance
