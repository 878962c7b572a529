// SPDX-License-Identifier: MIT
//
// How functions of the host, the ahead-of-time compiler and the conformance kit are compiled.
//
// Header-only is the default and complete: `TENON_API` is `inline`, and every header holds its
// declarations and, after them, its definitions. With `TENON_COMPILED` defined for all sources of a
// program, headers hold declarations alone, and the definitions come from static libraries that
// Meson's option `compiled_host` builds from these same headers: `tenon-host`, `tenon-compiler`,
// `tenon-pt2` and `tenon-conformance`. Plugins are not affected: an author's headers have no
// compiled mode.
//
// In a header of the host (each of the other parts has a macro of its own):
//
//     TENON_API Result<Program> open_program(const std::filesystem::path& path);
//
//     #if TENON_HOST_DEFINITIONS
//     #include <headers that only the definitions need>
//     TENON_API Result<Program> open_program(const std::filesystem::path& path) { ... }
//     #endif
//
// The shape is that of fmt's `FMT_HEADER_ONLY` and of PipeWire's `SPA_API_IMPL`.
#pragma once

#ifdef TENON_COMPILED
#define TENON_API
#else
#define TENON_API inline
#endif

// Before private functions of the host that run when something is loaded and not in each run of a
// method, and before those that make a text. Header-only they are compiled for their size, which
// costs a compiler less than for their speed. Not before those that run for each value, delegate or
// instruction of a program: they are the time of opening and loading, and take up to twice as long.
// Nor before public functions that do work: a compiler takes code that calls one for rare.
#ifdef TENON_COMPILED
#define TENON_COLD
#else
#define TENON_COLD [[gnu::cold]]
#endif

// Before `TENON_API`, for functions that most programs do not call and that cost much to compile.
// Header-only they are templates of nothing, so that a compiler instantiates what they use only
// where one is called. A function of this kind has no address that can be taken without `<>`.
#ifdef TENON_COMPILED
#define TENON_ON_USE
#else
#define TENON_ON_USE template <class...>
#endif

// TENON_BUILD_... is defined by the one source that a static library is made of.
#if !defined(TENON_COMPILED) || defined(TENON_BUILD_HOST)
#define TENON_HOST_DEFINITIONS 1
#else
#define TENON_HOST_DEFINITIONS 0
#endif

#if !defined(TENON_COMPILED) || defined(TENON_BUILD_COMPILER)
#define TENON_COMPILER_DEFINITIONS 1
#else
#define TENON_COMPILER_DEFINITIONS 0
#endif

#if !defined(TENON_COMPILED) || defined(TENON_BUILD_PT2)
#define TENON_PT2_DEFINITIONS 1
#else
#define TENON_PT2_DEFINITIONS 0
#endif

#if !defined(TENON_COMPILED) || defined(TENON_BUILD_CONFORMANCE)
#define TENON_CONFORMANCE_DEFINITIONS 1
#else
#define TENON_CONFORMANCE_DEFINITIONS 0
#endif
