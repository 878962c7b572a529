// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/aot/compiler/lower/lowered_program.hpp"
#include "tenon/aot/debug_handle_map.hpp"
#include "tenon/aot/preprocess_result.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/layers/trace/debug_handles.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot::detail {

/// Whether `name` is one line: others are left out, as the format has no way to write them.
[[nodiscard]] inline bool is_one_line(std::string_view name) noexcept {
  return name.find('\n') == std::string_view::npos;
}

/// The debug handles of one method as text (host/layers/trace/debug_handles.hpp). `kernels` are
/// instructions and the handles of their nodes; `results` are the delegates' handles, in the order
/// of the method's delegates.
[[nodiscard]] inline std::string debug_handles_text(
    const LoweredProgram& lowered,
    const std::vector<std::pair<std::size_t, std::uint32_t>>& kernels,
    const std::vector<const PreprocessResult*>& results) {
  std::string out = concat(host::debug_handles_format, "\n");
  for (std::size_t i = 0; i < lowered.program.num_nodes(); ++i) {
    const EdgeNode node = lowered.program.node(i);
    if (is_one_line(node.name()))
      out += concat("node ", node.debug_handle(), " ", node.name(), "\n");
  }
  for (const auto& [instruction, handle] : kernels) {
    out += concat("kernel ", instruction, " ", handle, "\n");
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    for (const DebugHandleMap::Event& event : results[i]->debug_handle_map.events()) {
      std::string handles;
      for (const std::uint32_t handle : event.handles) handles += concat(" ", handle);
      if (event.name.empty()) {
        out += concat("event ", i, " ", event.id, handles, "\n");
      } else if (is_one_line(event.name)) {
        out += concat("named ", i, " ", event.handles.size(), handles, " ", event.name, "\n");
      }
    }
  }
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::aot::detail
