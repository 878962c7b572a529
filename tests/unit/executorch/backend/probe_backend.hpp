// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/abi/static_plugin.h"

namespace tenon::test {

/// The record of the ExecuTorch backend in probe_backend.cpp. For one thread.
struct ProbeRecord {
  int num_alive = 0;      ///< Objects of the class.
  int num_delegates = 0;  ///< Handles that were not destroyed.
  std::string method_name;
  std::vector<std::string> compile_specs;  ///< "key=value"
  std::vector<std::string> runtime_specs;  ///< "key=value", as the type that it came as
  std::vector<std::string> options;        ///< Set for the whole backend.
  std::vector<std::string> keys;           ///< Of the named data map.
  std::string weights;                     ///< The data of key "weights".
  std::vector<std::int32_t> weights_sizes;
  std::string missing;                          ///< The result of asking for a missing key.
  std::vector<const void*> runtime_allocators;  ///< The one of each `init`.
};

ProbeRecord& probe();

}  // namespace tenon::test

TENON_DECLARE_STATIC_PLUGIN(ProbePlugin);
