// SPDX-License-Identifier: MIT
#include <functional>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/loader/program/key_index.hpp"

using namespace tenon;
using tenon::host::quoted;
using tenon::host::detail::KeyIndex;

namespace {

class Keys {
 public:
  explicit Keys(std::vector<std::string> keys) : keys_(std::move(keys)) {}

  [[nodiscard]] Result<KeyIndex> build() const {
    return KeyIndex::build(static_cast<std::uint32_t>(keys_.size()), key_of(),
                           Error::InvalidProgram, "keys");
  }
  [[nodiscard]] std::function<std::string_view(std::uint32_t)> key_of() const {
    return [this](std::uint32_t i) { return std::string_view(keys_[i]); };
  }

 private:
  std::vector<std::string> keys_;
};

Keys numbered(int count) {
  std::vector<std::string> keys;
  for (int i = 0; i < count; ++i) keys.push_back("key " + std::to_string(i));
  return Keys(keys);
}

TEST_CASE("each key is found at its place and no other key is") {
  for (const int count : {0, 1, 2, 8, 9, 100, 5000}) {
    const auto keys = numbered(count);
    const auto index = keys.build();
    REQUIRE(index.ok());
    CHECK(index->size() == static_cast<std::uint32_t>(count));
    for (int i = 0; i < count; ++i) {
      const auto place = index->find("key " + std::to_string(i), keys.key_of());
      REQUIRE(place.has_value());
      CHECK(*place == static_cast<std::uint32_t>(i));
    }
    CHECK_FALSE(index->find("key " + std::to_string(count), keys.key_of()).has_value());
    CHECK_FALSE(index->find("", keys.key_of()).has_value());
  }
}

TEST_CASE("the empty key is a key") {
  const Keys keys({"a", ""});
  CHECK(keys.build()->find("", keys.key_of()) == 1u);
}

TEST_CASE("equal keys are refused with both places") {
  const auto few = Keys({"a", "b", "a"}).build();
  REQUIRE_FALSE(few.ok());
  CHECK(few.error() == Error::InvalidProgram);
  CHECK(few.text() == "keys[2]: 'a' is also keys[0]");
  std::vector<std::string> many(50);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = std::to_string(i % 49);
  CHECK(Keys(many).build().text() == "keys[49]: '0' is also keys[0]");
}

TEST_CASE("keys chosen to make look-up linear are refused") {
  // With 100 keys there are 256 slots; these keys all begin their search at slot 0.
  std::vector<std::string> colliding;
  for (int i = 0; colliding.size() < 100; ++i) {
    auto key = std::to_string(i);
    if (std::hash<std::string_view>{}(key) % 256 == 0) colliding.push_back(std::move(key));
  }
  const auto index = Keys(colliding).build();
  REQUIRE_FALSE(index.ok());
  CHECK(index.text() == "keys: the hashes of its 100 keys collide");
}

TEST_CASE("quoted text is one short line") {
  CHECK(quoted("plain") == "'plain'");
  CHECK(quoted("") == "''");
  CHECK(quoted("a\nb\tc\x1b[0m\x7f") == "'a\\nb\\tc\\x1b[0m\\x7f'");
  CHECK(quoted(std::string_view("a\0b", 3)) == "'a\\x00b'");
  CHECK(quoted(std::string(80, 'x')) == "'" + std::string(80, 'x') + "'");
  std::string changeable = "a\n";
  CHECK(quoted(changeable) == "'a\\n'");
  CHECK(quoted(std::string(81, 'x')) == "'" + std::string(80, 'x') + "...'");
}

TEST_CASE("quoted text is UTF-8 and drives no terminal") {
  CHECK(quoted("Zürich 模型 🙂") == "'Zürich 模型 🙂'");
  // C1, as characters of UTF-8 and as bytes; U+00A0 is the first character after it.
  CHECK(quoted("a\xc2\x80\xc2\x9b[0m\xc2\x9f") == "'a\\x80\\x9b[0m\\x9f'");
  CHECK(quoted("\xc2\xa0") == "'\xc2\xa0'");
  CHECK(quoted("a\x9b[0m\x80") == "'a\\x9b[0m\\x80'");
  for (int byte = 0x80; byte <= 0xff; ++byte) {
    constexpr std::string_view digits = "0123456789abcdef";
    const std::string shown = {'\'',
                               '\\',
                               'x',
                               digits[static_cast<std::size_t>(byte) / 16],
                               digits[static_cast<std::size_t>(byte) % 16],
                               '\''};
    CHECK(quoted(std::string(1, static_cast<char>(byte))) == shown);
  }
  // Overlong, a surrogate, beyond the last character, cut short, and then a good one.
  CHECK(quoted("\xc0\x9b") == "'\\xc0\\x9b'");
  CHECK(quoted("\xed\xa0\x80") == "'\\xed\\xa0\\x80'");
  CHECK(quoted("\xf4\x90\x80\x80") == "'\\xf4\\x90\\x80\\x80'");
  CHECK(quoted("\xe2\x82") == "'\\xe2\\x82'");
  CHECK(quoted("\xe2\x82\xc3\xa4") == "'\\xe2\\x82ä'");
  CHECK(quoted(std::string_view("\xc3\0", 2)) == "'\\xc3\\x00'");
  // Marks and overrides of the direction of writing, and what begins a line.
  CHECK(quoted("a\u202eb\u2066c\u200fd\u2028e\ufeff") ==
        "'a\\u202eb\\u2066c\\u200fd\\u2028e\\ufeff'");
}

TEST_CASE("quoted text is cut between characters") {
  for (const std::string character : {"ä", "模", "🙂"}) {
    for (std::size_t before = 70; before <= 81; ++before) {
      const std::string plain(before, 'x');
      const bool fits = before + character.size() <= 80;
      INFO(before << " bytes before " << character);
      CHECK(quoted(plain + character) ==
            "'" + plain.substr(0, 80) + (fits ? character + "'" : "...'"));
      CHECK(quoted(plain + character + std::string(80, 'y')).size() <= 80 + 5);
    }
  }
  // Bytes that are not UTF-8 are cut anywhere.
  CHECK(quoted(std::string(79, 'x') + "\xe2\x82") == "'" + std::string(79, 'x') + "\\xe2...'");
  CHECK(quoted(std::string(200, '\x9b')).size() == 80 * 4 + 5);
}

}  // namespace
