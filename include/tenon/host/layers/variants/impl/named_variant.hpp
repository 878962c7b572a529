// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/variants/variant.hpp"
#include "tenon/host/layers/variants/variants.hpp"
#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/loader/method/options.hpp"
#include "tenon/host/loader/registry/registry.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

[[nodiscard, gnu::cold]] inline Status no_such_variant(std::span<const ProgramVariant> variants,
                                                       std::string_view method,
                                                       std::string_view name) {
  constexpr std::size_t most = 16;
  std::string known;
  for (const ProgramVariant& one : variants.first(std::min(variants.size(), most))) {
    known += concat(known.empty() ? "; it has " : ", ", quoted(one.name));
  }
  if (variants.size() > most) known += ", ...";
  return error(Error::InvalidArgument, "method ", quoted(method), " has no variant ", quoted(name),
               variants.empty() ? "; it has a single form" : std::string_view(known));
}

/// The name of the variant that a load with `options` is to take; empty when none has one.
[[nodiscard]] inline std::string_view named_variant(const MethodOptions& options) {
  std::string_view name;
  const auto take = [&](const Variant& layer) {
    if (name.empty()) name = layer.name();
  };
  if (options.registry) for_each_layer<Variant>(options.registry->layers(), take);
  for_each_layer<Variant>(options.layers, take);
  return name;
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
