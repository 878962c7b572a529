// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/isolation/plugin_isolation.hpp"
#include "tenon/host/loader/method/options.hpp"
#include "tenon/host/loader/registry/registry.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Puts the backends among `needed` that `options.isolation` isolates into `options.backends`,
/// where they are found before those of the registry. Those whose plugins are missing are left out
/// when `may_be_missing`.
///
/// errors: those of `BackendRegistry::isolate_backend`.
[[nodiscard, gnu::cold]] inline Status isolate_backends(std::span<const std::string_view> needed,
                                                        bool may_be_missing,
                                                        MethodOptions& options) {
  const auto isolation = std::exchange(options.isolation, nullptr);
  if (!isolation || !options.registry) return ok();
  for (const std::string_view id : std::set<std::string_view>(needed.begin(), needed.end())) {
    const auto has_id = [&](const BackendRef& each) { return each && each->id() == id; };
    if (std::ranges::any_of(options.backends, has_id)) continue;
    if (may_be_missing && !options.registry->contains(id)) continue;
    TENON_TRY(BackendRef backend, options.registry->isolate_backend(id, isolation));
    if (backend) options.backends.push_back(std::move(backend));
  }
  return ok();
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
