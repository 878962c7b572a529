// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/variants/choose_variant.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/best_fit.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/layers/devices/device_buffers.hpp"
#include "tenon/host/layers/isolation/impl/isolate_backends.hpp"
#include "tenon/host/layers/variants/impl/variant_judge.hpp"
#include "tenon/host/layers/variants/impl/variant_pages.hpp"
#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/loader/method/options.hpp"
#include "tenon/host/loader/program/program.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// Higher is better; 0 for one that cannot run.
[[nodiscard]] inline std::uint64_t fit_of(const VariantAnswer& answer) noexcept {
  if (!answer.refused.ok() || answer.verdict == TENON_BLOB_INCOMPATIBLE) return 0;
  return answer.verdict == TENON_BLOB_OPTIMAL ? 2 : 1;
}

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

/// Isolates the backends of all variants of a method that a load may choose, or of its single form,
/// by `options.isolation`. Of several variants, those whose plugins are missing are left out.
///
/// errors: those of `Variants::of`, `Program::plan` and `isolate_backends`.
[[nodiscard, gnu::cold]] inline Status isolate_candidates(const Program& program,
                                                          std::string_view method,
                                                          MethodOptions& options) {
  TENON_TRY(const Variants all, Variants::of(program));
  std::vector<std::string_view> ids;
  const auto variants = all.of_method(method);
  for (const ProgramVariant& variant : variants) {
    if (!options.variant.empty() && options.variant != variant.name) continue;
    for (const VariantNeed& need : variant.needs) ids.push_back(need.backend_id);
  }
  if (variants.empty()) {
    TENON_TRY(const auto* plan, program.plan(method));
    ids = find_backend_ids(*plan);
  }
  return isolate_backends(ids, !variants.empty(), options);
}

}  // namespace detail

Result<VariantChoice> choose_variant(const std::shared_ptr<const Program>& program,
                                     std::string_view method, const MethodOptions& options,
                                     AskVariants asked) {
  try {
    TENON_RETURN_IF_ERROR(program->plan(method));
    TENON_TRY(const Variants all, Variants::of(*program));
    VariantChoice out;
    const auto variants = all.of_method(method);
    if (options.isolation) {
      MethodOptions isolated = options;
      TENON_RETURN_IF_ERROR(detail::isolate_candidates(*program, method, isolated));
      return choose_variant(program, method, isolated, asked);
    }
    detail::VariantJudge judge(program, options);
    for (const ProgramVariant& variant : variants) {
      if (!options.variant.empty() && options.variant != variant.name) continue;
      TENON_TRY(VariantAnswer answer, judge.judge(variant));
      out.answers.push_back(std::move(answer));
      const bool is_best = detail::fit_of(out.answers.back()) == 2;
      if (is_best && asked == AskVariants::until_optimal) break;
    }
    if (out.answers.empty() && !options.variant.empty()) {
      return detail::no_such_variant(variants, method, options.variant);
    }
    out.chosen =
        best_fit(out.answers.size(), [&](std::size_t i) { return detail::fit_of(out.answers[i]); });
    out.backends = std::move(judge).take_backends();
    return out;
  } catch (const std::bad_alloc&) {
    return error(Error::MemoryAllocationFailed, "no memory to choose a variant");
  }
}

[[gnu::cold]] Status VariantChoice::status() const {
  if (chosen || answers.empty()) return ok();
  constexpr std::size_t most = 32;
  std::string text;
  for (std::size_t i = 0; i < std::min(answers.size(), most); ++i) {
    const VariantAnswer& one = answers[i];
    text += concat("\n  ", quoted(one.variant->name), ": ", one.refused.text());
  }
  if (answers.size() > most) text += concat("\n  and ", answers.size() - most, " more");
  return error(Error::NotFound,
               answers.size() == 1 ? "its only variant cannot" : "none of its variants can",
               " run here:", text);
}

}}}  // namespace tenon::TENON_RELEASE::host
