// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "support/aligned_bytes.hpp"
#include "tenon/aoti.hpp"

/// Stand-ins for compiled models (stand_in_model.cpp) and what they are loaded with.
namespace tenon::test {

inline AlignedBytes stand_in(const std::string& name) {
  return read_file(TENON_TEST_AOTI_MODELS "/" + name + ".so");
}

inline const void* find_host_shim(std::string_view name) {
  static const aoti::ShimTable table{aoti::shims::base(), aoti::shims::host()};
  return table.find(name);
}

inline aoti::DeviceMemory host_memory() {
  return {aoti::DeviceType::cpu,
          [](std::size_t nbytes) noexcept {
            // So that a model that asks for too much is refused and not killed.
            constexpr std::size_t most = std::size_t{1} << 32;
            return nbytes > most
                       ? nullptr
                       : static_cast<std::byte*>(std::aligned_alloc(64, (nbytes + 63) / 64 * 64));
          },
          [](std::byte* block) noexcept { std::free(block); }};
}

}  // namespace tenon::test
