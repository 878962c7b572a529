// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "tenon/host/platform/windows/api.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::platform {

/// An exception code in the words of Windows' documentation.
[[nodiscard]] constexpr std::string_view exception_name(::DWORD code) noexcept {
  switch (code) {
    case EXCEPTION_ACCESS_VIOLATION:
      return "access violation";
    case EXCEPTION_IN_PAGE_ERROR:
      return "in-page error";
    case EXCEPTION_DATATYPE_MISALIGNMENT:
      return "datatype misalignment";
    case EXCEPTION_ARRAY_BOUNDS_EXCEEDED:
      return "array bounds exceeded";
    case EXCEPTION_ILLEGAL_INSTRUCTION:
      return "illegal instruction";
    case EXCEPTION_PRIV_INSTRUCTION:
      return "privileged instruction";
    case EXCEPTION_INT_DIVIDE_BY_ZERO:
      return "integer division by zero";
    case EXCEPTION_INT_OVERFLOW:
      return "integer overflow";
    case EXCEPTION_FLT_DIVIDE_BY_ZERO:
    case EXCEPTION_FLT_INVALID_OPERATION:
    case EXCEPTION_FLT_OVERFLOW:
    case EXCEPTION_FLT_UNDERFLOW:
    case EXCEPTION_FLT_INEXACT_RESULT:
      return "floating-point exception";
    case EXCEPTION_STACK_OVERFLOW:
      return "stack overflow";
    case EXCEPTION_BREAKPOINT:
      return "breakpoint";
    case 0xC0000374:  // STATUS_HEAP_CORRUPTION
      return "heap corruption";
    case 0xC0000409:  // STATUS_STACK_BUFFER_OVERRUN, also of __fastfail
      return "fail fast";
    case 0xE06D7363:  // Of Microsoft's compiler: "msc".
    case 0x20474343:  // Of GCC: "CCG".
      return "C++ exception";
    default:
      return "an exception";
  }
}

}}}  // namespace tenon::TENON_RELEASE::host::platform
