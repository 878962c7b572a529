// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/aot/shared_bytes.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// `library` without its symbol table and debug information, which only debuggers read, as `strip`
/// leaves it: sections that are loaded keep their bytes, places and headers, those behind them are
/// cut off. For every machine, as instructions are not looked at. Returns the bytes unchanged when
/// there is no symbol table and no debug information, or it is no ELF file of 64 bits (Mach-O).
///
/// errors: InvalidProgram for headers that contradict the file; NotSupported when bytes that may be
///         needed would be lost: data behind the sections, as weights that AOTInductor appends, or
///         a loaded section behind one that is not.
[[nodiscard]] Result<SharedBytes> strip_library(const SharedBytes& library);

}}}  // namespace tenon::TENON_RELEASE::aot
