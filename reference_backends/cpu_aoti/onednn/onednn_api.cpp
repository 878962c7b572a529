// SPDX-License-Identifier: MIT
#include "onednn/onednn_api.hpp"

#include <string>
#include <string_view>

#include "isolated_library.hpp"

namespace tenon::cpu_aoti::onednn {
namespace {

struct Loaded {
  Loaded() : library("libdnnl.so.2"), problem(missing_text(library, "oneDNN 2", "libdnnl2")) {
    if (!library) return;
#define TENON_CPU_AOTI_FIND(name)                                         \
  api.name = reinterpret_cast<decltype(api.name)>(library.symbol(#name)); \
  if (!api.name) problem = "oneDNN: libdnnl.so.2 has no function " #name;
    TENON_CPU_AOTI_ONEDNN(TENON_CPU_AOTI_FIND)
#undef TENON_CPU_AOTI_FIND
  }

  IsolatedLibrary library;
  Api api;
  std::string problem;
};

const Loaded& loaded() {
  static const Loaded only;
  return only;
}

}  // namespace

Status load() {
  const Loaded& now = loaded();
  return now.problem.empty() ? ok() : error(Error::NotFound, std::string_view(now.problem));
}

const Api& api() noexcept { return loaded().api; }

}  // namespace tenon::cpu_aoti::onednn
