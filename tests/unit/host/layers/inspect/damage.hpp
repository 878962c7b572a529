// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "object_builder.hpp"
#include "support/catch.hpp"
#include "support/elf_builder.hpp"
#include "tenon/host/layers/inspect/platforms.hpp"

/// Files that are no plugins, made from a plugin.
namespace tenon::test {

using Damage = std::function<void(ByteVector&)>;

template <class Number>
Damage put(std::size_t offset, Number value) {
  return [=](ByteVector& file) { put_number(file, offset, value); };
}
inline Damage both(Damage first, Damage second) {
  return [=](ByteVector& file) { first(file), second(file); };
}
inline Damage cut(std::size_t size) {
  return [=](ByteVector& file) { file.resize(size); };
}

struct Damaged {
  const char* text;  ///< A part of the error.
  Damage damage;
};

/// Checks that `whole`, damaged as each of `rows` says, is refused as the plugin `name`.
inline void check_refused(const ByteVector& whole, std::string_view name,
                          const host::Platform& platform, std::span<const Damaged> rows) {
  for (const Damaged& row : rows) {
    ByteVector file = whole;
    row.damage(file);
    INFO("expected: " << row.text);
    const auto record = host::peek(file, name, platform);
    REQUIRE_FALSE(record.ok());
    CHECK(record.error() == Error::InvalidArgument);
    CHECK_THAT(std::string(record.text()), ContainsSubstring(row.text));
    CHECK_THAT(std::string(record.text()), ContainsSubstring(std::string(name) + ": "));
  }
}

/// Checks that `file` has the plugin of ObjectBuilder.
inline void check_found(const ByteVector& file, std::string_view name,
                        const host::Platform& platform) {
  const auto record = host::peek(file, name, platform);
  INFO(record.text());
  REQUIRE(record.ok());
  CHECK(record->name == "arithmetic");
  CHECK(record->backends.size() == 2);
}

}  // namespace tenon::test
