// SPDX-License-Identifier: MIT
#include "registry_support.hpp"

#include "support/sanitizer.hpp"

// The thread sanitizer links an operator new of its own; the tests are left out there.
#if !defined(TENON_TEST_HAS_THREAD_SANITIZER)

#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>

namespace {

constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();
constinit thread_local std::uint64_t left = never;
constinit thread_local bool failed = false;

}  // namespace

namespace tenon::test {

FailingAllocation::FailingAllocation(std::uint64_t before) noexcept {
  left = before;
  failed = false;
}

FailingAllocation::~FailingAllocation() { left = never; }

bool FailingAllocation::happened() const noexcept { return failed; }

}  // namespace tenon::test

void* operator new(std::size_t size) {
  if (left != never && left-- == 0) {
    left = never;
    failed = true;
    throw std::bad_alloc();
  }
  if (void* const memory = std::malloc(size != 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return std::malloc(size != 0 ? size : 1);
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

#endif
