// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/signatures/publishers.hpp"

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <set>
#include <span>
#include <system_error>
#include <utility>

#include "tenon/core/json.hpp"
#include "tenon/host/layers/discovery/impl/hand_written_json.hpp"
#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/platform/read_at.hpp"
#include "tenon/host/platform/trusted_path.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// Largest file that is read as a list of publishers, in bytes.
inline constexpr std::uint64_t max_publishers_size = 1 << 20;

/// "2026-11-26": its first second, UTC, since 1970; nothing for any other text.
inline std::optional<std::int64_t> first_second_of(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto number = [&](std::size_t at, std::size_t size) {
    unsigned value = 0;
    const char* const end = text.data() + at + size;
    const auto done = std::from_chars(text.data() + at, end, value);
    return done.ec == std::errc() && done.ptr == end ? std::optional(value) : std::nullopt;
  };
  const auto year = number(0, 4), month = number(5, 2), day = number(8, 2);
  if (!year || !month || !day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(*month), std::chrono::day(*day)};
  if (!date.ok()) return std::nullopt;
  return std::chrono::seconds(std::chrono::sys_days(date).time_since_epoch()).count();
}

inline constexpr std::int64_t seconds_per_day = 24 * 60 * 60;

/// Turns JSON into publishers.
class PublishersReader {
 public:
  [[nodiscard]] Result<Publishers> read(const JsonAt& root) {
    TENON_RETURN_IF_ERROR(check_format(root, "publishers_version"));
    TENON_RETURN_IF_ERROR(
        check_keys(root, {"$schema", "publishers_version", "required", "publishers"}));
    Publishers out;
    if (const auto required = root.find("required")) {
      TENON_TRY(out.required, required->boolean());
    }
    TENON_TRY(const JsonAt publishers, root.member("publishers", "an array"));
    TENON_RETURN_IF_ERROR(publishers.each_element(
        [&](const JsonAt& at) { return read_publisher(at, out); }, "an array of objects"));
    return out;
  }

 private:
  Status read_publisher(const JsonAt& at, Publishers& out) {
    TENON_RETURN_IF_ERROR(check_keys(at, {"name", "keys"}));
    TENON_TRY(const JsonAt name, at.member("name"));
    TENON_TRY(const std::string publisher, printable_text(name));
    if (publisher.empty()) return name.wrong("is empty");
    TENON_TRY(const JsonAt keys, at.member("keys"));
    TENON_RETURN_IF_ERROR(check_not_empty(keys));
    return keys.each_element([&](const JsonAt& one) -> Status {
      TENON_TRY(PublisherKey key, read_key(one));
      key.publisher = publisher;
      out.keys.push_back(std::move(key));
      return ok();
    });
  }

  Result<PublisherKey> read_key(const JsonAt& at) {
    TENON_RETURN_IF_ERROR(check_keys(at, {"minisign", "sigstore", "not_before", "not_after"}));
    const auto sigstore = at.find("sigstore");
    if (sigstore && at.find("minisign")) {
      return sigstore->wrong("is next to minisign, expected one of them for each key");
    }
    PublisherKey out;
    if (sigstore) {
      TENON_TRY(out.key, read_public(*sigstore, parse_sigstore_key));
    } else {
      TENON_TRY(const JsonAt minisign, at.member("minisign", "the text of a public key"));
      TENON_TRY(out.key, read_public(minisign, parse_minisign_key));
    }
    TENON_TRY(out.not_before, read_day(at, "not_before"));
    TENON_TRY(out.not_after, read_day(at, "not_after"));
    if (out.not_after) *out.not_after += seconds_per_day;  // The day is included.
    if (out.not_before && out.not_after && *out.not_before >= *out.not_after) {
      TENON_TRY(const JsonAt last, at.member("not_after"));
      return last.wrong("is before not_before");
    }
    if (std::string id = key_id_text(out.key); !ids_.insert(id).second) {
      return at.wrong("key ", id, " is there twice");
    }
    return out;
  }

  template <class Key>
  static Result<Key> read_public(const JsonAt& at, Result<Key> (&parse)(std::string_view)) {
    TENON_TRY(const std::string text, printable_text(at));
    auto key = parse(text);
    if (!key.ok()) return at.wrong(key.text());
    return key;
  }

  static Result<std::optional<std::int64_t>> read_day(const JsonAt& at, std::string_view key) {
    const auto found = at.find(key);
    if (!found) return std::optional<std::int64_t>();
    const auto text = found->characters();
    const auto second = text.ok() ? first_second_of(*text) : std::nullopt;
    if (!second) return found->wrong_type("a day, as in \"2026-11-26\"");
    return second;
  }

  std::set<std::string> ids_;
};

}  // namespace detail

std::string key_id_text(const SignatureKey& key) {
  if (const auto* minisign = std::get_if<MinisignKey>(&key)) return key_id_text(minisign->id);
  return std::get<SigstoreKey>(key).hint;
}

Result<Publishers> parse_publishers(std::string_view text, std::string_view name) {
  TENON_TRY(const auto json, parse_json_object(text, name, Error::InvalidArgument));
  TENON_TRY(auto out, detail::PublishersReader().read(JsonAt(json, name, Error::InvalidArgument)));
  out.origin = name;
  return out;
}

Result<Publishers> read_publishers(const std::filesystem::path& path) {
  TENON_TRY(const OpenedFile file, open_file(path, Trust::checked));
  if (file.identity.size > detail::max_publishers_size) {
    return error(Error::InvalidArgument, path_text(path), ": publishers of ", file.identity.size,
                 " bytes, expected at most ", detail::max_publishers_size);
  }
  std::string text(static_cast<std::size_t>(file.identity.size), '\0');
  const std::ptrdiff_t size =
      read_at(file.descriptor.get(), std::as_writable_bytes(std::span(text)), 0);
  if (size < 0) return error(Error::AccessFailed, path_text(path), ": ", std::strerror(errno));
  text.resize(static_cast<std::size_t>(size));
  return parse_publishers(text, path_text(path));
}

}}}  // namespace tenon::TENON_RELEASE::host
