// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "tenon/abi/extensions/kernel_lookup.h"
#include "tenon/conformance/process/interposition.hpp"
#include "tenon/host/impl/plugin/kernel_lookup.hpp"

namespace tenon::conformance::detail {

/// The host's extension "tenon.kernel_lookup/1" as the plugin sees it: what the host, and the
/// plugins that it asks, allocate and write inside of a call is not the plugin's.
class WatchedKernelLookup {
 public:
  /// `table` is what the host gave for the extension, or null.
  [[nodiscard]] static const void* get(const void* table) noexcept {
    return table == &host_table() ? &seen : table;
  }

 private:
  static const tenon_kernel_lookup_v1& host_table() noexcept {
    return host::detail::KernelLookupTable::get();
  }

  static tenon_status find(const tenon_host* host, const char* op, tenon_value* const* args,
                           std::uint32_t num_args, tenon_found_kernel** out) {
    const OutsidePlugin outside;
    return host_table().find_kernel(host, op, args, num_args, out);
  }
  static tenon_status clone(const tenon_found_kernel* kernel, tenon_value* const* args,
                            std::uint32_t num_args, tenon_found_kernel** out) {
    const OutsidePlugin outside;
    return host_table().clone_kernel(kernel, args, num_args, out);
  }
  static tenon_status run(tenon_found_kernel* kernel) {
    const OutsidePlugin outside;
    return host_table().run_kernel(kernel);
  }
  static void destroy(tenon_found_kernel* kernel) {
    const OutsidePlugin outside;
    host_table().destroy_kernel(kernel);
  }
  static const char* last_failure(const tenon_host* host) {
    return host_table().last_failure(host);
  }

  static constexpr tenon_kernel_lookup_v1 seen = {
      sizeof(tenon_kernel_lookup_v1), 0, &find, &clone, &run, &destroy, &last_failure};
};

}  // namespace tenon::conformance::detail
