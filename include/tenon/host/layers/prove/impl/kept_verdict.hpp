// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "tenon/abi/extensions/prepare.h"
#include "tenon/core/bytes.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/prepared/prepared_cache.hpp"
#include "tenon/host/layers/prepared/prepared_store.hpp"
#include "tenon/host/layers/prove/prove.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

inline constexpr std::string_view verdict_head = "tenon.verdict/1\n";

/// The text of a kept verdict: a line with the version, the number of cases, and the difference.
[[nodiscard]] inline std::string verdict_text(const Proof& proof) {
  return concat(verdict_head, proof.num_cases, "\n", proof.difference);
}

/// Nothing when `text` is no verdict of this version: the method then proves itself again.
[[nodiscard]] inline std::optional<Proof> read_verdict(std::string_view text) {
  if (!text.starts_with(verdict_head)) return std::nullopt;
  text.remove_prefix(verdict_head.size());
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  Proof out;
  out.was_kept = true;
  const auto [rest, failed] = std::from_chars(text.data(), text.data() + end, out.num_cases);
  if (failed != std::errc() || rest != text.data() + end) return std::nullopt;
  out.difference = text.substr(end + 1);
  return out;
}

/// The verdict that a store keeps under one key.
class KeptVerdict {
 public:
  /// Nothing is kept, and found.
  KeptVerdict() noexcept = default;
  /// `log` must outlive this object.
  ///
  /// errors: the store's own.
  [[nodiscard]] static Result<KeptVerdict> open(const PreparedStore& store, const PreparedKey& key,
                                                const tenon_host& log) {
    tenon_prepared* kept = nullptr;
    TENON_RETURN_IF_ERROR(store.open(key, log, &kept));
    KeptVerdict out;
    out.kept_.reset(kept);
    return out;
  }

  [[nodiscard]] std::optional<Proof> read() const {
    if (!kept_ || !kept_->data) return std::nullopt;
    return read_verdict(as_text(Bytes(static_cast<const std::byte*>(kept_->data),
                                      static_cast<std::size_t>(kept_->nbytes))));
  }

  /// A store that cannot keep it says so in the log.
  void store(const Proof& proof) const {
    if (!kept_) return;
    const std::string text = verdict_text(proof);
    const tenon_span part{text.data(), text.size()};
    static_cast<void>(kept_->store(kept_.get(), &part, 1));
  }

 private:
  struct Release {
    void operator()(tenon_prepared* kept) const noexcept { kept->release(kept); }
  };

  std::unique_ptr<tenon_prepared, Release> kept_;
};

/// The store of the user's directory. Opened once; a failure is for each load to say.
[[nodiscard]] inline const Result<PreparedCache>& default_verdict_store() {
  static const Result<PreparedCache> cache = []() -> Result<PreparedCache> {
    TENON_TRY(auto directory, default_prepared_directory());
    return PreparedCache::open(std::move(directory));
  }();
  return cache;
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
