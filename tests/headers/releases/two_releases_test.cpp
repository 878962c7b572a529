// SPDX-License-Identifier: MIT
//
// two_releases_test LIBRARY LATER: one process with the headers of two releases.
#include <dlfcn.h>

#include <cstddef>
#include <cstdlib>

#include "support/catch.hpp"

namespace {

using Object = const void*(int);
using Refuse = std::size_t(const char*);

/// Their symbols are offered to the libraries that are loaded after them, as the symbols of an
/// application's own libraries are.
void* open_library(const char* variable) {
  const char* path = std::getenv(variable);
  REQUIRE(path != nullptr);
  void* library = ::dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  CAPTURE(library ? "" : ::dlerror());
  REQUIRE(library != nullptr);
  return library;
}

template <class Function>
Function* find(void* library, const char* name) {
  void* found = ::dlsym(library, name);
  REQUIRE(found != nullptr);
  return reinterpret_cast<Function*>(found);
}

TEST_CASE("hosts of two releases in one process share no object") {
  void* const one = open_library("TENON_TEST_COPY");
  void* const later = open_library("TENON_TEST_LATER_COPY");
  auto* const object_of_one = find<Object>(one, "object_of_host");
  auto* const object_of_later = find<Object>(later, "object_of_host");
  REQUIRE(object_of_one != object_of_later);
  int which = 0;
  for (; object_of_one(which) != nullptr; ++which) {
    INFO("object " << which);
    CHECK(object_of_later(which) != nullptr);
    CHECK(object_of_one(which) != object_of_later(which));
  }
  CHECK(which == 4);
  CHECK(find<Refuse>(one, "refuse")("/dev/null") > 0);
  CHECK(find<Refuse>(later, "refuse")("/dev/null") > 0);
}

}  // namespace
