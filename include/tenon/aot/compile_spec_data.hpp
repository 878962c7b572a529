// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tenon/aot/shared_bytes.hpp"
#include "tenon/core/compile_specs.hpp"

namespace tenon::aot {

/// A compile spec that owns its bytes. The backend's `init` gets them unchanged.
struct CompileSpecData {
  std::string key;
  SharedBytes value;
};

/// Copies of all specs, in their order: what `PartitionOptions::spec` gets, so that `preprocess`
/// and `init` see what `partition` was called with.
[[nodiscard]] inline std::vector<CompileSpecData> copy_specs(const CompileSpecs& specs) {
  std::vector<CompileSpecData> out;
  out.reserve(specs.size());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    out.push_back({std::string(specs[i].key), SharedBytes::copy_of(specs[i].value)});
  }
  return out;
}

}  // namespace tenon::aot
