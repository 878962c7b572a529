// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/aoti/library/library_variants.hpp"
#include "tenon/aoti/weights/named_weights.hpp"
#include "tenon/core/aoti_names.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

/// Formats in which ExecuTorch's exporters wrote the processed bytes of an AOTI delegate.
enum class PayloadGeneration : std::uint32_t {
  /// No bytes: the keys are made of the method's name.
  method_keys = 1,
  /// Two lines, the keys of library and weights (aoti_backend.py, since PR #20424).
  two_keys = 2,
  /// "ETCUDAFQN3" and a table of weights by name (CUDA, since PR #21823).
  named_weights = 3,
  /// "ETCUDAFQN0", libraries for several devices, and such a table (CUDA, since PR #22198).
  variants = 4,
};

/// The keys of a delegate's parts in the named data map.
struct Payload {
  PayloadGeneration generation;
  std::string library_key;                 ///< Empty until one of several is chosen.
  std::string weights_key;                 ///< Empty from generation 3 on.
  std::vector<NamedWeight> weights{};      ///< From generation 3 on.
  std::vector<LibraryVariant> variants{};  ///< From generation 3 on; of 4 to choose from.

  /// Uses library number `index` of `variants`.
  void choose(std::size_t index) { library_key = variants[index].library_key; }
};

namespace detail {

/// Keys are only looked up and never become paths. But they appear in messages, and a key that is
/// very long or has control characters means that the bytes are something else.
inline bool is_valid_key(std::string_view key) noexcept {
  constexpr std::size_t longest = 512;
  for (const char c : key) {
    if (c <= ' ' || c >= 0x7f) return false;
  }
  return !key.empty() && key.size() <= longest;
}

}  // namespace detail

/// Reads the processed bytes of a delegate of method `method_name`, in generation 1 or 2, and in
/// generations 3 and 4 when the backend takes weights by name.
///
/// Fails with DelegateInvalidCompatibility, naming what was found, when they are of an unknown
/// generation or of a generation that this backend does not read.
[[nodiscard]] inline Result<Payload> parse_payload(std::string_view processed,
                                                   std::string_view method_name,
                                                   bool takes_named_weights = false) {
  const std::string_view understood =
      takes_named_weights
          ? "; understood are no bytes (keys by method name), two lines with the keys of the "
            "library and of the weights, and ETCUDAFQN3 and ETCUDAFQN0"
          : "; understood are no bytes (keys by method name) and two lines with the keys of the "
            "library and of the weights";
  if (processed.empty()) {
    return Payload{PayloadGeneration::method_keys, library_key(method_name),
                   weights_key(method_name)};
  }
  if (takes_named_weights && processed.starts_with("ETCUDAFQN")) {
    TENON_TRY(NamedWeightsPayload named, parse_named_weights(processed));
    const bool is_one = named.variants.front().is_untargeted();
    const auto generation = processed.starts_with("ETCUDAFQN3") ? PayloadGeneration::named_weights
                                                                : PayloadGeneration::variants;
    return Payload{generation, is_one ? named.variants.front().library_key : std::string(), "",
                   std::move(named.weights), std::move(named.variants)};
  }
  if (processed.starts_with("ETCUDAFQN")) {
    return error(Error::DelegateInvalidCompatibility,
                 "the blob begins with ETCUDAFQN: weights by name, written for CudaBackend",
                 understood);
  }
  const std::size_t end = processed.find('\n');
  const std::string_view library = processed.substr(0, end);
  std::string_view weights = end == std::string_view::npos ? "" : processed.substr(end + 1);
  if (weights.ends_with('\n')) weights.remove_suffix(1);
  if (end == std::string_view::npos || !detail::is_valid_key(library) ||
      !detail::is_valid_key(weights)) {
    return error(Error::DelegateInvalidCompatibility, "the blob of ", processed.size(),
                 " bytes is malformed", understood);
  }
  return Payload{PayloadGeneration::two_keys, std::string(library), std::string(weights)};
}

}}}  // namespace tenon::TENON_RELEASE::aoti
