// SPDX-License-Identifier: MIT
//
// Counts work. Sources that are compiled with -fsanitize-coverage=trace-pc call
// __sanitizer_cov_trace_pc at the beginning of each basic block. What the C library does for them
// is not compiled with it, so the functions that take time in proportion to a size are defined
// here; the dynamic linker gives them to all libraries of the process.
#include "work.hpp"

#include <cstddef>
#include <cstdint>

namespace {

constinit std::uint64_t blocks = 0;
constinit std::uint64_t bytes = 0;

}  // namespace

namespace tenon::test {

std::uint64_t work() noexcept { return blocks + bytes / 16; }

}  // namespace tenon::test

extern "C" {

// The names and parameters are the compiler's and the C library's.
// NOLINTBEGIN
void __sanitizer_cov_trace_pc() { ++blocks; }

void* memcpy(void* __restrict to, const void* __restrict from, std::size_t size) {
  bytes += size;
  auto* out = static_cast<unsigned char*>(to);
  const auto* in = static_cast<const unsigned char*>(from);
  for (std::size_t i = 0; i < size; ++i) out[i] = in[i];
  return to;
}

void* memmove(void* to, const void* from, std::size_t size) {
  bytes += size;
  auto* out = static_cast<unsigned char*>(to);
  const auto* in = static_cast<const unsigned char*>(from);
  if (out < in) {
    for (std::size_t i = 0; i < size; ++i) out[i] = in[i];
  } else {
    for (std::size_t i = size; i-- > 0;) out[i] = in[i];
  }
  return to;
}

void* memset(void* to, int value, std::size_t size) {
  bytes += size;
  auto* out = static_cast<unsigned char*>(to);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<unsigned char>(value);
  return to;
}

int memcmp(const void* a, const void* b, std::size_t size) {
  const auto* left = static_cast<const unsigned char*>(a);
  const auto* right = static_cast<const unsigned char*>(b);
  std::size_t i = 0;
  while (i < size && left[i] == right[i]) ++i;
  bytes += i;
  return i == size ? 0 : left[i] < right[i] ? -1 : 1;
}

void* memchr(const void* text, int value, std::size_t size) {
  const auto* in = static_cast<const unsigned char*>(text);
  std::size_t i = 0;
  while (i < size && in[i] != static_cast<unsigned char>(value)) ++i;
  bytes += i;
  return i == size ? nullptr : const_cast<unsigned char*>(in + i);
}

std::size_t strlen(const char* text) {
  std::size_t size = 0;
  while (text[size] != 0) ++size;
  bytes += size;
  return size;
}
// NOLINTEND

}  // extern "C"
