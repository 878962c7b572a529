// SPDX-License-Identifier: MIT
//
// Runs the backend's use of metal-cpp on classes that have the methods of Metal's in one version of
// macOS, given as the argument, and prints what they were sent. Command buffers fail.
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

void add_queues() {
  add_method(
      "MTLDevice", "newCommandQueue", +[](objc_object*, SEL) { return make("MTLCommandQueue"); });
  add_method(
      "MTLDevice", "newSharedEvent", +[](objc_object*, SEL) { return make("MTLSharedEvent"); });
  add_method("MTLDevice", "registryID", +[](objc_object*, SEL) { return 1UL; });
  add_method("MTLOtherDevice", "registryID", +[](objc_object*, SEL) { return 2UL; });
  for (const char* each : {"MTLDevice", "MTLOtherDevice"}) add_method(each, "name", &give_text);
  add_method("MTLCommandQueue", "device", +[](objc_object*, SEL) { return make("MTLDevice"); });
  add_method("MTLOtherQueue", "device", +[](objc_object*, SEL) { return make("MTLOtherDevice"); });
  add_method(
      "MTLCommandQueue", "commandBuffer",
      +[](objc_object*, SEL) { return make("MTLCommandBuffer"); });
  add_method(
      "MTLCommandBuffer",
      "encodeWaitForEvent:value:", +[](objc_object*, SEL, objc_object* event, unsigned long value) {
        std::printf("encodeWaitForEvent %s %lu\n", event->isa->name.c_str(), value);
      });
  add_method(
      "MTLCommandBuffer",
      "encodeSignalEvent:value:", +[](objc_object*, SEL, objc_object* event, unsigned long value) {
        std::printf("encodeSignalEvent %s %lu\n", event->isa->name.c_str(), value);
      });
  add_method("MTLCommandBuffer", "commit", +[](objc_object*, SEL) { std::printf("commit\n"); });
  add_method(
      "MTLCommandBuffer", "waitUntilCompleted",
      +[](objc_object*, SEL) { std::printf("waitUntilCompleted\n"); });
  add_method("MTLCommandBuffer", "status", +[](objc_object*, SEL) { return 5UL; });  // Error.
  add_method("MTLCommandBuffer", "error", +[](objc_object*, SEL) { return make("NSError"); });
  add_method("NSError", "localizedDescription", &give_text);
  add_method("MTLSharedEvent", "signaledValue", +[](objc_object*, SEL) { return 8UL; });
  add_method(
      "MTLSharedEvent", "setSignaledValue:", +[](objc_object*, SEL, unsigned long value) {
        std::printf("setSignaledValue %lu\n", value);
      });
  // The first wait takes longer than a call waits for.
  add_method(
      "MTLSharedEvent", "waitUntilSignaledValue:timeoutMS:",
      +[](objc_object*, SEL, unsigned long value, unsigned long) {
        static int calls = 0;
        std::printf("waitUntilSignaledValue %lu\n", value);
        return ++calls > 1;
      });
}

/// Submits a wait and a signal; true when all answers are as they should be.
bool use_queues(tenon::metal_aoti::MetalDevice& device) {
  const auto queue = device.make_queue();
  const auto event = device.make_event();
  if (!queue.ok() || !event.ok()) return false;
  if (!(*queue)->wait_for(**event, 7).ok() || !(*queue)->signal(**event, 8).ok()) return false;
  if (!(*queue)->commit().ok()) return false;
  const auto work = (*queue)->take_submitted();
  if (!work || (*queue)->take_submitted()) return false;
  if (!work->is_complete() || !work->has_failed() || work->wait().ok()) return false;
  (*event)->wait(8);
  (*event)->signal(9);
  return (*event)->signaled_value() == 8 &&
         (*event)->handle() == device.use_event((*event)->handle())->handle() &&
         device.use_queue(make("MTLCommandQueue")).ok() &&
         device.use_queue(make("MTLOtherQueue")).error() == tenon::Error::NotSupported;
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
  if (!(*device)->compile("kernel void k() {}").ok()) return 1;
  add_queues();
  return use_queues(**device) ? 0 : 1;
}
