// SPDX-License-Identifier: MIT
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "tenon/core/bytes.hpp"
#include "tenon/core/compile_specs.hpp"
#include "tenon/core/struct_size.hpp"

using namespace tenon;

namespace {

constexpr std::array bytes = {std::byte{0x01}, std::byte{0x02}, std::byte{0x83},
                              std::byte{0x04}, std::byte{0x05}, std::byte{0x06},
                              std::byte{0x07}, std::byte{0x88}, std::byte{0xff}};

tenon_compile_spec make_spec(const char* key, std::string_view value) {
  return {sizeof(tenon_compile_spec), 0, key, value.data(), value.size()};
}

}  // namespace

TEST_CASE("numbers are read little-endian from any offset", "[core]") {
  CHECK(read_le<std::uint8_t>(bytes) == 0x01);
  CHECK(read_le<std::uint16_t>(bytes) == 0x0201);
  CHECK(read_le<std::uint32_t>(bytes) == 0x04830201u);
  CHECK(read_le<std::uint64_t>(bytes, 1) == 0xff88070605048302u);
  CHECK(read_le<std::int16_t>(bytes, 1) == std::int16_t(-0x7cfe));
  CHECK(read_le<std::int8_t>(bytes, 8) == std::int8_t{-1});
}

TEST_CASE("a real number is read from its bits", "[core]") {
  const std::array real = {std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0xc0},
                           std::byte{0x3f}};
  CHECK(read_le<float>(real, 1) == 1.5f);
}

TEST_CASE("a number that does not fit in the bytes is not read", "[core]") {
  CHECK(read_le<std::uint8_t>(bytes, 8).has_value());
  CHECK_FALSE(read_le<std::uint8_t>(bytes, 9).has_value());
  CHECK(read_le<std::uint64_t>(bytes, 1).has_value());
  CHECK_FALSE(read_le<std::uint64_t>(bytes, 2).has_value());
  CHECK_FALSE(read_le<std::uint32_t>(bytes, std::numeric_limits<std::size_t>::max()).has_value());
  CHECK_FALSE(read_le<std::uint32_t>(bytes, std::numeric_limits<std::size_t>::max() - 2));
  CHECK_FALSE(read_le<std::uint8_t>({}).has_value());
}

TEST_CASE("bytes are read as text without looking for a terminator", "[core]") {
  const std::array text = {std::byte{'a'}, std::byte{0}, std::byte{'b'}};
  CHECK(as_text(text) == std::string_view("a\0b", 3));
  CHECK(as_text({}).empty());
}

TEST_CASE("compile specs keep their order and values are not NUL-terminated", "[core]") {
  const char text[] = {'c', 'u', 'd', 'a', '!', '!'};
  const tenon_compile_spec specs[] = {make_spec("device", {text, 4}), make_spec("empty", {}),
                                      make_spec("level", {"\x05\0\0\0", 4})};
  const CompileSpecs view(specs, 3);
  REQUIRE(view.size() == 3);
  CHECK(view[0].key == "device");
  CHECK(as_text(view[0].value) == "cuda");
  CHECK(view[1].value.empty());
  CHECK(read_le<std::uint32_t>(view[2].value) == 5u);
  REQUIRE(view.find("level").has_value());
  CHECK(view.find("level")->size() == 4);
}

TEST_CASE("a key that repeats is found at its first place", "[core]") {
  const tenon_compile_spec specs[] = {make_spec("k", "one"), make_spec("k", "two")};
  const CompileSpecs view(specs, 2);
  CHECK(as_text(*view.find("k")) == "one");
  CHECK(as_text(view[1].value) == "two");
}

TEST_CASE("a key that is not there is found nowhere", "[core]") {
  const tenon_compile_spec specs[] = {make_spec("key", "value")};
  CHECK_FALSE(CompileSpecs(specs, 1).find("ke").has_value());
  CHECK_FALSE(CompileSpecs(specs, 1).find("keys").has_value());
  const CompileSpecs none(nullptr, 0);
  CHECK(none.size() == 0);
  CHECK_FALSE(none.find("key").has_value());
}

TEST_CASE("compile specs of a newer host are walked by their own size", "[core]") {
  struct NewerSpec {
    tenon_compile_spec known;
    std::uint64_t poison[3];
  };
  constexpr std::uint64_t poison = 0xdeadbeefdeadbeefu;
  NewerSpec specs[] = {{make_spec("a", "1"), {poison, poison, poison}},
                       {make_spec("b", "2"), {poison, poison, poison}}};
  for (NewerSpec& spec : specs) spec.known.struct_size = sizeof(NewerSpec);
  const CompileSpecs view(&specs[0].known, 2);
  CHECK(view[0].key == "a");
  CHECK(view[1].key == "b");
  CHECK(as_text(*view.find("b")) == "2");
}
