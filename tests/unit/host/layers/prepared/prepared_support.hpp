// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <tenon/host.hpp>
#include <tenon/host/prepared.hpp>
#include <utility>

#include "support/catch.hpp"

namespace prepared_test {

/// A host that drops what is logged.
inline const tenon_host quiet{sizeof(tenon_host),
                              1,
                              1,
                              "test",
                              "",
                              nullptr,
                              [](const tenon_host*, std::int32_t, const char*, std::uint64_t) {},
                              nullptr,
                              nullptr};

inline tenon::host::PreparedCache open_cache(const std::filesystem::path& path,
                                             std::uint64_t max_bytes = 1 << 20) {
  auto opened = tenon::host::PreparedCache::open(path, max_bytes);
  INFO(opened.text());
  REQUIRE(opened.ok());
  return *std::move(opened);
}

}  // namespace prepared_test
