// SPDX-License-Identifier: MIT
//
// The library of copy.cpp, compiled with the headers of a later release.
#include "tenon/abi/version.h"
#undef TENON_RELEASE
#define TENON_RELEASE v999_0_0
#include "copy.cpp"  // NOLINT(bugprone-suspicious-include)
