// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/signatures/signature_policy.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <list>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/core/concat.hpp"
#include "tenon/host/loader/plugin/peek.hpp"
#include "tenon/host/platform/environment.hpp"
#include "tenon/host/platform/impl/sealed_copy.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/platform/read_at.hpp"
#include "tenon/host/platform/trusted_path.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

inline std::int64_t seconds_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

/// "2026-11-26T19:10:00Z"
inline std::string time_text(std::int64_t seconds) {
  const std::chrono::sys_seconds time{std::chrono::seconds(seconds)};
  const auto midnight = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(midnight);
  const std::chrono::hh_mm_ss clock(time - midnight);
  const auto two = [](auto number) { return concat(number < 10 ? "0" : "", number); };
  return concat(static_cast<int>(date.year()), "-", two(static_cast<unsigned>(date.month())), "-",
                two(static_cast<unsigned>(date.day())), "T", two(clock.hours().count()), ":",
                two(clock.minutes().count()), ":", two(clock.seconds().count()), "Z");
}

/// The keys of `publishers`, for messages.
inline std::string keys_text(const Publishers& publishers) {
  constexpr std::size_t most = 8;
  std::string out;
  for (const PublisherKey& each : publishers.keys) {
    if (&each == &publishers.keys[0] + most) {
      return concat(out, ", and ", publishers.keys.size() - most, " more");
    }
    out += concat(out.empty() ? "" : ", ", each.publisher, " (", key_id_text(each.key), ")");
  }
  return out.empty() ? "none" : out;
}

inline constexpr std::string_view minisign_suffix = ".minisig", bundle_suffix = ".sigstore.json";

/// The signature of one file, from its text to what is reported.
class SignatureJudge {
 public:
  /// Reads the text, which may be empty, and finds the key. `name` is the text's name, for
  /// messages.
  SignatureJudge(const Publishers& publishers, std::string its_text, std::string_view name)
      : text(std::move(its_text)), publishers_(publishers), name_(name) {
    if (text.empty()) {
      fail(SignatureState::missing,
           "is not there, expected a signature by a key of: ", keys_text(publishers));
      return;
    }
    const Status parsed = parse();
    if (parsed.error() == Error::NotSupported) {
      fail(SignatureState::unknown_key, "is not by a key: ", parsed.text(),
           "; expected a key of: ", keys_text(publishers));
      return;
    }
    if (!parsed.ok()) {
      fail(SignatureState::malformed, "is malformed: ", parsed.text());
      return;
    }
    for (const PublisherKey& each : publishers.keys) {
      const bool is_same_format = each.key.index() == signature_.index();
      if (is_same_format && key_id_text(each.key) == report.key_id) key_ = &each;
    }
    if (key_) {
      report.publisher = key_->publisher;
    } else {
      fail(SignatureState::unknown_key, "is by key ", report.key_id, ", which ", publishers.origin,
           " does not list, expected a key of: ", keys_text(publishers));
    }
  }

  /// Whether the bytes decide.
  [[nodiscard]] bool needs_bytes() const noexcept { return key_ != nullptr; }

  /// errors: NotSupported without libsodium.
  Status judge(std::span<const std::byte> bytes, std::int64_t now) {
    Status holds = verify(bytes);
    if (holds.error() == Error::AccessFailed) {
      fail(SignatureState::forged, "is by key ", report.key_id, " of ", report.publisher, ": ",
           holds.text());
      return ok();
    }
    TENON_RETURN_IF_ERROR(std::move(holds));
    if (const auto* minisign = std::get_if<MinisignSignature>(&signature_)) {
      report.trusted_comment = minisign->trusted_comment;
    }
    judge_time(now);
    return ok();
  }

  /// Of a signature that holds.
  void judge_time(std::int64_t now) {
    if (key_->not_before && now < *key_->not_before) {
      fail(SignatureState::not_yet_valid, "is by key ", report.key_id, " of ", report.publisher,
           ", which counts from ", time_text(*key_->not_before), " on by ", publishers_.origin,
           "; it is ", time_text(now));
    } else if (key_->not_after && now >= *key_->not_after) {
      fail(SignatureState::expired, "is by key ", report.key_id, " of ", report.publisher,
           ", which counted before ", time_text(*key_->not_after), " by ", publishers_.origin,
           "; it is ", time_text(now));
    } else {
      report.state = SignatureState::valid;
    }
  }

  std::string text;
  SignatureReport report;

 private:
  /// By its name, or by its text in a manifest.
  Status parse() {
    if (name_.ends_with(bundle_suffix) || text.starts_with('{')) {
      TENON_TRY(auto bundle, parse_sigstore_bundle(text));
      report.key_id = bundle.hint;
      signature_ = std::move(bundle);
    } else {
      TENON_TRY(auto signature, parse_minisign_signature(text));
      report.key_id = key_id_text(signature.key_id);
      signature_ = std::move(signature);
    }
    return ok();
  }

  /// With `key_`, which is of the same format.
  Status verify(std::span<const std::byte> bytes) const {
    if (const auto* bundle = std::get_if<SigstoreBundle>(&signature_)) {
      return verify_sigstore(bytes, *bundle, std::get<SigstoreKey>(key_->key));
    }
    return verify_minisign(bytes, std::get<MinisignSignature>(signature_),
                           std::get<MinisignKey>(key_->key));
  }

  template <class... Pieces>
  void fail(SignatureState state, const Pieces&... pieces) {
    report.state = state;
    report.reason = concat("its signature ", name_, " ", pieces...);
  }

  const Publishers& publishers_;
  std::string name_;
  std::variant<MinisignSignature, SigstoreBundle> signature_;  // In the order of `SignatureKey`.
  const PublisherKey* key_ = nullptr;
};

/// Admits nothing.
class RefusesAll final : public LibraryPolicy {
 public:
  explicit RefusesAll(Status why) : why_(std::move(why)) {}

  [[nodiscard]] Result<OpenedFile> admit(OpenedFile file, std::string_view) const override {
    return error(why_.error(), path_text(file.path), ": ", why_.text());
  }

 private:
  Status why_;
};

/// The endings of the files that can hold a signature by a listed key.
inline std::vector<std::string_view> suffixes_of(const Publishers& publishers) {
  const auto lists_one = [&]<class Key>(const Key&) {
    return std::ranges::any_of(publishers.keys, [](const PublisherKey& each) {
      return std::holds_alternative<Key>(each.key);
    });
  };
  if (!lists_one(SigstoreKey())) return {minisign_suffix};
  if (!lists_one(MinisignKey())) return {bundle_suffix};
  return {minisign_suffix, bundle_suffix};
}

/// The text of the file next to `file` with this ending, which is opened with the same trust; empty
/// when there is none.
inline Result<std::string> read_signature_of(const OpenedFile& file, std::string_view suffix) {
  std::filesystem::path path = file.path;
  path += suffix;
  auto signature = open_file(path, file.trust);
  if (signature.error() == Error::NotFound) return std::string();
  if (!signature.ok()) return std::move(signature).status();
  if (signature->identity.size > max_signature_size) {
    return error(Error::AccessFailed, path_text(path), ": a signature of ",
                 signature->identity.size, " bytes, expected at most ", max_signature_size);
  }
  std::string text(static_cast<std::size_t>(signature->identity.size), '\0');
  const std::ptrdiff_t size =
      read_at(signature->descriptor.get(), std::as_writable_bytes(std::span(text)), 0);
  if (size < 0) return error(Error::AccessFailed, path_text(path), ": ", std::strerror(errno));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

/// Judges the signature of `file` that counts: the manifest's, or of those next to it the first one
/// by a listed key, or the first one.
inline Result<SignatureJudge> judge_of(const Publishers& publishers, const OpenedFile& file,
                                       std::string_view in_manifest) {
  if (!in_manifest.empty()) {
    return SignatureJudge(publishers, std::string(in_manifest), "in its manifest");
  }
  std::optional<SignatureJudge> first;
  std::string names = path_text(file.path);
  for (const std::string_view suffix : suffixes_of(publishers)) {
    TENON_TRY(std::string text, read_signature_of(file, suffix));
    names += concat(first ? " or " : "", suffix);
    SignatureJudge judge(publishers, std::move(text), path_text(file.path) + std::string(suffix));
    if (judge.needs_bytes()) return judge;
    if (!first || first->text.empty()) first.emplace(std::move(judge));
  }
  if (first->text.empty()) return SignatureJudge(publishers, {}, names);
  return *std::move(first);
}

}  // namespace detail

/// Copies whose signatures hold, the last used one in front.
class SignaturePolicy::KeptCopies {
 public:
  /// The copy of a file in this state with this signature; nothing when there is none.
  Result<std::optional<OpenedFile>> find(const detail::FileState& state,
                                         std::string_view signature) {
    const std::lock_guard lock(mutex_);
    for (auto each = copies_.begin(); each != copies_.end(); ++each) {
      if (each->state != state || each->signature != signature) continue;
      copies_.splice(copies_.begin(), copies_, each);
      TENON_TRY(OpenedFile copy, detail::same_copy(each->file));
      return std::optional(std::move(copy));
    }
    return std::optional<OpenedFile>();
  }

  /// Keeps a copy, and drops those that were not used for the longest time beyond `max_bytes`. A
  /// copy that cannot be kept is made again at the next load.
  void keep(const detail::FileState& state, std::string_view signature, const OpenedFile& file,
            std::uint64_t max_bytes) {
    if (file.identity.size > max_bytes) return;
    auto copy = detail::same_copy(file);
    if (!copy.ok()) return;
    const std::lock_guard lock(mutex_);
    copies_.push_front({state, std::string(signature), *std::move(copy)});
    num_bytes_ += file.identity.size;
    while (num_bytes_ > max_bytes) {
      num_bytes_ -= copies_.back().file.identity.size;
      copies_.pop_back();
    }
  }

 private:
  struct Kept {
    detail::FileState state;
    std::string signature;
    OpenedFile file;
  };

  std::mutex mutex_;
  std::list<Kept> copies_;
  std::uint64_t num_bytes_ = 0;
};

SignaturePolicy::SignaturePolicy(Publishers publishers)
    : SignaturePolicy(std::move(publishers), Options()) {}

SignaturePolicy::SignaturePolicy(Publishers publishers, Options options)
    : publishers_(std::move(publishers)),
      options_(std::move(options)),
      kept_(std::make_unique<KeptCopies>()) {
  if (!options_.now) options_.now = &detail::seconds_now;
}

SignaturePolicy::~SignaturePolicy() = default;

Result<std::shared_ptr<const SignaturePolicy>> SignaturePolicy::from_environment() {
  const auto path = environment_variable("TENON_PUBLISHERS");
  if (!path || path->empty()) return std::shared_ptr<const SignaturePolicy>();
  auto publishers = read_publishers(path_of(*path));
  if (!publishers.ok()) return std::move(publishers).status().with_context("TENON_PUBLISHERS");
  return std::make_shared<const SignaturePolicy>(*std::move(publishers));
}

Result<OpenedFile> SignaturePolicy::admit(OpenedFile file, std::string_view signature) const {
  TENON_TRY(detail::SignatureJudge judge, detail::judge_of(publishers_, file, signature));
  const auto refusal = [&] {
    return error(Error::AccessFailed, path_text(file.path), ": ", judge.report.reason);
  };
  if (!judge.needs_bytes()) {
    if (!admits(judge.report.state)) return refusal();
    return file;
  }
  TENON_TRY(const detail::FileState before, detail::state_of(file));
  const bool copies = detail::has_sealed_copies && options_.copy;
  if (copies) {
    TENON_TRY(auto kept, kept_->find(before, judge.text));
    if (kept) {
      judge.judge_time(options_.now());
      if (!admits(judge.report.state)) return refusal();
      kept->path = std::move(file.path);  // A file may have several.
      kept->trust = file.trust;
      return *std::move(kept);
    }
  }
  std::optional<OpenedFile> copy;
  if (copies) {
    TENON_TRY(copy, detail::sealed_copy(file, "to check its signature"));
  }
  OpenedFile& checked = copy ? *copy : file;
  TENON_RETURN_IF_ERROR(with_bytes(checked, [&](std::span<const std::byte> bytes) {
                          return judge.judge(bytes, options_.now());
                        }).with_context(path_text(file.path)));
  if (!admits(judge.report.state)) return refusal();
  TENON_TRY(const detail::FileState after, detail::state_of(file));
  if (copies) {
    // A file that was changed meanwhile is not kept: its state would not match the copy.
    if (before == after) kept_->keep(before, judge.text, checked, options_.max_kept_bytes);
  } else if (before != after) {
    return error(Error::InvalidState, path_text(file.path),
                 ": was changed while its signature was checked; replace plugins by renaming a new "
                 "file");
  }
  return std::move(checked);
}

Result<SignatureReport> SignaturePolicy::examine(const OpenedFile& file,
                                                 std::string_view signature) const {
  TENON_TRY(detail::SignatureJudge judge, detail::judge_of(publishers_, file, signature));
  if (judge.needs_bytes()) {
    TENON_RETURN_IF_ERROR(with_bytes(file, [&](std::span<const std::byte> bytes) {
      return judge.judge(bytes, options_.now());
    }));
  }
  return std::move(judge.report);
}

Result<SignatureReport> SignaturePolicy::examine(std::span<const std::byte> bytes,
                                                 const OpenedFile& file) const {
  TENON_TRY(detail::SignatureJudge judge, detail::judge_of(publishers_, file, {}));
  if (judge.needs_bytes()) TENON_RETURN_IF_ERROR(judge.judge(bytes, options_.now()));
  return std::move(judge.report);
}

std::shared_ptr<const LibraryPolicy> environment_library_policy() {
  auto policy = SignaturePolicy::from_environment();
  if (policy.ok()) return *std::move(policy);
  return std::make_shared<const detail::RefusesAll>(std::move(policy).status());
}

}}}  // namespace tenon::TENON_RELEASE::host
