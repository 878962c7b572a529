// SPDX-License-Identifier: MIT
//
// What metal-cpp needs of the macOS header of this name, to compile where there is no macOS SDK.
#pragma once

#define CF_ENUM(type, name) \
  enum name : type name;    \
  enum name : type
typedef double CFTimeInterval;
typedef const void* CFTypeRef;
