// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/variants/variants.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "tenon/core/bytes.hpp"
#include "tenon/host/layers/variants/impl/read_variants.hpp"
#include "tenon/host/layers/variants/impl/variant_pages.hpp"
#include "tenon/host/loader/files/shortened.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// The variants that a program keeps.
struct KeptVariants final : KeptFacts {
  explicit KeptVariants(std::vector<ProgramVariant> read) noexcept : all(std::move(read)) {}
  const std::vector<ProgramVariant> all;
};

}  // namespace detail

Result<Variants> Variants::read(const Program& program) {
  const KeptFacts* kept = program.kept();
  if (kept == nullptr) {
    const auto table = program.find_key(variants_key);
    if (!table) return Variants(program, {});
    detail::read_variants_alone(program);
    auto all = detail::read_variants(program, as_text(program.key_data(*table)));
    if (!all.ok()) return shortened(std::move(all).status().with_context(program.name()));
    kept = &program.keep(std::make_unique<detail::KeptVariants>(*std::move(all)));
  }
  return Variants(program, static_cast<const detail::KeptVariants*>(kept)->all);
}

Result<std::shared_ptr<const Program>> Variants::open(const std::filesystem::path& path,
                                                      const HostLimits& limits) {
  TENON_TRY(auto program, Program::open(path, limits, &detail::seems_to_have_variants));
  TENON_RETURN_IF_ERROR(of(*program));
  return program;
}

std::span<const ProgramVariant> Variants::of_method(std::string_view method) const noexcept {
  if (all_.empty()) return {};
  const auto number = program_->find_method(method);
  if (!number) return {};
  // They are in the order of their methods.
  const auto first = std::ranges::lower_bound(all_, number, {}, [&](const ProgramVariant& one) {
    return program_->find_method(one.method);
  });
  const auto last = std::find_if_not(
      first, all_.end(), [&](const ProgramVariant& one) { return one.method == method; });
  return {first, last};
}

const ProgramVariant* Variants::find(std::string_view plan) const noexcept {
  for (const ProgramVariant& variant : all_) {
    if (program_->method_name(variant.plan) == plan) return &variant;
  }
  return nullptr;
}

std::vector<std::string_view> Variants::visible_methods() const {
  std::vector<bool> is_hidden(program_->num_methods());
  for (const ProgramVariant& variant : all_) {
    if (!variant.is_default) is_hidden[variant.plan] = true;
  }
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < program_->num_methods(); ++i) {
    if (!is_hidden[i]) names.push_back(program_->method_name(i));
  }
  return names;
}

}}}  // namespace tenon::TENON_RELEASE::host
