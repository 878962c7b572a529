// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>  // Defines __GLIBCXX__ with that C++ library.

#include "tenon/abi/version.h"

/// For a plugin on Windows that has GCC's C++ library in it (`-static`, `-static-libstdc++`):
/// include it in one source. That library takes 72 KiB for exceptions thrown when memory ran out,
/// as soon as it is loaded, and does not return them: each load and unload of the plugin would
/// leave them behind, measured with GCC 12. With this header they are returned when the plugin is
/// unloaded.
///
/// Not for a plugin that uses `libstdc++-6.dll`: others use the same memory. Anywhere else it does
/// nothing.
#if defined(_WIN32) && defined(__GLIBCXX__)
namespace __gnu_cxx {
void __freeres();  // Of libstdc++; no header of it declares the function.
}

namespace tenon { inline namespace TENON_RELEASE { namespace detail {
[[gnu::destructor]] static void return_memory_of_libstdcxx() { __gnu_cxx::__freeres(); }
}}}  // namespace tenon::TENON_RELEASE::detail
#endif
