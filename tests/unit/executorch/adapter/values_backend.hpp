// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "tenon/abi/static_plugin.h"

TENON_DECLARE_STATIC_PLUGIN(Values);

namespace tenon::test {

/// The record of the backend of values_backend.cpp, in order.
inline std::vector<std::string>& seen() {
  static std::vector<std::string> all;
  return all;
}

}  // namespace tenon::test
