// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "tenon/aot/named_data.hpp"
#include "tenon/aot/shared_bytes.hpp"

namespace tenon::aot {

/// Debug handles (EdgeNode::debug_handle) that each of the delegate's own events represents. Events
/// are named by number or by text, as `Tracer` reports them at run time; a profiler joins both.
using DebugHandleMap =
    std::variant<std::monostate, std::map<std::int64_t, std::vector<std::uint32_t>>,
                 std::map<std::string, std::vector<std::uint32_t>>>;

/// One partition, compiled by a backend (ExecuTorch: exir/backend/backend_details.py,
/// PreprocessResult).
struct PreprocessResult {
  /// The blob: `init` gets these bytes.
  SharedBytes processed_bytes = {};
  DebugHandleMap debug_handle_map = {};
  /// Data that `init` finds by key; made by a `NamedDataStore`.
  NamedDataStoreOutput data_store_output = {};
  /// One line for people, shown by tools; not stored in the program.
  std::string delegate_info = {};
};

}  // namespace tenon::aot
