// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "tenon/aot/debug_handle_map.hpp"
#include "tenon/aot/named_data.hpp"
#include "tenon/aot/shared_bytes.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// One partition, compiled by a backend (ExecuTorch: exir/backend/backend_details.py,
/// PreprocessResult).
struct PreprocessResult {
  /// The blob: `init` gets these bytes.
  SharedBytes processed_bytes = {};
  /// Empty when the delegate reports no events of its own.
  DebugHandleMap debug_handle_map = {};
  /// Data that `init` finds by key; made by a `NamedDataStore`.
  NamedDataStoreOutput data_store_output = {};
  /// One line for people, shown by tools; not stored in the program.
  std::string delegate_info = {};
};

}}}  // namespace tenon::TENON_RELEASE::aot
