// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/loader/plugin/plugin_record.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "tenon/core/concat.hpp"
#include "tenon/core/file_bytes.hpp"
#include "tenon/core/hex.hpp"
#include "tenon/core/lists.hpp"
#include "tenon/core/visible.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

Status check_abi(const PluginRecord& record, AbiVersion host) {
  if (record.abi_major != host.abi_major) {
    return error(Error::NotSupported, "plugin ", record.name, " speaks Tenon ABI ",
                 record.abi_major, ".", record.abi_minor, ", this host speaks ABI ", host.abi_major,
                 ".", host.abi_minor, ": the major versions must be equal");
  }
  if (record.min_host_abi_minor > host.abi_minor) {
    return error(Error::NotSupported, "plugin ", record.name, " (Tenon ABI ", record.abi_major, ".",
                 record.abi_minor, ") needs a host of ABI ", record.abi_major, ".",
                 record.min_host_abi_minor, " or later, this host speaks ABI ", host.abi_major, ".",
                 host.abi_minor);
  }
  return ok();
}

namespace detail {

// The structs of ABI 1.0. Members that a later minor appends are not in them.
inline constexpr std::size_t min_head_size =
    offsetof(tenon_plugin_head, sdk_version) + TENON_ID_SIZE;
inline constexpr std::size_t min_record_size =
    offsetof(tenon_backend_record, reserved) + sizeof(std::uint32_t);

/// Bits of `flags` that a host has to know, or to refuse (TN-NEG-4).
inline constexpr std::uint32_t flags_to_know = 0xffff'0000;
inline constexpr std::uint32_t known_flags =
    TENON_BACKEND_RUNS_EMBEDDED_CODE | TENON_BACKEND_OFFERS_KERNELS;

Status check_text(std::string_view text, std::string_view field) {
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] >= ' ' && text[at] <= '~') {
      ++at;
      continue;
    }
    std::size_t size = 0;
    const std::int32_t code = tenon::detail::decode_utf8(text.substr(at), size);
    if (code < 0) {
      return error(Error::InvalidArgument, field, " is not UTF-8 at byte ", at, " (TN-BIN-7)");
    }
    if (tenon::detail::is_control(code)) {
      return error(Error::InvalidArgument, field, " holds control character ", code, " at byte ",
                   at, ", expected printable text (TN-BIN-7)");
    }
    at += size;
  }
  return ok();
}

/// The text of a fixed-size field: UTF-8, NUL-terminated, the rest zero.
inline Result<std::string> read_text(std::string_view chars, std::string_view field) {
  const auto end = chars.find('\0');
  if (end == std::string_view::npos) {
    return error(Error::InvalidArgument, field, " is not terminated within its ", chars.size(),
                 " bytes (TN-BIN-7)");
  }
  // All are zero when each equals the one before it, from the NUL on.
  const std::string_view rest = chars.substr(end);
  if (std::memcmp(rest.data(), rest.data() + 1, rest.size() - 1) != 0) {
    return error(Error::InvalidArgument, field, " ends at byte ", end,
                 " but is followed by other bytes at ", chars.find_first_not_of('\0', end),
                 ", expected zeros (TN-BIN-7)");
  }
  TENON_RETURN_IF_ERROR(check_text(chars.substr(0, end), field));
  return std::string(chars.substr(0, end));
}

template <std::size_t Size>
Result<std::string> read_field(const char (&chars)[Size], std::string_view field) {
  return read_text({chars, Size}, field);
}

/// The items of "a, b": without blanks around them and without empty ones.
inline std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> items;
  for (std::string_view item : split(text, ',')) {
    item.remove_prefix(std::min(item.find_first_not_of(' '), item.size()));
    item = item.substr(0, item.find_last_not_of(' ') + 1);
    if (!item.empty()) items.emplace_back(item);
  }
  return items;
}

inline Status check_magic(std::span<const std::byte> object) {
  constexpr std::uint8_t magic[] = TENON_PLUGIN_MAGIC;
  if (std::memcmp(object.data(), magic, sizeof magic) == 0) return ok();
  const auto found = to_spaced_hex(object, sizeof magic);
  // A changed first byte or line feed, or bytes that were inserted before the name, is what copies
  // in text mode, seven-bit transfers and changes of encoding leave.
  if (FileBytes(object.first(2 * sizeof magic)).text().find("TENON1") != std::string_view::npos) {
    return error(Error::InvalidArgument, "the plugin object begins with ", found,
                 ", expected 89 54 45 4e 4f 4e 31 0a: the file was damaged by a copy in text mode; "
                 "copy it again in binary mode (TN-BIN-9)");
  }
  return error(Error::InvalidArgument, "the plugin object has magic ", found,
               ", expected 89 54 45 4e 4f 4e 31 0a (TN-BIN-9)");
}

/// The head, with zeros in the fields that are beyond the plugin's own `head_size`.
inline Result<tenon_plugin_head> read_head(std::span<const std::byte> object,
                                           std::size_t expected_pointer_size) {
  if (object.size() < min_head_size) {
    return error(Error::InvalidArgument, "the plugin object has ", object.size(),
                 " bytes, smaller than the smallest head of ", min_head_size, " (TN-BIN-4)");
  }
  TENON_RETURN_IF_ERROR(check_magic(object));

  // These two are single bytes, so they can be read before the byte order is known.
  const auto pointer_size =
      std::to_integer<unsigned>(object[offsetof(tenon_plugin_head, pointer_size)]);
  const auto little_endian =
      std::to_integer<unsigned>(object[offsetof(tenon_plugin_head, little_endian)]);
  constexpr unsigned host_order = std::endian::native == std::endian::little ? 1 : 0;
  if (little_endian != host_order) {
    return error(Error::InvalidArgument, "the plugin says little_endian ", little_endian,
                 ", expected ", host_order, " as on this host (TN-BIN-9)");
  }
  if (pointer_size != expected_pointer_size) {
    return error(Error::InvalidArgument, "the plugin has pointers of ", pointer_size,
                 " bytes, expected ", expected_pointer_size,
                 expected_pointer_size == sizeof(void*) ? " as on this host (TN-BIN-9)"
                                                        : " as on its platform (TN-BIN-9)");
  }

  tenon_plugin_head head{};
  std::memcpy(&head, object.data(), min_head_size);
  if (head.object_size > object.size()) {
    return error(Error::InvalidArgument, "object_size is ", head.object_size,
                 " but the plugin object has ", object.size(), " bytes (TN-BIN-4)");
  }
  if (head.head_size < min_head_size || head.head_size > head.object_size ||
      head.head_size % alignof(tenon_plugin_head) != 0) {
    return error(Error::InvalidArgument, "head_size is ", head.head_size,
                 ", expected a multiple of ", alignof(tenon_plugin_head), " from ", min_head_size,
                 " to the object's ", head.object_size, " bytes (TN-BIN-4)");
  }
  std::memcpy(&head, object.data(), std::min<std::size_t>(head.head_size, sizeof head));
  return head;
}

/// Checks that records and body are inside the object, one after the other in any order (TN-BIN-4).
inline Status check_layout(const tenon_plugin_head& head) {
  if (head.num_backends == 0 || head.num_backends > max_backends_per_plugin) {
    return error(Error::InvalidArgument, "num_backends is ", head.num_backends, ", expected 1 to ",
                 max_backends_per_plugin, " (TN-BIN-4)");
  }
  if (head.record_size < min_record_size || head.record_size % alignof(tenon_backend_record) != 0) {
    return error(Error::InvalidArgument, "record_size is ", head.record_size,
                 ", expected a multiple of ", alignof(tenon_backend_record), " that is at least ",
                 min_record_size, " (TN-BIN-4)");
  }
  const std::uint64_t records = head.records_offset;
  const std::uint64_t records_end =
      records + std::uint64_t{head.num_backends} * std::uint64_t{head.record_size};
  if (records < head.head_size || records_end > head.object_size) {
    return error(Error::InvalidArgument, head.num_backends, " records of ", head.record_size,
                 " bytes at records_offset ", records, " end at ", records_end,
                 ", expected them between the head's ", head.head_size, " and the object's ",
                 head.object_size, " bytes (TN-BIN-4)");
  }
  const std::uint64_t body = head.body_offset;
  const std::uint64_t alignment = head.pointer_size;
  const std::uint64_t body_end = body + offsetof(tenon_plugin_body, backends) + head.pointer_size;
  if (body < head.head_size || body_end > head.object_size || body % alignment != 0) {
    return error(Error::InvalidArgument, "body_offset is ", body, ", expected a multiple of ",
                 alignment, " with ", body_end - body, " bytes behind it, between the head's ",
                 head.head_size, " and the object's ", head.object_size, " bytes (TN-BIN-4)");
  }
  if (body < records_end && records < body_end) {
    return error(Error::InvalidArgument, "the body at ", body, " overlaps the records from ",
                 records, " to ", records_end, " (TN-BIN-4)");
  }
  return ok();
}

inline Result<BackendRecord> read_backend(std::span<const std::byte> bytes) {
  tenon_backend_record raw{};
  std::memcpy(&raw, bytes.data(), std::min(bytes.size(), sizeof raw));
  if (raw.struct_size != bytes.size()) {
    return error(Error::InvalidArgument, "struct_size is ", raw.struct_size,
                 ", expected the head's record_size ", bytes.size(), " (TN-BIN-8)");
  }
  if (raw.min_payload_version > raw.max_payload_version) {
    return error(Error::InvalidArgument, "min_payload_version ", raw.min_payload_version,
                 " is above max_payload_version ", raw.max_payload_version, " (TN-BIN-14)");
  }
  if (const std::uint32_t unknown = raw.flags & flags_to_know & ~known_flags; unknown != 0) {
    return error(Error::NotSupported, "flags have bit ", std::countr_zero(unknown),
                 ", which restricts how the backend may be used; this host does not know it "
                 "(TN-NEG-4)");
  }
  BackendRecord record;
  TENON_TRY(record.id, read_field(raw.id, "id"));
  if (record.id.empty()) {
    return error(Error::InvalidArgument,
                 "id is empty, expected the string that programs name (TN-BIN-5)");
  }
  TENON_TRY(const std::string tags, read_field(raw.tags, "tags"));
  TENON_TRY(const std::string cpu_features, read_field(raw.cpu_features, "cpu_features"));
  TENON_TRY(record.description, read_field(raw.description, "description"));
  record.tags = split_list(tags);
  record.cpu_features = split_list(cpu_features);
  record.priority = raw.priority;
  record.min_payload_version = raw.min_payload_version;
  record.max_payload_version = raw.max_payload_version;
  record.runs_embedded_code = (raw.flags & TENON_BACKEND_RUNS_EMBEDDED_CODE) != 0;
  record.offers_kernels = (raw.flags & TENON_BACKEND_OFFERS_KERNELS) != 0;
  return record;
}

inline Result<std::vector<BackendRecord>> read_backends(std::span<const std::byte> object,
                                                        const tenon_plugin_head& head) {
  TENON_RETURN_IF_ERROR(check_layout(head));
  std::vector<BackendRecord> backends(head.num_backends);
  for (std::uint32_t i = 0; i < head.num_backends; ++i) {
    const auto offset = head.records_offset + std::size_t{i} * head.record_size;
    auto backend = read_backend(object.subspan(offset, head.record_size));
    if (!backend.ok()) {
      return std::move(backend).status().with_context(concat("backend record ", i));
    }
    backends[i] = *std::move(backend);
  }
  std::vector<std::string_view> ids;
  ids.reserve(backends.size());
  for (const BackendRecord& backend : backends) ids.push_back(backend.id);
  std::sort(ids.begin(), ids.end());
  if (const auto twin = std::adjacent_find(ids.begin(), ids.end()); twin != ids.end()) {
    return error(Error::InvalidArgument, "two backend records have the id ", *twin,
                 ", expected ids that differ (TN-BIN-6)");
  }
  return backends;
}

inline Result<PluginRecord> parse_object(std::span<const std::byte> object,
                                         std::size_t pointer_size) {
  TENON_TRY(const tenon_plugin_head head, read_head(object, pointer_size));
  PluginRecord record;
  TENON_TRY(record.name, read_field(head.name, "name"));
  TENON_TRY(record.version, read_field(head.version, "version"));
  TENON_TRY(record.vendor, read_field(head.vendor, "vendor"));
  TENON_TRY(record.sdk_version, read_field(head.sdk_version, "sdk_version"));
  record.abi_major = head.abi_major;
  record.abi_minor = head.abi_minor;
  record.min_host_abi_minor = head.min_host_abi_minor;

  auto backends = read_backends(object, head);
  if (!backends.ok()) {
    // A plugin that this host must refuse anyway may describe its backends in a way that is unknown
    // here. The versions are then the better reason.
    TENON_RETURN_IF_ERROR(check_abi(record));
    return std::move(backends).status();
  }
  record.backends = *std::move(backends);
  if (record.name.empty()) record.name = record.backends.front().id;
  return record;
}

}  // namespace detail

Result<PluginRecord> read_record(std::span<const std::byte> object, std::string_view where,
                                 std::size_t pointer_size) {
  auto record = detail::parse_object(object, pointer_size);
  if (!record.ok()) return std::move(record).status().with_context(where);
  return record;
}

}}}  // namespace tenon::TENON_RELEASE::host
