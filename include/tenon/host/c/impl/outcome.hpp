// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/c/tenon_host.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tenon/core/result.hpp"
#include "tenon/core/struct_size.hpp"

/// Its text is behind it in the same block. The error that reports missing memory is static.
struct tenon_error {
  tenon_status status;
  const char* text;
};

/// Failures of functions of the C interface, and structs that state their size.
namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

inline constexpr tenon_error no_memory{TENON_STATUS_MEMORY_ALLOCATION_FAILED,
                                       "MemoryAllocationFailed: there is no memory left"};

/// Stores a new error in `*out`, unless `out` is null.
[[gnu::cold]] inline tenon_status report(tenon_status status, std::string_view text,
                                         tenon_error** out) noexcept {
  if (!out) return status;
  void* const block = ::operator new(sizeof(tenon_error) + text.size() + 1, std::nothrow);
  if (!block) {
    *out = const_cast<tenon_error*>(&no_memory);  // `tenon_error_destroy` leaves it.
    return status;
  }
  auto* const at = static_cast<char*>(block) + sizeof(tenon_error);
  std::copy(text.begin(), text.end(), at);
  at[text.size()] = '\0';
  *out = new (block) tenon_error{status, at};
  return status;
}

[[gnu::cold]] inline tenon_status report(const Status& failure, tenon_error** out) noexcept {
  return report(to_status(failure.error()), failure.text(), out);
}

/// Called in a handler.
[[gnu::cold]] inline tenon_status report_exception(tenon_error** out) noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return report(no_memory.status, no_memory.text, out);
  } catch (const std::exception& failure) {
    return report(TENON_STATUS_INTERNAL, failure.what(), out);
  } catch (...) {
    return report(TENON_STATUS_INTERNAL, "an exception that is no std::exception", out);
  }
}

/// Runs `work`, which returns a Status, for a function that ends with an error.
template <class Work>
tenon_status guarded(tenon_error** out, const Work& work) noexcept {
  try {
    const Status outcome = work();
    if (outcome.ok()) [[likely]]
      return TENON_STATUS_OK;
    return report(outcome, out);
  } catch (...) {
    return report_exception(out);
  }
}

/// InvalidArgument for the first of `arguments`, pairs of a name and a pointer, that is null.
template <class... Arguments>
[[nodiscard]] Status expect_given(std::string_view function, const Arguments&... arguments) {
  Status out;
  const auto check = [&](const std::pair<std::string_view, const void*>& argument) {
    if (argument.second) return true;
    out = error(Error::InvalidArgument, function, ": ", argument.first, " is null");
    return false;
  };
  static_cast<void>((check(arguments) && ...));
  return out;
}

template <class Pointer>
[[nodiscard]] std::pair<std::string_view, const void*> given(std::string_view name,
                                                             Pointer pointer) noexcept {
  if constexpr (std::is_function_v<std::remove_pointer_t<Pointer>>) {
    return {name, reinterpret_cast<const void*>(pointer)};
  } else {
    return {name, pointer};
  }
}

using tenon::detail::read_struct;
using tenon::detail::read_structs;
using tenon::detail::write_struct;

/// Whether `out` can take a `Struct`.
template <class Struct>
[[nodiscard]] Status expect_writable(std::string_view function, const Struct* out) {
  TENON_RETURN_IF_ERROR(expect_given(function, given("out", out)));
  return tenon::detail::check_struct_size(function, *out);
}

/// Text that may be null.
[[nodiscard]] inline std::string_view text_or(const char* text, std::string_view other) noexcept {
  return text ? std::string_view(text) : other;
}

}}}  // namespace tenon::TENON_RELEASE::host::detail

uint32_t TENON_CALL tenon_c_version(void) { return TENON_C_VERSION; }

const char* TENON_CALL tenon_release(void) { return TENON_VERSION_STRING; }

const char* TENON_CALL tenon_status_name(tenon_status status) {
  // Names are literals.
  return tenon::error_name(tenon::error_from_status(status)).data();
}

tenon_status TENON_CALL tenon_error_status(const tenon_error* error) {
  return error ? error->status : tenon_status{TENON_STATUS_OK};
}

const char* TENON_CALL tenon_error_text(const tenon_error* error) {
  return error ? error->text : "";
}

void TENON_CALL tenon_error_destroy(tenon_error* error) {
  if (error && error != &tenon::host::detail::no_memory) ::operator delete(error);
}
