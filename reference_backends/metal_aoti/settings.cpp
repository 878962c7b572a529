// SPDX-License-Identifier: MIT
#include "settings.hpp"

#include <charconv>
#include <cstdlib>
#include <limits>

namespace tenon::metal_aoti {

namespace {

struct Range {
  const char* option;
  const char* variable;
  std::int64_t least;
  std::int64_t most;
};

Status refuse(std::string_view name, const Range& range, std::string_view found) {
  return error(Error::InvalidArgument, name, ": expected a number from ", range.least, " to ",
               range.most, ", found '", found, "'");
}

/// Fails unless the whole text is a number in the range.
Result<std::int64_t> read(const Range& range, std::int64_t option, std::int64_t initial) {
  if (option != not_set) {
    if (option >= range.least && option <= range.most) return option;
    return refuse(concat("option '", range.option, "'"), range, concat(option));
  }
  const char* const text = std::getenv(range.variable);
  if (!text) return initial;
  const std::string_view view(text);
  std::int64_t value = 0;
  const auto [end, failure] = std::from_chars(view.data(), view.data() + view.size(), value);
  if (failure != std::errc() || end != view.data() + view.size() || value < range.least ||
      value > range.most) {
    return refuse(range.variable, range, view);
  }
  return value;
}

}  // namespace

std::uint64_t flush_interval_for(std::string_view architecture) noexcept {
  if (architecture.ends_with('p')) return 20;
  if (architecture.ends_with('s') || architecture.ends_with('d')) return 50;
  return 40;
}

Result<ContextSettings> read_settings(std::int64_t pool_size_mb, std::int64_t flush_interval,
                                      std::string_view architecture) {
  ContextSettings out;
  TENON_TRY(const std::int64_t pool, read({"buffer_pool_size_mb", pool_size_variable, 1, 16384},
                                          pool_size_mb, initial_pool_size));
  TENON_TRY(
      const std::int64_t interval,
      read({"flush_interval", flush_interval_variable, 0, std::numeric_limits<std::int32_t>::max()},
           flush_interval, static_cast<std::int64_t>(flush_interval_for(architecture))));
  out.pool_nbytes = static_cast<std::size_t>(pool) << 20;
  out.flush_interval = static_cast<std::uint64_t>(interval);
  return out;
}

}  // namespace tenon::metal_aoti
