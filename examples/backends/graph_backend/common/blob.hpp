// SPDX-License-Identifier: MIT
#pragma once

#include <tenon/aot/shared_bytes.hpp>
#include <tenon/core/bytes.hpp>
#include <tenon/core/result.hpp>

#include "common/graph.hpp"

namespace graph_backend {

/// The bytes of a graph: what `init` gets. Constants with a key are not in them.
///
/// errors: NotSupported beyond 2 GiB, which is where flatbuffers end.
[[nodiscard]] tenon::Result<tenon::aot::SharedBytes> write_graph(const Graph& graph);

/// Reads a blob and checks all of it, so that the runtime indexes without checks: every
/// number of a tensor, constant or input is in range, nodes read what was made before them,
/// operators accept their inputs at the largest sizes, and each tensor is inside its memory and
/// apart from what is computed from it. Bytes may have any content and any address. A blob that
/// passes may still compute nonsense; no check can find that.
///
/// Constants refer to `bytes`, or to a copy when the address does not suit their elements.
///
/// errors: InvalidProgram; DelegateInvalidCompatibility for a graph of another version.
[[nodiscard]] tenon::Result<Graph> read_graph(tenon::Bytes bytes);

}  // namespace graph_backend
