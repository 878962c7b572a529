// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/signatures/publishers.hpp"

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <set>
#include <span>
#include <system_error>
#include <utility>

#include "tenon/core/concat.hpp"
#include "tenon/host/files/quoted.hpp"
#include "tenon/host/files/read_at.hpp"
#include "tenon/host/impl/registry/json_reader.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/platform/trusted_path.hpp"

namespace tenon::inline TENON_RELEASE::host {

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

/// Turns JSON into publishers. Every complaint names the place in the file
/// ("publishers[1].keys[0].not_after").
class PublishersReader : private JsonReader {
 public:
  explicit PublishersReader(std::string_view name) : JsonReader(name) {}

  [[nodiscard]] Result<Publishers> read(std::string_view text) {
    TENON_TRY(const Json root, parse_object(text));
    const auto version = root.find("publishers_version");
    if (version == root.end()) return wrong("publishers_version", "is missing, expected 1");
    if (!version->is_number_integer()) return wrong_type("publishers_version", "1", *version);
    if (*version != 1) {
      return wrong("publishers_version", "is ", version->dump(), ", this host reads 1");
    }
    TENON_RETURN_IF_ERROR(
        check_keys(root, "", {"$schema", "publishers_version", "required", "publishers"}));
    Publishers out;
    out.origin = name();
    if (const auto required = root.find("required"); required != root.end()) {
      if (!required->is_boolean()) return wrong_type("required", "true or false", *required);
      out.required = required->get<bool>();
    }
    const auto publishers = root.find("publishers");
    if (publishers == root.end()) return wrong("publishers", "is missing, expected an array");
    if (!publishers->is_array())
      return wrong_type("publishers", "an array of objects", *publishers);
    for (std::size_t i = 0; i < publishers->size(); ++i) {
      TENON_RETURN_IF_ERROR(read_publisher((*publishers)[i], concat("publishers[", i, "]"), out));
    }
    return out;
  }

 private:
  Status read_publisher(const Json& value, const std::string& where, Publishers& out) {
    if (!value.is_object()) return wrong_type(where, "an object", value);
    TENON_RETURN_IF_ERROR(check_keys(value, where, {"name", "keys"}));
    const auto name = value.find("name");
    if (name == value.end()) return wrong(where, "has no name");
    TENON_TRY(const std::string publisher, read_text(*name, where + ".name"));
    if (publisher.empty()) return wrong(where + ".name", "is empty");
    const auto keys = value.find("keys");
    if (keys == value.end()) return wrong(where, "has no keys");
    if (!keys->is_array() || keys->empty()) {
      return wrong_type(where + ".keys", "an array of at least one object", *keys);
    }
    for (std::size_t i = 0; i < keys->size(); ++i) {
      const std::string at = concat(where, ".keys[", i, "]");
      TENON_TRY(PublisherKey key, read_key((*keys)[i], at));
      key.publisher = publisher;
      if (!ids_.insert(key.key.id).second) {
        return wrong(at + ".minisign", "key ", key_id_text(key.key.id), " is there twice");
      }
      out.keys.push_back(std::move(key));
    }
    return ok();
  }

  Result<PublisherKey> read_key(const Json& value, const std::string& where) const {
    if (!value.is_object()) return wrong_type(where, "an object", value);
    TENON_RETURN_IF_ERROR(check_keys(value, where, {"minisign", "not_before", "not_after"}));
    const auto minisign = value.find("minisign");
    if (minisign == value.end()) return wrong(where, "has no minisign, the text of a public key");
    TENON_TRY(const std::string text, read_text(*minisign, where + ".minisign"));
    PublisherKey out;
    auto key = parse_minisign_key(text);
    if (!key.ok()) return wrong(where + ".minisign", key.text());
    out.key = *key;
    TENON_TRY(out.not_before, read_day(value, where, "not_before"));
    TENON_TRY(out.not_after, read_day(value, where, "not_after"));
    if (out.not_after) *out.not_after += seconds_per_day;  // The day is included.
    if (out.not_before && out.not_after && *out.not_before >= *out.not_after) {
      return wrong(where + ".not_after", "is before not_before");
    }
    return out;
  }

  Result<std::optional<std::int64_t>> read_day(const Json& value, const std::string& where,
                                               const char* key) const {
    const auto found = value.find(key);
    if (found == value.end()) return std::optional<std::int64_t>();
    const auto second =
        found->is_string() ? first_second_of(found->get_ref<const std::string&>()) : std::nullopt;
    if (!second) return wrong_type(member(where, key), "a day, as in \"2026-11-26\"", *found);
    return second;
  }

  std::set<MinisignKeyId> ids_;
};

}  // namespace detail

Result<Publishers> parse_publishers(std::string_view text, std::string_view name) {
  return detail::PublishersReader(name).read(text);
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

}  // namespace tenon::inline TENON_RELEASE::host
