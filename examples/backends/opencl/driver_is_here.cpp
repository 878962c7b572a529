// SPDX-License-Identifier: MIT
//
// Run when a build is configured: exits with 0 where OpenCL has a platform.

#include <dlfcn.h>

int main() {
  void* const library = ::dlopen("libOpenCL.so.1", RTLD_NOW);
  if (!library) return 1;
  using List = int (*)(unsigned, void**, unsigned*);
  const auto list = reinterpret_cast<List>(::dlsym(library, "clGetPlatformIDs"));
  unsigned count = 0;
  return list && list(0, nullptr, &count) == 0 && count != 0 ? 0 : 1;
}
