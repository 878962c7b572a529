// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/abi/extensions/check_blob.h"
#include "tenon/abi/extensions/devices.h"
#include "tenon/abi/extensions/memory_info.h"
#include "tenon/abi/extensions/sessions.h"
#include "tenon/core/result.hpp"

namespace tenon {

/// How well a blob fits this backend on this machine.
enum class Compatibility : std::uint32_t {
  Optimal = TENON_BLOB_OPTIMAL,
  Usable = TENON_BLOB_USABLE,
  Incompatible = TENON_BLOB_INCOMPATIBLE,
};

/// Outcome of `check_blob`, with the reason when it is not Optimal.
struct BlobVerdict {
  Compatibility compatibility = Compatibility::Optimal;
  std::string reason;
};

/// Mixin: the backend can judge a blob without its device. The author adds
/// `Result<BlobVerdict> check_blob(InitContext&, Blob, CompileSpecs)`.
template <class Derived>
class WithCheckBlob {};

/// Bytes held by a delegate or a backend, beside what the host counts itself.
struct MemoryInfo {
  std::uint64_t host_weights = 0;
  std::uint64_t host_scratch = 0;
  std::uint64_t device_weights = 0;
  std::uint64_t device_scratch = 0;
};

/// Mixin: the backend tells what memory it holds. The author adds
/// `MemoryInfo memory_info(const Delegate*)`; null asks for the whole backend.
template <class Derived>
class WithMemoryInfo {};

/// Mixin: several independent states over one loaded blob. The author adds
/// `Result<Delegate> create_session(const Delegate&)`: a delegate in the state that `init` gave,
/// which shares what does not change. It may be called while the given one runs, and what it makes
/// is destroyed before that one.
template <class Derived>
class WithSessions {};

/// One device that a backend can use.
struct DeviceInfo {
  tenon_dl_device device{TENON_DL_CPU, 0};
  std::string name;
  std::string description;
  std::uint64_t memory_bytes = 0;  ///< 0 when unknown.
};

/// Mixin: the backend lists its devices. The author adds
/// `Result<std::vector<DeviceInfo>> devices()`.
template <class Derived>
class WithDevices {};

}  // namespace tenon
