// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tenon/host/key_index.hpp"
#include "tenon/host/quoted.hpp"

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
  CHECK(quoted("a\nb\tc\x1b[0m\x7f") == "'a?b?c?[0m?'");
  CHECK(quoted(std::string_view("a\0b", 3)) == "'a?b'");
  CHECK(quoted(std::string(80, 'x')) == "'" + std::string(80, 'x') + "'");
  CHECK(quoted(std::string(81, 'x')) == "'" + std::string(80, 'x') + "...'");
}

}  // namespace
