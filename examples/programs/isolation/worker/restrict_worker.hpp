// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tenon/core/result.hpp"

namespace tenon::isolated {

/// A restriction, as the command line of a worker has it: the profile's name, and permissions.
struct RestrictionRequest {
  std::string_view profile = "none";
  std::span<char* const> permissions;
};

/// Restricts this process, which keeps its streams and `socket`, and records in memory that it
/// shares with the process that called `prepare`.
class WorkerRestriction {
 public:
  /// errors: InvalidArgument for a profile or permission that does not exist; NotSupported for a
  /// profile on a system that has none.
  [[nodiscard]] static Result<WorkerRestriction> prepare(const RestrictionRequest& request);

  /// Before the process has threads. errors: as `restrict_process`.
  [[nodiscard]] Status apply(int socket);

  [[nodiscard]] bool is_none() const noexcept { return request_.profile == "none"; }

  /// The calls that were refused, with "; " between them; in the process that prepared it. Accepts
  /// whatever the restricted process wrote there.
  [[nodiscard]] std::string refusals() const;

 private:
  RestrictionRequest request_;
  [[maybe_unused]] void* shared_ = nullptr;  // Violations; for the rest of the process.
};

}  // namespace tenon::isolated
