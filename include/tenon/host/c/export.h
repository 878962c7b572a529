// SPDX-License-Identifier: MIT
//
// How functions of the C interface (tenon_host.h) are marked: a library exports them, and a program
// that links the library imports them.

#ifndef TENON_HOST_C_EXPORT_H
#define TENON_HOST_C_EXPORT_H

// On Windows the functions are libtenon-1.dll's. A program with the definitions in itself defines
// TENON_HOST_STATIC; what builds the DLL defines TENON_HOST_BUILD.
#if !defined(_WIN32)
#define TENON_HOST_API __attribute__((visibility("default")))
#elif defined(TENON_HOST_STATIC)
#define TENON_HOST_API
#elif defined(TENON_HOST_BUILD)
#define TENON_HOST_API __declspec(dllexport)
#else
#define TENON_HOST_API __declspec(dllimport)
#endif

#endif  // TENON_HOST_C_EXPORT_H
