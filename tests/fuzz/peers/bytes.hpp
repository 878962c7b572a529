// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tenon/abi/backend.h"

/// For the two sides under test: the code that gets bytes may read each of them.
namespace tenon::fuzz {

[[noreturn]] inline void broken(const char* what) {
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

inline void read_bytes(const void* data, std::uint64_t size) {
  [[maybe_unused]] static volatile unsigned char sink;
  const auto* const bytes = static_cast<const unsigned char*>(data);
  unsigned char sum = 0;
  for (std::uint64_t i = 0; i < size; ++i) sum = static_cast<unsigned char>(sum + bytes[i]);
  sink = sum;
}
inline void read_text(const char* text) {
  if (text) read_bytes(text, std::strlen(text));
}
inline void read_option(const tenon_option& option) {
  read_text(option.key);
  if (option.type == TENON_OPTION_STRING || option.type == TENON_OPTION_BYTES) {
    read_bytes(option.as.span.data, option.as.span.size);
  }
}

}  // namespace tenon::fuzz
