// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "tenon/abi/plugin.h"

namespace tenon::test {

using ByteVector = std::vector<std::byte>;

/// Writes `text` and zeros into a field of a record.
template <std::size_t Size>
void put_text(char (&field)[Size], std::string_view text) {
  std::memset(field, 0, Size);
  std::memcpy(field, text.data(), std::min(Size, text.size()));
}

inline tenon_backend_record make_backend_record(std::string_view id) {
  tenon_backend_record record{};
  record.struct_size = sizeof record;
  put_text(record.id, id);
  return record;
}

/// The object of a plugin as a test wants it: right at first, then broken member by member.
struct ObjectBuilder {
  tenon_plugin_head head{};
  std::vector<tenon_backend_record> records;

  /// An object of a platform with such pointers, of 4 or 8 bytes.
  explicit ObjectBuilder(std::uint8_t pointer_size) : ObjectBuilder() {
    head.pointer_size = pointer_size;
  }
  /// A valid object with one record for each id.
  explicit ObjectBuilder(std::vector<std::string_view> ids = {"AddBackend", "MulBackend"}) {
    constexpr std::uint8_t magic[] = TENON_PLUGIN_MAGIC;
    std::memcpy(head.magic, magic, sizeof magic);
    for (const auto id : ids) records.push_back(make_backend_record(id));
    const auto count = static_cast<std::uint32_t>(ids.size());
    head.head_size = sizeof head;
    head.abi_major = TENON_ABI_MAJOR;
    head.abi_minor = TENON_ABI_MINOR;
    head.pointer_size = sizeof(void*);
    head.little_endian = std::endian::native == std::endian::little ? 1 : 0;
    head.num_backends = count;
    head.records_offset = sizeof head;
    head.record_size = sizeof(tenon_backend_record);
    head.body_offset =
        static_cast<std::uint32_t>(sizeof head + count * sizeof(tenon_backend_record));
    head.object_size = head.body_offset + static_cast<std::uint32_t>(sizeof(tenon_plugin_body));
    put_text(head.name, "arithmetic");
    put_text(head.version, "1.2.3");
    put_text(head.sdk_version, TENON_VERSION_STRING);
  }

  /// Head, records and a body without pointers, one after the other.
  [[nodiscard]] ByteVector bytes() const {
    tenon_plugin_body body{};
    body.struct_size = sizeof body;
    body.num_backends = static_cast<std::uint32_t>(records.size());
    ByteVector out;
    const auto append = [&](const void* data, std::size_t size) {
      const auto* first = static_cast<const std::byte*>(data);
      out.insert(out.end(), first, first + size);
    };
    append(&head, sizeof head);
    append(records.data(), records.size() * sizeof(tenon_backend_record));
    append(&body, sizeof body);
    return out;
  }
};

}  // namespace tenon::test
