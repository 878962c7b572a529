// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/discovery/platform_names.hpp"

#include <cstddef>
#include <string_view>

#include "tenon/core/concat.hpp"
#include "tenon/core/object/elf.hpp"
#include "tenon/core/object/mach_o.hpp"
#include "tenon/core/object/pe.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

std::string machine_name(const Platform& platform) {
  switch (platform.format) {
    case BinaryFormat::mach_o:
      return tenon::detail::macho::machine_name(platform.machine);
    case BinaryFormat::pe:
      return tenon::detail::pe::machine_name(platform.machine);
    default:
      return tenon::detail::elf::machine_name(platform.machine);
  }
}

std::string platform_name(const Platform& platform) {
  constexpr std::string_view systems[] = {"linux-", "macos-", "windows-"};
  const std::string_view system = systems[static_cast<std::size_t>(platform.format)];
  // ELF has one number for both widths, where Linux's distributions name the width as well.
  if (platform.format == BinaryFormat::elf) {
    if (platform.machine == 21) return concat(system, "ppc64le");
    if (platform.machine == 243) return concat(system, "riscv64");
    if (platform.machine == 258) return concat(system, "loongarch64");
  }
  return concat(system, machine_name(platform));
}

}}}  // namespace tenon::TENON_RELEASE::host
