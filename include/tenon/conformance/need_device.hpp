// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/conformance/context.hpp"
#include "tenon/conformance/loaded_plugin.hpp"

namespace tenon::conformance {

/// Ends the test as `not_applicable` on a machine where the backend says that it cannot work.
inline void need_device(Context& kit, const OpenedBackend& opened) {
  if (const Status status = opened.backend().is_available(); !status.ok()) {
    kit.not_applicable(status.text());
  }
}

}  // namespace tenon::conformance
