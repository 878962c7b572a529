// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/discovery/provider_registry.hpp"
#include "tenon/host/layers/isolation/isolation.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "tenon/host/layers/variants/impl/named_variant.hpp"
#include "tenon/host/layers/variants/variants.hpp"
#include "tenon/host/loader/method/options.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/loader/registry/registry.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

Status Isolation::add_backends(detail::LoadRequest& request) const {
  MethodOptions& options = request.options;
  if (!isolation_ || !options.registry) return ok();
  const ProviderRegistry* const registry = ProviderRegistry::of(options.registry);
  if (!registry) {
    return error(Error::NotSupported,
                 "the registry cannot isolate backends; expected a ProviderRegistry");
  }
  TENON_TRY(const Variants all, Variants::of(*request.program));
  const auto variants = all.of_method(request.name);
  const std::string_view wanted = detail::named_variant(options);
  std::set<std::string_view> ids;
  for (const ProgramVariant& variant : variants) {
    if (!wanted.empty() && wanted != variant.name) continue;
    for (const VariantNeed& need : variant.needs) ids.insert(need.backend_id);
  }
  if (variants.empty()) {
    TENON_TRY(const auto* plan, request.program->plan(request.name));
    for (const auto* delegate : *plan->delegates()) ids.insert(delegate->id()->string_view());
  }
  for (const std::string_view id : ids) {
    const auto has_id = [&](const BackendRef& each) { return each && each->id() == id; };
    if (std::ranges::any_of(options.backends, has_id)) continue;
    // A variant without a plugin is not chosen, and is no error.
    if (!variants.empty() && !registry->contains(id)) continue;
    TENON_TRY(BackendRef backend, registry->isolate_backend(id, isolation_));
    if (backend) options.backends.push_back(std::move(backend));
  }
  return ok();
}

}}}  // namespace tenon::TENON_RELEASE::host
