// SPDX-License-Identifier: MIT
//
// What metal-cpp needs of the macOS header of this name, to compile where there is no macOS SDK.
#pragma once

typedef struct __IOSurface* IOSurfaceRef;
