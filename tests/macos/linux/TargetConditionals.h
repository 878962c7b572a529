// SPDX-License-Identifier: MIT
//
// What metal-cpp needs of the macOS header of this name, to compile for Linux.
#pragma once

#define TARGET_OS_OSX 1
