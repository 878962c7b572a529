// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "tenon/abi/status.h"
#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE {

/// Why a call failed. ExecuTorch's `Error` (runtime/core/error.h) has the same names and numbers,
/// but for the last four, which ExecuTorch does not have.
enum class Error : std::uint32_t {
  Ok = TENON_STATUS_OK,
  Internal = TENON_STATUS_INTERNAL,
  InvalidState = TENON_STATUS_INVALID_STATE,
  EndOfMethod = TENON_STATUS_END_OF_METHOD,
  AlreadyLoaded = TENON_STATUS_ALREADY_LOADED,
  NotSupported = TENON_STATUS_NOT_SUPPORTED,
  NotImplemented = TENON_STATUS_NOT_IMPLEMENTED,
  InvalidArgument = TENON_STATUS_INVALID_ARGUMENT,
  InvalidType = TENON_STATUS_INVALID_TYPE,
  OperatorMissing = TENON_STATUS_OPERATOR_MISSING,
  RegistrationExceedingMaxKernels = TENON_STATUS_REGISTRATION_EXCEEDING_MAX_KERNELS,
  RegistrationAlreadyRegistered = TENON_STATUS_REGISTRATION_ALREADY_REGISTERED,
  NotFound = TENON_STATUS_NOT_FOUND,
  MemoryAllocationFailed = TENON_STATUS_MEMORY_ALLOCATION_FAILED,
  AccessFailed = TENON_STATUS_ACCESS_FAILED,
  InvalidProgram = TENON_STATUS_INVALID_PROGRAM,
  InvalidExternalData = TENON_STATUS_INVALID_EXTERNAL_DATA,
  OutOfResources = TENON_STATUS_OUT_OF_RESOURCES,
  DelegateInvalidCompatibility = TENON_STATUS_DELEGATE_INVALID_COMPATIBILITY,
  DelegateMemoryAllocationFailed = TENON_STATUS_DELEGATE_MEMORY_ALLOCATION_FAILED,
  DelegateInvalidHandle = TENON_STATUS_DELEGATE_INVALID_HANDLE,
  DeviceLost = TENON_STATUS_DEVICE_LOST,
  TimedOut = TENON_STATUS_TIMED_OUT,
  Busy = TENON_STATUS_BUSY,
  Cancelled = TENON_STATUS_CANCELLED,
};

namespace detail {

// Not a pair: each length of a literal would be one more constructor to instantiate.
struct NamedError {
  Error error;
  std::string_view name;
};

inline constexpr std::array<NamedError, 25> error_names{{
    {Error::Ok, "Ok"},
    {Error::Internal, "Internal"},
    {Error::InvalidState, "InvalidState"},
    {Error::EndOfMethod, "EndOfMethod"},
    {Error::AlreadyLoaded, "AlreadyLoaded"},
    {Error::NotSupported, "NotSupported"},
    {Error::NotImplemented, "NotImplemented"},
    {Error::InvalidArgument, "InvalidArgument"},
    {Error::InvalidType, "InvalidType"},
    {Error::OperatorMissing, "OperatorMissing"},
    {Error::RegistrationExceedingMaxKernels, "RegistrationExceedingMaxKernels"},
    {Error::RegistrationAlreadyRegistered, "RegistrationAlreadyRegistered"},
    {Error::NotFound, "NotFound"},
    {Error::MemoryAllocationFailed, "MemoryAllocationFailed"},
    {Error::AccessFailed, "AccessFailed"},
    {Error::InvalidProgram, "InvalidProgram"},
    {Error::InvalidExternalData, "InvalidExternalData"},
    {Error::OutOfResources, "OutOfResources"},
    {Error::DelegateInvalidCompatibility, "DelegateInvalidCompatibility"},
    {Error::DelegateMemoryAllocationFailed, "DelegateMemoryAllocationFailed"},
    {Error::DelegateInvalidHandle, "DelegateInvalidHandle"},
    {Error::DeviceLost, "DeviceLost"},
    {Error::TimedOut, "TimedOut"},
    {Error::Busy, "Busy"},
    {Error::Cancelled, "Cancelled"},
}};

}  // namespace detail

/// Name of `error`, as ExecuTorch spells it, or an empty view when the number is not one of them.
[[nodiscard]] constexpr std::string_view error_name(Error error) noexcept {
  for (const detail::NamedError& known : detail::error_names) {
    if (known.error == error) return known.name;
  }
  return {};
}

/// The error with the number `status`; an unknown number becomes `Internal` (rule TN-ERR-1).
[[nodiscard]] constexpr Error error_from_status(tenon_status status) noexcept {
  const auto error = static_cast<Error>(status);
  return error_name(error).empty() ? Error::Internal : error;
}

[[nodiscard]] constexpr tenon_status to_status(Error error) noexcept {
  return static_cast<tenon_status>(error);
}

}}  // namespace tenon::TENON_RELEASE
