// SPDX-License-Identifier: MIT
//
// What a declaration of the boundary needs from a compiler.

#ifndef TENON_ABI_MACROS_H
#define TENON_ABI_MACROS_H

#include <stddef.h>
#include <stdint.h>

/// The calling convention of every function of the boundary. Options of a compiler that choose
/// another one (/Gz, /Gv) do not change it.
#if defined(_WIN32)
#define TENON_CALL __cdecl
#else
#define TENON_CALL
#endif

/// Precedes the definition of a plugin's one object.
#if defined(_WIN32)
#define TENON_EXPORT __declspec(dllexport)
#else
#define TENON_EXPORT __attribute__((visibility("default")))
#endif

/// True when `object`, a struct of the boundary that begins with its size, is long enough to have
/// `member`. The other side may have been compiled with older headers.
#define TENON_HAS_MEMBER(object, member)                                     \
  ((size_t)((const char*)(&(object).member + 1) - (const char*)&(object)) <= \
   (size_t)(object).struct_size)

#endif  // TENON_ABI_MACROS_H
