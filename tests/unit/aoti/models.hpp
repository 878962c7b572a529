// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "support/aligned_bytes.hpp"
#include "tenon/aoti.hpp"

/// Stand-ins for compiled models (stand_in_model.cpp) and the arguments to load them.
namespace tenon::test {

inline AlignedBytes stand_in(const std::string& name) {
  return read_file(TENON_TEST_AOTI_MODELS "/" + name + ".so");
}

inline const void* find_host_shim(std::string_view name) {
  static const aoti::ShimTable table{aoti::shims::base(), aoti::shims::host()};
  return table.find(name);
}

inline Result<std::byte*> allocate_host(std::size_t nbytes) {
  // A model that allocates too much must be refused and not killed.
  constexpr std::size_t most = std::size_t{1} << 32;
  auto* block = nbytes > most
                    ? nullptr
                    : static_cast<std::byte*>(std::aligned_alloc(64, (nbytes + 63) / 64 * 64));
  if (block) return block;
  return error(Error::MemoryAllocationFailed, "that is more than this test has");
}

inline aoti::DeviceMemoryApi host_memory() {
  return {aoti::TorchDeviceType::cpu,
          [](void*, std::size_t nbytes) { return allocate_host(nbytes); },
          [](void*, std::byte* block) noexcept { std::free(block); }};
}

}  // namespace tenon::test
