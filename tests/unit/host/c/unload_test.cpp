// SPDX-License-Identifier: MIT
//
// libtenon.so is closed and unmapped, as a host of another program's plugin would do it.
#include <dlfcn.h>

#include <fstream>
#include <string>
#include <thread>

#include "c_support.hpp"

using namespace tenon::test;

namespace {

bool is_mapped(const std::string& name) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(name) != std::string::npos) return true;
  }
  return false;
}

template <auto function>
auto symbol(void* library, const char* name) {
  return reinterpret_cast<decltype(function)>(dlsym(library, name));
}

/// Loads a method that fails, through a copy of the library that nothing else uses.
void use(void* library, const tenon_program_options* none, const AlignedBytes& bytes) {
  tenon_registry* registry = nullptr;
  tenon_program* program = nullptr;
  tenon_method* method = nullptr;
  tenon_error* error = nullptr;
  symbol<&tenon_registry_create>(library, "tenon_registry_create")(nullptr, &registry, nullptr);
  symbol<&tenon_registry_register_plugin>(library, "tenon_registry_register_plugin")(
      registry, TENON_TEST_COUNTING, nullptr, nullptr);
  symbol<&tenon_program_copy>(library, "tenon_program_copy")(
      bytes.bytes().data(), bytes.bytes().size(), "a", none, &program, nullptr);
  auto options = sized<tenon_method_options>();
  options.registry = registry;
  CHECK(symbol<&tenon_method_load>(library, "tenon_method_load")(program, "forward", &options,
                                                                 &method, &error) ==
        TENON_STATUS_DELEGATE_INVALID_COMPATIBILITY);
  symbol<&tenon_error_destroy>(library, "tenon_error_destroy")(error);
  symbol<&tenon_program_destroy>(library, "tenon_program_destroy")(program);
  symbol<&tenon_registry_destroy>(library, "tenon_registry_destroy")(registry);
}

}  // namespace

TEST_CASE("the library is unmapped when it is closed and the threads that called it have ended",
          "[c][unload]") {
  const std::string path = TENON_TEST_C_COPY;
  const AlignedBytes bytes = delegate_program("Counting", "refuse").build();
  REQUIRE_FALSE(is_mapped(path));
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  INFO((library ? "" : dlerror()));
  REQUIRE(library != nullptr);
  CHECK(is_mapped(path));
  std::thread([&] { use(library, nullptr, bytes); }).join();
  REQUIRE(dlclose(library) == 0);
#ifdef __GLIBC__  // musl unmaps nothing.
  CHECK_FALSE(is_mapped(path));
#endif
}
