// SPDX-License-Identifier: MIT
//
// As much of the Objective-C runtime as metal-cpp calls, so that code that uses metal-cpp runs on
// Linux. A message that an object has no method for ends the process, as on a Mac.
#pragma once

#include <objc/message.h>
#include <objc/runtime.h>

#include <map>
#include <string>

/// A method takes the object, the selector and then its arguments, all in integer registers.
struct objc_class {
  objc_class* isa = nullptr;
  std::string name{};
  std::map<std::string, void*> methods{};
};

namespace objective_c {

/// The class of that name, which is made at the first call. It knows alloc, init, retain, release,
/// autorelease, retainCount and respondsToSelector: and is never freed, as its objects.
[[nodiscard]] objc_class& class_named(const std::string& name);

[[nodiscard]] objc_object* make(const std::string& class_name);

template <class Function>
void add_method(const std::string& class_name, const char* selector, Function* function) {
  class_named(class_name).methods[selector] = reinterpret_cast<void*>(function);
}

}  // namespace objective_c
