// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/aot/shared_bytes.hpp"
#include "tenon/core/bytes.hpp"
#include "tenon/core/compile_specs.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/status.hpp"
#include "tenon/core/visible.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// A compile spec that owns its bytes. The backend's `init` gets them unchanged.
struct CompileSpecData {
  std::string key;
  SharedBytes value;
};

/// Copies of all specs, in their order: what `PartitionOptions::spec` gets, so that `preprocess`
/// and `init` see what `partition` was called with.
[[nodiscard]] inline std::vector<CompileSpecData> copy_specs(const CompileSpecs& specs) {
  std::vector<CompileSpecData> out;
  out.reserve(specs.size());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    out.push_back({std::string(specs[i].key), SharedBytes::copy_of(specs[i].value)});
  }
  return out;
}

/// A compile spec that a backend has, as it is written and explained. Values are texts.
struct CompileSpecRow {
  std::string_view key;
  std::string_view values;  ///< What is expected: "0|1", "a number".
  std::string_view meaning;
};

/// Calls `set(std::string_view key, std::string_view value)` for each spec, which stores the value
/// and returns whether it fits.
///
/// errors: NotFound for a key that no row has, InvalidArgument for a value that does not fit and a
///         key that is given twice
template <class Set>
[[nodiscard]] Status read_specs(const CompileSpecs& specs, std::span<const CompileSpecRow> rows,
                                Set&& set) {
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const std::string_view key = specs[i].key;
    const std::string where = concat("compile spec '", tenon::detail::visible_part(key, 64), "'");
    const CompileSpecRow* row = nullptr;
    for (const CompileSpecRow& one : rows) {
      if (one.key == key) row = &one;
    }
    if (row == nullptr) {
      std::string known;
      for (const CompileSpecRow& one : rows) known += concat(known.empty() ? ": " : ", ", one.key);
      return error(Error::NotFound, where, " is unknown; the backend has",
                   known.empty() ? " none" : known);
    }
    for (std::size_t k = 0; k < i; ++k) {
      if (specs[k].key == key) return error(Error::InvalidArgument, where, " is given twice");
    }
    const std::string_view value = as_text(specs[i].value);
    if (!set(key, value)) {
      return error(Error::InvalidArgument, where, ": expected ", row->values, ", found '",
                   tenon::detail::visible_part(value, 64), "'");
    }
  }
  return ok();
}

}}}  // namespace tenon::TENON_RELEASE::aot
