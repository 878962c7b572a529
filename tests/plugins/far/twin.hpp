// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace tenon::test {

/// Settings and observations of the other plugin for CUDA device 0 (twin.cpp) in this process.
struct TwinRecord {
  bool lists_device = true;
  bool shares_addresses = true;
  std::string identity;           ///< Of its device.
  const void* address = nullptr;  ///< Of the last argument on a device that it was given.
};

inline TwinRecord& twin_record() {
  static TwinRecord record;
  return record;
}

}  // namespace tenon::test
