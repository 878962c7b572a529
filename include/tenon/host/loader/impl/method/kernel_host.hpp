// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "tenon/abi/host.h"
#include "tenon/abi/private/changes.h"
#include "tenon/abi/version.h"
#include "tenon/host/loader/impl/plugin/host_table.hpp"
#include "tenon/host/loader/layer.hpp"
#include "tenon/host/loader/plugin/calls.hpp"
#include "tenon/host/loader/plugin/host_info.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// The services that the kernels of one method get: they resize outputs, leave error texts, and ask
/// for the tables of the loader, of the method's layers, and of its registry.
struct KernelHost : tenon_host {
  /// `its_parts` must outlive this object, and so must `its_extensions`.
  KernelHost(const MethodParts& its_parts, std::span<const HostExtension> its_extensions) noexcept
      : tenon_host{sizeof(tenon_host),
                   TENON_ABI_MAJOR,
                   TENON_ABI_MINOR,
                   "tenon host " TENON_VERSION_STRING,
                   "",
                   &keep_last_error,
                   &drop_line,
                   &resize,
                   &find},
        parts(its_parts),
        extensions(its_extensions) {}
  KernelHost(const KernelHost&) = delete;
  KernelHost& operator=(const KernelHost&) = delete;

  const MethodParts& parts;
  std::span<const HostExtension> extensions;  ///< Of the registry.

 private:
  static void drop_line(const tenon_host*, std::int32_t, const char*, std::uint64_t) noexcept {}

  static const void* find(const tenon_host* host, const char* id) noexcept {
    const auto& self = *static_cast<const KernelHost*>(host);
    const std::string_view asked = id ? id : "";
    if (asked == TENON_EXTENSION_CHANGES) return &changes_table();
    for (const auto& part : self.parts) {
      if (const void* const table = part->find_table(asked)) return table;
    }
    return find_table(self.extensions, asked);
  }
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
