// SPDX-License-Identifier: MIT
//
// Runs the backend's use of metal-cpp on classes that have the methods of Metal's in one version of
// macOS, given as the argument, and prints what they were sent.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "device/metal_device.hpp"
#include "objective_c.hpp"

namespace {

using objective_c::add_method;
using objective_c::make;

const char* text(objc_object*, SEL) { return "applegpu_g14s"; }
objc_object* give_text(objc_object*, SEL) { return make("NSString"); }
objc_object* give_string(objc_object*, SEL, const char*, unsigned long) { return make("NSString"); }
objc_object* give_library(objc_object*, SEL, objc_object*, objc_object*, objc_object**) {
  return make("MTLLibrary");
}
template <int number>
void record(objc_object*, SEL, long value) {
  constexpr const char* names[] = {"setFastMathEnabled", "setMathMode",
                                   "setMathFloatingPointFunctions"};
  // A bool leaves the upper bits of its register unset.
  std::printf("%s %ld\n", names[number], number == 0 ? value & 1 : value);
}

}  // namespace

extern "C" objc_object* MTLCreateSystemDefaultDevice() { return make("MTLDevice"); }
extern "C" objc_object* MTLCopyAllDevices() { return nullptr; }

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const int version = std::atoi(argv[1]);
  add_method("NSAutoreleasePool", "drain", +[](objc_object*, SEL) {});
  add_method("NSString", "UTF8String", &text);
  objective_c::class_named("NSString").isa->methods["stringWithCString:encoding:"] =
      reinterpret_cast<void*>(&give_string);
  add_method("MTLDevice", "newLibraryWithSource:options:error:", &give_library);
  add_method("MTLCompileOptions", "setFastMathEnabled:", &record<0>);
  if (version >= 14) {
    add_method(
        "MTLDevice", "architecture", +[](objc_object*, SEL) { return make("MTLArchitecture"); });
    add_method("MTLArchitecture", "name", &give_text);
  }
  if (version >= 15) {
    add_method("MTLCompileOptions", "setMathMode:", &record<1>);
    add_method("MTLCompileOptions", "setMathFloatingPointFunctions:", &record<2>);
  }
  const auto device = tenon::metal_aoti::open_metal_device();
  if (!device.ok()) return 1;
  std::printf("architecture '%s'\n", (*device)->architecture().c_str());
  return (*device)->compile("kernel void k() {}").ok() ? 0 : 1;
}
