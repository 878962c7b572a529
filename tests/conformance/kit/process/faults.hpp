// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// A service of the host that can fail.
enum class Service : std::uint8_t {
  runtime_memory,  ///< tenon_init_context.runtime_allocator.
  temp_memory,     ///< tenon_execution_context.temp_allocator.
  named_data,      ///< tenon_named_data_map.get_data.
  resize,          ///< tenon_host.resize_tensor.
  file,            ///< The C library's open, openat, read, write, mmap, memfd_create, ....
};
inline constexpr std::size_t num_services = 5;

[[nodiscard]] constexpr std::string_view service_name(Service service) noexcept {
  constexpr std::array<std::string_view, num_services> names = {
      "runtime allocator", "temp allocator", "get_data", "resize_tensor", "file operation"};
  return names[static_cast<std::size_t>(service)];
}

/// Counts the requests of the plugin to the host, and fails one of them. Any thread; may be used
/// from a function of the C library, so it allocates nothing itself.
class Faults {
 public:
  /// From now on request number `nth` (from 1) for `service` fails, once. With 0, none fails.
  void fail(Service service, std::uint64_t nth) noexcept {
    at(service).asked = 0;
    at(service).nth = nth;
    at(service).failed = false;
  }
  /// Counts a request, and returns whether it must fail.
  [[nodiscard]] bool should_fail(Service service) noexcept {
    One& one = at(service);
    const bool fails = one.asked.fetch_add(1) + 1 == one.nth;
    if (fails) one.failed = true;
    return fails;
  }
  /// The number of requests since `fail`.
  [[nodiscard]] std::uint64_t asked(Service service) noexcept { return at(service).asked; }
  /// Whether a request has failed since `fail`.
  [[nodiscard]] bool failed(Service service) noexcept { return at(service).failed; }

 private:
  struct One {
    std::atomic<std::uint64_t> asked = 0;
    std::atomic<std::uint64_t> nth = 0;
    std::atomic<bool> failed = false;
  };
  One& at(Service service) noexcept { return services_[static_cast<std::size_t>(service)]; }

  std::array<One, num_services> services_;
};

}}}  // namespace tenon::TENON_RELEASE::conformance
