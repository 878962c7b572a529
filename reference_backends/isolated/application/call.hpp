// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "tenon/abi/backend.h"
#include "tenon/abi/extensions/intermediates.h"
#include "tenon/core/sha256.hpp"

namespace tenon::isolated {

/// The intermediates that an application wants of a delegate.
struct Recording {
  std::set<std::int64_t> handles;
  const tenon_intermediate_sink* sink = nullptr;
};

/// Orders hashes.
struct Sha256Less {
  bool operator()(const Sha256& a, const Sha256& b) const noexcept { return a.bytes < b.bytes; }
};
using CodeHashes = std::set<Sha256, Sha256Less>;

/// A call's needs, apart from its message: whom the worker's questions are for, how long it may
/// take, and what is said of it when the worker dies in it.
struct CallInfo {
  std::string_view function;      ///< "execute"
  std::uint64_t delegate = 0;     ///< 0 when the call has none.
  std::string_view method{};      ///< Of the delegate.
  std::string_view op{};          ///< Of the kernel.
  std::uint64_t number = 0;       ///< Of the call among those of the delegate, from 1.
  std::uint64_t deadline_ms = 0;  ///< 0: none.
  const tenon_tracer* tracer = nullptr;
  const std::uint32_t* cancel_flag = nullptr;
  /// Of an `init` that is going on; answers `permit_code`.
  const tenon_init_context* context = nullptr;
  /// Where code that was permitted is remembered; without a context it is what is permitted.
  CodeHashes* permitted = nullptr;
  /// Of an `init` that is going on; answers what it asks about prepared bytes.
  const tenon_init_context* init = nullptr;
  /// Of an `execute` that is going on; takes intermediates.
  const Recording* recording = nullptr;
};

}  // namespace tenon::isolated
