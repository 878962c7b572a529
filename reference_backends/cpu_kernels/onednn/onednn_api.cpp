// SPDX-License-Identifier: MIT
#include "onednn/onednn_api.hpp"

#include <string>
#include <string_view>

#include "common/isolated_library.hpp"
#include "tenon/core/concat.hpp"

namespace tenon::cpu_aoti::onednn {
namespace {

constexpr const char* library_name = TENON_CPU_AOTI_ONEDNN_LIBRARY;

/// Debian's name of the package with a library: libdnnl3.6 has libdnnl.so.3.6.
[[nodiscard]] std::string package() {
  constexpr std::string_view before = "libdnnl.so.";
  return concat("libdnnl", std::string_view(library_name).substr(before.size()));
}

struct Loaded {
  Loaded()
      : library(library_name),
        problem(
            aoti_common::missing_text(library, concat("oneDNN ", DNNL_VERSION_MAJOR), package())) {
    if (!library) return;
#define TENON_CPU_AOTI_FIND(name)                                         \
  api.name = reinterpret_cast<decltype(api.name)>(library.symbol(#name)); \
  if (!api.name)                                                          \
    problem = concat("oneDNN: ", std::string_view(library_name), " has no function " #name);
    TENON_CPU_AOTI_ONEDNN(TENON_CPU_AOTI_FIND)
#undef TENON_CPU_AOTI_FIND
  }

  aoti_common::IsolatedLibrary library;
  Api api;
  std::string problem;
};

}  // namespace

Status load() { return aoti_common::find_once<Loaded>(); }

const Api& api() noexcept { return aoti_common::found_once<Loaded>().api; }

}  // namespace tenon::cpu_aoti::onednn
