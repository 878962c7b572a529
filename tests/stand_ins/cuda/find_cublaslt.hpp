// SPDX-License-Identifier: MIT
#pragma once

#include <dlfcn.h>

#include <string>

#include "cublaslt_stand_in.hpp"

namespace tenon::stand_in_cublaslt {

/// The interface of the stand-in in the file `path`, which remains loaded; null for another library
/// or none.
inline const Interface* find(const char* path) {
  void* const library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) return nullptr;
  using Find = const Interface*();
  auto* const found = reinterpret_cast<Find*>(::dlsym(library, "tenon_stand_in_cublaslt"));
  return found ? found() : nullptr;
}

/// The misuses that it found; empty when there were none.
inline std::string misuses(const Interface& library) {
  std::string out;
  for (long i = 0; i < library.num_misuses(); ++i) out += std::string(library.misuse(i)) + "\n";
  return out;
}

}  // namespace tenon::stand_in_cublaslt
