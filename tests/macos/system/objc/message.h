// SPDX-License-Identifier: MIT
//
// What metal-cpp needs of the macOS header of this name, to compile where there is no macOS SDK.
#pragma once

#include <objc/runtime.h>

extern "C" {
void objc_msgSend(void);
void objc_msgSend_stret(void);
void objc_msgSend_fpret(void);
}
