// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "tenon/host/loader/files/limits.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// Limits of the cost of reading one archive, beyond what its file holds. The defaults are above
/// every model that is known. A refusal names the limit, its value and what was found.
struct Pt2Limits {
  /// Of one entry with JSON. PyTorch writes about 100 values for each node of a graph.
  host::JsonLimits json{std::uint64_t{256} << 20, 10'000'000, 64};
  /// How many times its packed bytes an entry with JSON may unpack to, after the first 64 KiB.
  /// PyTorch's JSON unpacks to 4 to 25 times.
  std::uint64_t json_ratio = 48;
  /// How many times the bytes of the file all entries may unpack to, after the first 16 MiB.
  /// PyTorch itself does not compress them.
  std::uint64_t unpacked_ratio = 64;
  /// Bytes of weights that are copied because they are not in the plain order, or repeat their
  /// elements, after the bytes that all entries have.
  std::uint64_t copied_bytes = std::uint64_t{256} << 20;
};

}}}  // namespace tenon::TENON_RELEASE::aot
