// SPDX-License-Identifier: MIT
#pragma once

#include <executorch/runtime/core/error.h>

#include <cstdint>

#include "tenon/core/error.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace bridge {

namespace et = ::executorch::runtime;

namespace detail {

constexpr bool same(Error ours, et::Error theirs) noexcept {
  return to_status(ours) == static_cast<std::uint32_t>(theirs);
}
// Numbers pass unchanged because they are the same.
static_assert(same(Error::Ok, et::Error::Ok) && same(Error::Internal, et::Error::Internal) &&
              same(Error::InvalidState, et::Error::InvalidState) &&
              same(Error::EndOfMethod, et::Error::EndOfMethod) &&
              same(Error::NotSupported, et::Error::NotSupported) &&
              same(Error::NotImplemented, et::Error::NotImplemented) &&
              same(Error::InvalidArgument, et::Error::InvalidArgument) &&
              same(Error::InvalidType, et::Error::InvalidType) &&
              same(Error::OperatorMissing, et::Error::OperatorMissing) &&
              same(Error::NotFound, et::Error::NotFound) &&
              same(Error::MemoryAllocationFailed, et::Error::MemoryAllocationFailed) &&
              same(Error::AccessFailed, et::Error::AccessFailed) &&
              same(Error::InvalidProgram, et::Error::InvalidProgram) &&
              same(Error::InvalidExternalData, et::Error::InvalidExternalData) &&
              same(Error::OutOfResources, et::Error::OutOfResources) &&
              same(Error::DelegateInvalidCompatibility, et::Error::DelegateInvalidCompatibility) &&
              same(Error::DelegateMemoryAllocationFailed,
                   et::Error::DelegateMemoryAllocationFailed) &&
              same(Error::DelegateInvalidHandle, et::Error::DelegateInvalidHandle));

}  // namespace detail

[[nodiscard]] constexpr et::Error to_executorch(Error error) noexcept {
  return static_cast<et::Error>(to_status(error));
}

/// A number that is not an error of ExecuTorch's becomes Internal.
[[nodiscard]] constexpr Error from_executorch(et::Error error) noexcept {
  return error_from_status(static_cast<tenon_status>(error));
}

}}}  // namespace tenon::TENON_RELEASE::bridge
