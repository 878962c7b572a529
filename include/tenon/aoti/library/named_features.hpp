// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/aoti/library/code_features.hpp"
#include "tenon/backend/named_data_map.hpp"
#include "tenon/core/aoti_names.hpp"
#include "tenon/core/bytes.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/lists.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

/// Adds the features that a program names for its library (`cpu_features_key`).
/// errors: InvalidProgram when they are not names with commas between them, of 4096 bytes at most.
[[nodiscard]] inline Status add_named_features(std::string_view text, CodeFeatures& features) {
  constexpr std::size_t most = 4096;
  constexpr std::string_view letters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
      "0123456789_-.,";
  if (text.size() > most) {
    return error(Error::InvalidProgram, "its CPU features: expected at most ", most,
                 " bytes, found ", text.size());
  }
  const std::size_t bad = text.find_first_not_of(letters);
  if (bad != std::string_view::npos) {
    return error(Error::InvalidProgram,
                 "its CPU features: expected names with commas between them, found byte ",
                 static_cast<int>(static_cast<unsigned char>(text[bad])), " at ", bad);
  }
  for (const std::string_view name : split(text, ',')) {
    if (!name.empty()) features.add(name);
  }
  features.is_known = true;
  return ok();
}

/// `features`, and those that the program names for the library under `library_key`, if it does. A
/// wrong list hides nothing of what was found in the instructions.
/// errors: as `add_named_features` and `NamedDataMap::get_data`.
[[nodiscard]] inline Result<CodeFeatures> with_named_features(CodeFeatures features,
                                                              const NamedDataMap& data,
                                                              std::string_view library_key) {
  const std::string key = cpu_features_key(library_key);
  // Read only when it is there: hosts report each key that a backend asked for in vain.
  for (std::size_t i = 0; i < data.num_keys(); ++i) {
    const auto one = data.key(i);
    if (!one.ok() || *one != key) continue;
    TENON_TRY(const NamedData named, data.get_data(key));
    Status added = add_named_features(as_text(named.bytes()), features);
    if (added.ok()) break;
    return std::move(added).with_context(concat("named data '", std::string_view(key), "'"));
  }
  return features;
}

}}}  // namespace tenon::TENON_RELEASE::aoti
