// SPDX-License-Identifier: MIT
#include "tenon/conformance/compare.hpp"

#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "tenon/core/args.hpp"
#include "tenon/host/layers/arrays/element.hpp"
#include "tenon/host/layers/arrays/value_array.hpp"
#include "tenon/host/loader/files/quoted.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace {

using host::detail::short_text;

/// "largest difference 0.5 at [2, 7]: expected 1, found 1.5; 3 of 16 elements differ"
[[nodiscard]] std::string difference_text(const host::Comparison& arrays) {
  const host::Mismatch& largest = *arrays.largest_absolute;
  return concat("largest difference ", short_text(largest.absolute), " at ",
                shape_text(largest.index), ": expected ", largest.expected, ", found ",
                largest.found, "; ", arrays.num_different, " of ", arrays.num_elements,
                arrays.num_elements == 1 ? " element differs" : " elements differ");
}

/// The limits that are exceeded: "nmse 0.031 > 1e-06, peak 0.5 > 0.001"; empty when all hold.
[[nodiscard]] std::string broken_limits(const host::Comparison& arrays,
                                        const CaseTolerance& tolerance) {
  std::string out;
  const auto add = [&](std::string_view text) {
    out += out.empty() ? "" : ", ";
    out += text;
  };
  const auto check = [&](std::string_view name, double value, const std::optional<double>& limit) {
    if (limit && value > *limit) {
      add(concat(name, " ", short_text(value), " > ", short_text(*limit)));
    }
  };
  const double largest = arrays.largest_absolute ? arrays.largest_absolute->absolute : 0;
  if (!(largest <= std::numeric_limits<double>::max())) {
    add("NaN or an infinity in one place alone");
  } else {
    check("nmse", arrays.nmse, tolerance.nmse);
    check("peak", arrays.peak, tolerance.peak);
    check("max", largest, tolerance.max);
  }
  const bool is_exact = tolerance == CaseTolerance{};
  if (is_exact && arrays.num_different != 0 && out.empty()) {
    add("expected to be equal");
  } else if ((tolerance.rtol || tolerance.atol) && arrays.num_mismatches != 0) {
    add(concat(arrays.num_mismatches, arrays.num_mismatches == 1 ? " element" : " elements",
               " beyond rtol ", short_text(tolerance.rtol.value_or(0)), ", atol ",
               short_text(tolerance.atol.value_or(0))));
  }
  return out;
}

/// The magnitude of a real or complex number; nothing for an integer.
[[nodiscard]] std::optional<double> magnitude_of(const host::ElementValue& value) {
  if (const auto* real = std::get_if<double>(&value)) return std::abs(*real);
  if (const auto* both = std::get_if<std::complex<double>>(&value)) return std::abs(*both);
  return std::nullopt;
}

/// Why an output is no result at all: "2 of 6 elements are NaN where other values are expected",
/// "all 6 elements are 0 where other values are expected"; empty when it is one. An expected
/// magnitude below the smallest normal number of 16 bits does not count: arithmetic of that width
/// may make it 0.
[[nodiscard]] std::string void_text(const host::ArrayView& found, const host::ArrayView& expected,
                                    std::uint64_t count) {
  constexpr double smallest = 0x1p-14;
  std::uint64_t num_nan = 0;
  bool is_zero = count > 1, has_others = false;
  for (std::size_t i = 0; i < count; ++i) {
    const auto is = magnitude_of(host::element_at(found.type, found.data, i));
    const auto should_be = magnitude_of(host::element_at(expected.type, expected.data, i));
    if (!is || !should_be) return {};
    if (std::isnan(*is) && !std::isnan(*should_be)) ++num_nan;
    is_zero = is_zero && *is == 0;
    has_others = has_others || *should_be >= smallest;
  }
  if (num_nan != 0) {
    return concat(num_nan, " of ", count, num_nan == 1 ? " elements is" : " elements are",
                  " NaN where other values are expected");
  }
  if (!is_zero || !has_others) return {};
  return concat("all ", count, " elements are 0 where other values are expected");
}

[[nodiscard]] OutputComparison verdict(bool equal, std::string text) {
  OutputComparison out;
  out.equal = equal;
  out.text = std::move(text);
  return out;
}

}  // namespace

OutputComparison compare(const host::ArrayView& found, const host::ArrayView& expected,
                         const CaseTolerance& tolerance) {
  OutputComparison out;
  out.tolerance = tolerance;
  out.arrays = host::compare_arrays(found, expected,
                                    {tolerance.rtol.value_or(0), tolerance.atol.value_or(0)});
  if (!out.arrays.difference.empty()) {
    out.text = out.arrays.difference;
    return out;
  }
  std::string broken;
  if (out.arrays.num_different != 0) broken = void_text(found, expected, out.arrays.num_elements);
  out.is_void = !broken.empty();
  if (!out.is_void) broken = broken_limits(out.arrays, tolerance);
  out.equal = broken.empty();
  if (!out.arrays.largest_absolute) {
    out.text = concat("equal in all of ", out.arrays.num_elements, " elements");
  } else if (out.equal) {
    out.text = concat("nmse ", short_text(out.arrays.nmse), ", ", difference_text(out.arrays));
  } else {
    out.text = concat(broken, "; ", difference_text(out.arrays));
  }
  return out;
}

Result<OutputComparison> compare_output(std::size_t index, const tenon_value& found,
                                        const CaseValue& expected, const Tolerances& tolerances) {
  const std::string where = concat("output ", index, ": ");
  if (std::holds_alternative<std::monostate>(expected)) {
    return verdict(true, where + "not compared");
  }
  if (const auto* text = std::get_if<std::string>(&expected)) {
    if (found.kind != TENON_VALUE_STRING) {
      return verdict(false, concat(where, "expected a text, found a value of kind ",
                                   value_kind_name(found.kind)));
    }
    const std::string_view is(static_cast<const char*>(found.as.span.data),
                              static_cast<std::size_t>(found.as.span.size));
    return verdict(is == *text,
                   concat(where, "expected ", host::quoted(*text), ", found ", host::quoted(is)));
  }
  auto array = host::to_array(found);
  if (!array.ok()) {
    return verdict(false, concat(where, array.text()));
  }
  auto wanted = read_array(expected, array->type);
  if (!wanted.ok()) return std::move(wanted).status().with_context(concat("output ", index));
  OutputComparison out = compare(array->view(), {wanted->type, wanted->shape, wanted->data.span()},
                                 tolerances.of(array->type));
  out.text = where + out.text;
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::conformance
