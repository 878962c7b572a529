// SPDX-License-Identifier: MIT
//
// How much memory a method takes: estimated before it is loaded, and counted after.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tenon/abi/backend.h"
#include "tenon/abi/host.h"
#include "tenon/core/result.hpp"
#include "tenon/host/schema/forward.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

class LoadedBackend;
class Program;

/// Bytes on one device; on TENON_DL_CPU the memory of the process.
struct DeviceBytes {
  tenon_dl_device device{TENON_DL_CPU, 0};
  std::uint64_t nbytes = 0;
};

/// Bytes of a delegate on one device, as its backend states them (abi/memory_use.h): what it will
/// need, or what it holds. Bytes of a kind that the host does not know are in `workspace`.
struct DelegateBytes {
  tenon_dl_device device{TENON_DL_CPU, 0};
  std::uint64_t weights = 0;
  std::uint64_t workspace = 0;
  /// State of a session. In an estimate it is the need of each further session.
  std::uint64_t session = 0;

  /// All three.
  [[nodiscard]] std::uint64_t total() const noexcept;
};

/// The statement of a backend about one delegate.
struct DelegateEstimate {
  std::string backend_id;
  bool is_stated = false;            ///< The backend has the extension, and knows.
  bool is_complete = false;          ///< Nothing that only a run can show is left out of it.
  std::vector<DelegateBytes> needs;  ///< One for each device.
};

/// The need of a method, before it is loaded. Bytes of the program that are used where the file
/// is mapped are not part of it.
struct MethodEstimate {
  std::vector<DeviceBytes> planned;  ///< Planned memory: the CPU's, then each other device's.
  std::uint64_t tables = 0;          ///< Values, instructions and the like, on the CPU.
  std::vector<DelegateEstimate> delegates;

  /// All of it but further sessions: the CPU's, then each other device's.
  [[nodiscard]] std::vector<DeviceBytes> totals() const;
};

/// Memory of one delegate that is loaded.
struct DelegateMemory {
  std::string backend_id;
  std::uint64_t lent = 0;    ///< By the host: what `init` took from the runtime allocator.
  bool is_reported = false;  ///< The backend has the extension "tenon.memory_info/1".
  /// One for each device, as the backend counts them; it may count what was lent.
  std::vector<DelegateBytes> held;

  /// On the host, once.
  [[nodiscard]] std::uint64_t host_bytes() const noexcept;
};

/// Memory of a backend that none of its delegates reports, such as weights that delegates share,
/// also delegates of other methods.
struct BackendMemory {
  std::string backend_id;
  std::vector<DelegateBytes> held;  ///< One for each device.
};

/// Memory of a method that is loaded.
struct MethodMemory {
  std::vector<DeviceBytes> planned;  ///< As in MethodEstimate.
  std::uint64_t tables = 0;
  std::uint64_t temp = 0;  ///< Kept for the temp allocator of runs.
  std::vector<DelegateMemory> delegates;
  std::vector<BackendMemory> backends;  ///< Of the delegates that report; each backend once.

  /// All of it on the CPU, without `backends`.
  [[nodiscard]] std::uint64_t host_bytes() const noexcept;
};

/// The host's own part of the need of a method: no delegates. `plan` is of a program that was
/// verified. errors: MemoryAllocationFailed.
[[nodiscard]] MethodEstimate estimate_host(const schema::ExecutionPlan& plan);

/// Asks `backend` what a delegate will need: extension "tenon.estimate/1". `init` is not called,
/// and the device is not needed. `delegate` is one of the delegates of `program`'s method
/// `method_name`, `data` may be null, and `options` are what the load gets.
///
/// threads: any. errors: the backend's own; Internal for a statement that 64 bits do not hold.
[[nodiscard]] Result<DelegateEstimate> estimate_delegate(
    const LoadedBackend& backend, const Program& program, const char* method_name,
    const schema::BackendDelegate& delegate, const tenon_named_data_map* data,
    std::span<const tenon_option> options = {});

/// Bytes that are free now. For the CPU it is what the system gives to a process without swapping
/// (Linux: MemAvailable); for another device its backend is asked.
///
/// errors: NotSupported where it cannot be known; the backend's own.
[[nodiscard]] Result<std::uint64_t> free_memory(const LoadedBackend& backend,
                                                tenon_dl_device device);
/// The CPU's.
[[nodiscard]] Result<std::uint64_t> free_host_memory();

}}}  // namespace tenon::TENON_RELEASE::host
