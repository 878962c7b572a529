// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/variants/variant.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/concat.hpp"
#include "tenon/host/layers/variants/impl/choose_variant.hpp"
#include "tenon/host/layers/variants/impl/named_variant.hpp"
#include "tenon/host/layers/variants/impl/variant_pages.hpp"
#include "tenon/host/layers/variants/variants.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/loader/method/method.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/loader/registry/backend_ref.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// The variant of one method that is loaded.
class VariantPart final : public MethodPart {
 public:
  static constexpr char key = 0;

  /// All arguments but `asked` are the program's. `asked` stay loaded until the load ends.
  VariantPart(const ProgramVariant& loaded, std::span<const ProgramVariant> all,
              std::vector<BackendRef> asked) noexcept
      : loaded_(loaded), all_(all), asked_(std::move(asked)) {}

  [[nodiscard]] const void* kind() const noexcept override { return &key; }
  [[nodiscard]] std::string_view name() const noexcept { return loaded_.name; }

  [[nodiscard]] bool may_use(std::string_view backend_id) const noexcept override {
    return std::ranges::any_of(all_, [&](const ProgramVariant& variant) {
      return std::ranges::find(variant.needs, backend_id, &VariantNeed::backend_id) !=
             variant.needs.end();
    });
  }

  [[nodiscard]] Status after_load(Loading&, Status outcome) override {
    asked_.clear();
    return outcome;
  }

 private:
  const ProgramVariant& loaded_;
  const std::span<const ProgramVariant> all_;
  std::vector<BackendRef> asked_;
};

/// Chooses for a program that has variants, or a load that names one.
[[nodiscard, gnu::cold]] inline Result<std::unique_ptr<MethodPart>> attach_variant(
    const Variants& all, LoadRequest& request) {
  const Program& program = *request.program;
  const auto variants = all.of_method(request.name);
  const std::string_view wanted = named_variant(request.options);
  const ProgramVariant* chosen = nullptr;
  std::vector<BackendRef> asked;
  if (!wanted.empty()) {
    const auto found = std::ranges::find(variants, wanted, &ProgramVariant::name);
    if (found == variants.end()) return no_such_variant(variants, request.name, wanted);
    chosen = &*found;
  } else if (variants.empty()) {
    chosen = all.find(request.name);
    if (!chosen) return std::unique_ptr<MethodPart>();
  } else {
    TENON_TRY(VariantChoice choice,
              choose_among_backends(request.program, request.name, request.options));
    if (Status refused = choice.status(); !refused.ok()) {
      return std::move(refused).with_context(concat(program.name(), ": method ", request.name));
    }
    chosen = choice.answers[*choice.chosen].variant;
    asked = std::move(choice.backends);
  }
  request.plan = program.flatbuffer().execution_plan()->Get(chosen->plan);
  request.name = chosen->method;
  request.is_chosen = true;
  read_variant_ahead(program, *chosen);
  return std::unique_ptr<MethodPart>(
      std::make_unique<VariantPart>(*chosen, all.of_method(chosen->method), std::move(asked)));
}

}  // namespace detail

Result<std::unique_ptr<detail::MethodPart>> Variant::attach(detail::LoadRequest& request) const {
  if (request.is_chosen) return std::unique_ptr<detail::MethodPart>();
  TENON_TRY(const Variants all, Variants::of(*request.program));
  if (all.empty() && name_.empty()) [[likely]]
    return std::unique_ptr<detail::MethodPart>();
  return detail::attach_variant(all, request);
}

std::string_view Method::variant() const noexcept {
  const auto* const part = detail::find_part<detail::VariantPart>(detail::state_of(*this));
  return part ? part->name() : std::string_view();
}

}}}  // namespace tenon::TENON_RELEASE::host
