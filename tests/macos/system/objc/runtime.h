// SPDX-License-Identifier: MIT
//
// What metal-cpp needs of the macOS header of this name, to compile where there is no macOS SDK.
#pragma once

struct objc_class;
struct objc_selector;
struct objc_object {
  struct objc_class* isa;
};
struct Protocol;
typedef struct objc_class* Class;
typedef struct objc_object* id;
typedef struct objc_selector* SEL;
typedef signed char BOOL;

extern "C" {
SEL sel_registerName(const char* name);
id objc_lookUpClass(const char* name);
id objc_getProtocol(const char* name);
Class object_getClass(id object);
void* class_getMethodImplementation(Class type, SEL selector);
}
