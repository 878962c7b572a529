// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/inspect/method_meta.hpp"
#include "tenon/host/loader/method/options.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/loader/registry/registry.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Puts the backends that `options.isolation` isolates into `options.backends`, where they are
/// found before those of the registry. Those of all variants of a method that a load may choose;
/// of several variants, those whose plugins are missing are left out.
///
/// errors: those of `BackendRegistry::isolate_backend`.
[[nodiscard, gnu::cold]] inline Status isolate_backends(const Program& program,
                                                        std::string_view method,
                                                        MethodOptions& options) {
  const auto isolation = std::exchange(options.isolation, nullptr);
  if (!isolation || !options.registry) return ok();
  std::set<std::string, std::less<>> ids;
  const auto add = [&](std::string_view id) {
    if (!ids.contains(id)) ids.emplace(id);
  };
  const auto variants = program.variants(method);
  for (const ProgramVariant& variant : variants) {
    if (!options.variant.empty() && options.variant != variant.name) continue;
    for (const VariantNeed& need : variant.needs) add(need.backend_id);
  }
  if (variants.empty()) {
    TENON_TRY(const MethodMeta meta, MethodMeta::of(program, method));
    for (const std::string_view id : meta.backends()) add(id);
  }
  for (const std::string& id : ids) {
    const auto has_id = [&](const BackendRef& each) { return each && each->id() == id; };
    if (std::ranges::any_of(options.backends, has_id)) continue;
    if (!variants.empty() && !options.registry->contains(id)) continue;
    TENON_TRY(BackendRef backend, options.registry->isolate_backend(id, isolation));
    if (backend) options.backends.push_back(std::move(backend));
  }
  return ok();
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
