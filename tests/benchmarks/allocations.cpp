// SPDX-License-Identifier: MIT
#include "harness.hpp"

#include <cerrno>
#include <cstddef>

namespace {

// Plain variables: the benchmark has one thread, and the timed runs pay one predictable branch.
bool counting = false;
std::uint64_t count = 0;

[[maybe_unused]] void note() noexcept {
  if (counting) ++count;
}

}  // namespace

// The executable's definitions come before glibc's for every module in the process. operator new
// ends here too.
#if defined(__GLIBC__)
extern "C" {
void* __libc_malloc(std::size_t size) noexcept;
void* __libc_calloc(std::size_t count, std::size_t size) noexcept;
void* __libc_realloc(void* block, std::size_t size) noexcept;
void* __libc_memalign(std::size_t alignment, std::size_t size) noexcept;

void* malloc(std::size_t size) noexcept {
  note();
  return __libc_malloc(size);
}

void* calloc(std::size_t number, std::size_t size) noexcept {
  note();
  return __libc_calloc(number, size);
}

void* realloc(void* block, std::size_t size) noexcept {
  note();
  return __libc_realloc(block, size);
}

void* memalign(std::size_t alignment, std::size_t size) noexcept {
  note();
  return __libc_memalign(alignment, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return memalign(alignment, size);
}

int posix_memalign(void** out, std::size_t alignment, std::size_t size) noexcept {
  if (alignment < sizeof(void*) || (alignment & (alignment - 1)) != 0) return EINVAL;
  void* const block = memalign(alignment, size);
  if (block == nullptr) return ENOMEM;
  *out = block;
  return 0;
}
}
#endif

namespace tenon::bench {

bool can_count_allocations() {
#if defined(__GLIBC__)
  return true;
#else
  return false;
#endif
}

std::uint64_t count_allocations(const Work& work, std::uint64_t repeats) {
  count = 0;
  counting = true;
  work(repeats);
  counting = false;
  return count;
}

}  // namespace tenon::bench
