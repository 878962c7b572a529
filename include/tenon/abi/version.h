// SPDX-License-Identifier: MIT
//
// Two numbers that are easily confused and never mixed:
//  * the ABI version says which binary layout a plugin and a host speak;
//  * the SDK version says which release of these headers was compiled.
// The build system and the packages read both from here; nothing else states them.

#ifndef TENON_ABI_VERSION_H
#define TENON_ABI_VERSION_H

/// Binary layout. A new major breaks; a new minor only appends to structs and adds extensions.
#define TENON_ABI_MAJOR 1
#define TENON_ABI_MINOR 0

/// Release of the SDK, semantic versioning.
#define TENON_VERSION_STRING "0.1.0"

/// The inline namespace, inside `tenon`, of every C++ declaration of the SDK. A process may hold
/// code that was compiled with the headers of two releases: their functions, tables and objects
/// have different names, so that neither release uses what the other one defines.
#define TENON_RELEASE v0_1_0

#endif  // TENON_ABI_VERSION_H
