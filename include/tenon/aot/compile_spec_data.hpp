// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "tenon/aot/shared_bytes.hpp"

namespace tenon::aot {

/// A compile spec that owns its bytes. The backend's `init` gets them unchanged.
struct CompileSpecData {
  std::string key;
  SharedBytes value;
};

}  // namespace tenon::aot
