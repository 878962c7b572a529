// SPDX-License-Identifier: MIT
#include "unused_spec.hpp"

#include <algorithm>
#include <vector>

#include "tenon/core/concat.hpp"
#include "tenon/core/lists.hpp"

namespace tenon::compile {

std::string unused_spec_warning(const Spec& spec, const aot::ProgramData& program) {
  std::vector<std::string> asked;  // The backends whose delegates could have it.
  for (const aot::MethodData& method : program.methods) {
    for (const aot::DelegateData& delegate : method.delegates) {
      if (spec.backend.value_or(delegate.id) != delegate.id) continue;
      if (std::ranges::find(delegate.compile_specs, spec.key, &aot::CompileSpecData::key) !=
          delegate.compile_specs.end()) {
        return {};
      }
      if (std::ranges::find(asked, delegate.id) == asked.end()) asked.push_back(delegate.id);
    }
  }
  const std::string name = concat("--spec ", spec.backend ? *spec.backend + "." : "", spec.key,
                                  ": reaches no delegate: ");
  if (asked.empty()) {
    return concat(name, spec.backend ? *spec.backend : std::string("no backend"), " took ",
                  spec.backend ? "no node" : "a node");
  }
  return concat(name, "`partition` of ", join(asked, ", "),
                " got it and passed it on to none of its partitions");
}

}  // namespace tenon::compile
