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
#include "tenon/host/layers/variants/impl/named_variant.hpp"
#include "tenon/host/layers/variants/impl/variant_judge.hpp"
#include "tenon/host/loader/layer.hpp"
#include "tenon/host/loader/method/options.hpp"
#include "tenon/host/loader/program/device_buffers.hpp"
#include "tenon/host/loader/program/program.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// Higher is better; 0 for a variant that cannot run.
[[nodiscard]] inline std::uint64_t fit_of(const VariantAnswer& answer) noexcept {
  if (!answer.refused.ok() || answer.verdict == TENON_BLOB_INCOMPATIBLE) return 0;
  return answer.verdict == TENON_BLOB_OPTIMAL ? 2 : 1;
}

/// `choose_variant` with the backends that layers have added.
[[nodiscard]] inline Result<VariantChoice> choose_among_backends(
    const std::shared_ptr<const Program>& program, std::string_view method,
    const MethodOptions& options, AskVariants asked = AskVariants::until_optimal) {
  TENON_RETURN_IF_ERROR(program->plan(method));
  TENON_TRY(const Variants all, Variants::of(*program));
  VariantChoice out;
  const auto variants = all.of_method(method);
  const std::string_view wanted = named_variant(options);
  VariantJudge judge(program, options);
  for (const ProgramVariant& variant : variants) {
    if (!wanted.empty() && wanted != variant.name) continue;
    TENON_TRY(VariantAnswer answer, judge.judge(variant));
    out.answers.push_back(std::move(answer));
    const bool is_best = fit_of(out.answers.back()) == 2;
    if (is_best && asked == AskVariants::until_optimal) break;
  }
  if (out.answers.empty() && !wanted.empty()) return no_such_variant(variants, method, wanted);
  out.chosen = best_fit(out.answers.size(), [&](std::size_t i) { return fit_of(out.answers[i]); });
  out.backends = std::move(judge).take_backends();
  return out;
}

}  // namespace detail

Result<VariantChoice> choose_variant(const std::shared_ptr<const Program>& program,
                                     std::string_view method, const MethodOptions& options,
                                     AskVariants asked) {
  try {
    MethodOptions added = options;
    detail::LoadRequest request{program, method, nullptr, added};
    for (const auto& layer : options.layers) {
      TENON_RETURN_IF_ERROR(layer->add_backends(request));
    }
    return detail::choose_among_backends(program, method, added, asked);
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
