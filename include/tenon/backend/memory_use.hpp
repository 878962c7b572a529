// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "tenon/abi/memory_use.h"
#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE {

/// Bytes on one device. abi/memory_use.h says which bytes count.
struct MemoryUse {
  /// In an estimate, in place of a number that only a run shows.
  static constexpr std::uint64_t unknown = TENON_MEMORY_UNKNOWN;

  std::uint64_t weights = 0;    ///< Constants and code, which sessions share.
  std::uint64_t workspace = 0;  ///< All else that a delegate holds.
  std::uint64_t session = 0;    ///< State of a session; in an estimate, of each further session.
  tenon_dl_device device{TENON_DL_CPU, 0};
};

/// One entry for each device: `return tenon::MemoryUses{{.workspace = 4096}};`
using MemoryUses = std::vector<MemoryUse>;

namespace detail {

/// Passes each kind of memory of which there is any to `sink`.
inline void pass_uses(const MemoryUses& uses, tenon_memory_sink sink, void* sink_context) {
  for (const MemoryUse& use : uses) {
    const auto pass = [&](const char* kind, std::uint64_t nbytes) {
      if (nbytes == 0) return;
      const tenon_memory_use one{sizeof one, 0, use.device, nbytes, kind, nullptr};
      sink(sink_context, &one);
    };
    pass(TENON_MEMORY_WEIGHTS, use.weights);
    pass(TENON_MEMORY_WORKSPACE, use.workspace);
    pass(TENON_MEMORY_SESSION, use.session);
  }
}

}  // namespace detail
}}  // namespace tenon::TENON_RELEASE
