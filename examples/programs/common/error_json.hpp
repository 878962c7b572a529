// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tenon/core/error.hpp"
#include "tenon/core/status.hpp"

namespace tenon::tool {

/// A failure in the reports of programs: name, number and text; null for success.
[[nodiscard]] inline nlohmann::ordered_json error_json(const Status& status) {
  if (status.ok()) return nullptr;
  return {{"name", std::string(error_name(status.error()))},
          {"code", static_cast<unsigned>(status.error())},
          {"text", std::string(status.text())}};
}

}  // namespace tenon::tool
