// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

#include "tenon/host/platform/file_descriptor.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::platform {

/// Bytes that the system estimates a process can take without swapping (MemAvailable of Linux), or
/// nothing where the system does not say.
[[nodiscard]] inline std::optional<std::uint64_t> free_memory() {
  const FileDescriptor file(open_to_read("/proc/meminfo"));
  char text[4096];  // The line is the third.
  std::ptrdiff_t size = 0;
  do {
    size = read(file.get(), text, sizeof text);
  } while (size < 0 && errno == EINTR);
  if (size <= 0) return std::nullopt;
  const std::string_view lines(text, static_cast<std::size_t>(size));
  constexpr std::string_view name = "MemAvailable:";
  const std::size_t begin = lines.find(name);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t digit = lines.find_first_not_of(' ', begin + name.size());
  if (digit == std::string_view::npos) return std::nullopt;
  std::uint64_t kib = 0;
  const auto read_number = std::from_chars(lines.data() + digit, lines.data() + lines.size(), kib);
  if (read_number.ec != std::errc()) return std::nullopt;
  return kib * 1024;
}

}}}  // namespace tenon::TENON_RELEASE::host::platform
