// SPDX-License-Identifier: MIT
//
// Counts what the whole process asks the system for. Sanitizers have a malloc of their own that
// must not be replaced; the test that counts says nothing there and is run without them too.

#include <cstdlib>

#include "support/sanitizer.hpp"
#include "test_backend.hpp"

namespace {
std::size_t allocations = 0;
}

std::size_t tenon::test::num_allocations() { return allocations; }

#if !defined(TENON_TEST_HAS_SANITIZER) && defined(__GLIBC__)
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* malloc(std::size_t size) {
  __atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  __atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
  return __libc_calloc(count, size);
}
}
#endif
