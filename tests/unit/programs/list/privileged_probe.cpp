// SPDX-License-Identifier: MIT
//
// A host for privileged_test.py, which gives it more rights than those who start it: says which
// backends it finds in a file of its own, and what becomes of the library after its last user.
//
//   privileged-probe PLUGIN BACKEND
#include <sys/auxv.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "tenon/host/backend_registry.hpp"
#include "tenon/host/layers/discovery/discovery.hpp"

namespace {

bool is_mapped(const std::string& path) {
  std::ifstream maps("/proc/self/maps");
  const std::string text{std::istreambuf_iterator<char>(maps), {}};
  return text.find(path) != std::string::npos;
}

int fail(const tenon::Status& why) {
  std::fprintf(stderr, "%s\n", describe(why).c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::printf("AT_SECURE %lu\n", ::getauxval(AT_SECURE));

  const std::string path = argv[1];
  tenon::host::BackendRegistry own;
  own.add_search(tenon::host::discovery({.paths = {path}, .installed = {}}));
  for (const std::string& id : own.list_backends({})) std::printf("own %s\n", id.c_str());

  tenon::host::BackendRegistry named;
  if (auto added = named.register_backend(path); !added.ok()) return fail(added);
  {
    auto backend = named.lookup_backend(argv[2]);
    if (!backend.ok()) return fail(std::move(backend).status());
    std::printf("while used: %s\n", is_mapped(path) ? "mapped" : "not mapped");
  }
  std::printf("after use: %s\n", is_mapped(path) ? "mapped" : "not mapped");
  return 0;
}
