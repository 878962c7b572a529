// SPDX-License-Identifier: MIT
#include "operators/linalg/lapack.hpp"

#include <string>
#include <string_view>

#include "common/isolated_library.hpp"
#include "tenon/core/concat.hpp"

namespace tenon::cpu_aoti::lapack {
namespace {

struct Loaded {
  Loaded()
      : library("liblapack.so.3"),
        problem(aoti_common::missing_text(library, "LAPACK", "liblapack3")) {
    if (!library) return;
    find(floats, 's');
    find(doubles, 'd');
  }

  template <class T>
  void find(Routines<T>& out, char letter) {
    const auto symbol = [&](const char* name) {
      void* found = library.symbol((letter + std::string(name)).c_str());
      if (!found) problem = concat("LAPACK: liblapack.so.3 has no function ", letter, name);
      return found;
    };
#define TENON_CPU_AOTI_FIND(member, name, parameters) \
  out.member = reinterpret_cast<decltype(out.member)>(symbol(#name));
    TENON_CPU_AOTI_LAPACK(TENON_CPU_AOTI_FIND, T)
#undef TENON_CPU_AOTI_FIND
  }

  aoti_common::IsolatedLibrary library;
  Routines<float> floats;
  Routines<double> doubles;
  std::string problem;
};

}  // namespace

Status load() { return aoti_common::find_once<Loaded>(); }

template <>
const Routines<float>& routines() noexcept {
  return aoti_common::found_once<Loaded>().floats;
}
template <>
const Routines<double>& routines() noexcept {
  return aoti_common::found_once<Loaded>().doubles;
}

}  // namespace tenon::cpu_aoti::lapack
