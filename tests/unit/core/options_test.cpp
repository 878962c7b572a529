// SPDX-License-Identifier: MIT
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"
#include "tenon/core/options.hpp"

using namespace tenon;

TEST_CASE("option values of all five types survive the way over the boundary", "[core]") {
  const std::vector<OptionValue> values = {
      false,
      true,
      std::int64_t{0},
      std::numeric_limits<std::int64_t>::min(),
      -2.5,
      std::numeric_limits<double>::infinity(),
      std::string("a\0b", 3),
      std::string(),
      std::string(1000, 'x'),
      std::vector<std::byte>{std::byte{0}, std::byte{0xff}},
      std::vector<std::byte>{},
  };
  for (const OptionValue& value : values) {
    const tenon_option option = write_option("key", value);
    CHECK(option.struct_size == sizeof(tenon_option));
    CHECK(option.type == value.type());
    CHECK(std::strcmp(option.key, "key") == 0);
    const auto back = read_option(option);
    REQUIRE(back.ok());
    CHECK(*back == value);
  }
}

TEST_CASE("a view of an option reads its type alone, and copies it", "[core]") {
  const std::vector<OptionValue> values = {true, std::int64_t{-3}, 0.5, std::string("a\0b", 3),
                                           std::vector<std::byte>{std::byte{7}}};
  for (const OptionValue& value : values) {
    const tenon_option option = write_option("key", value);
    const OptionView view(option);
    CHECK(view.type() == value.type());
    CHECK(view.boolean().has_value() == (view.type() == TENON_OPTION_BOOL));
    CHECK(view.integer().has_value() == (view.type() == TENON_OPTION_INT));
    CHECK(view.real().has_value() == (view.type() == TENON_OPTION_DOUBLE));
    CHECK(view.string().has_value() == (view.type() == TENON_OPTION_STRING));
    CHECK(view.bytes().has_value() == (view.type() == TENON_OPTION_BYTES));
    const OptionValue copy = view;
    CHECK(copy == value);
  }
  const tenon_option text = write_option("key", values[3]);
  CHECK(*OptionView(text).string() == std::string_view("a\0b", 3));
  const tenon_option number = write_option("key", values[1]);
  CHECK(*OptionView(number).integer() == -3);
}

TEST_CASE("an option takes its type from what it is made of", "[core]") {
  CHECK(OptionValue().get<bool>() == false);
  CHECK(OptionValue(true).type() == TENON_OPTION_BOOL);
  CHECK(OptionValue(7).get<std::int64_t>() == 7);
  CHECK(OptionValue(std::uint32_t{0xffffffff}).get<std::int64_t>() == 0xffffffff);
  CHECK(OptionValue(0.5f).get<double>() == 0.5);
  CHECK(OptionValue("cpu").get<std::string>() == "cpu");
  CHECK(OptionValue(std::string_view("cpu")).get<std::string>() == "cpu");
  const std::array two{std::byte{1}, std::byte{2}};
  CHECK(OptionValue(Bytes(two)).get<std::vector<std::byte>>() ==
        std::vector(two.begin(), two.end()));
  CHECK_FALSE(OptionValue(7).get<double>().has_value());
  CHECK_FALSE(OptionValue("cpu").get<std::vector<std::byte>>().has_value());
  CHECK_FALSE(OptionValue(7) == OptionValue(7.0));
  CHECK_FALSE(OptionValue("cpu") == OptionValue(std::vector<std::byte>(3, std::byte{'c'})));

  static_assert(!std::is_constructible_v<OptionValue, std::uint64_t>);  // It may not fit.
  static_assert(!std::is_constructible_v<OptionValue, const void*>);
}

TEST_CASE("a view of text or bytes without an address has no value", "[core]") {
  for (const std::uint32_t type : {TENON_OPTION_STRING, TENON_OPTION_BYTES}) {
    tenon_option option = write_option("key", OptionValue(false));
    option.type = type;
    option.as.span = {nullptr, 7};
    const OptionView view(option);
    CHECK_FALSE(view.string().has_value());
    CHECK_FALSE(view.bytes().has_value());
    const OptionValue copy = view;
    CHECK(copy == OptionValue(false));
    option.as.span = {nullptr, 0};
    const OptionView empty(option);
    CHECK(empty.string().has_value() == (type == TENON_OPTION_STRING));
    CHECK(empty.bytes().has_value() == (type == TENON_OPTION_BYTES));
  }
  tenon_option unknown = write_option("key", OptionValue(true));
  unknown.type = 99;
  const OptionValue copy = OptionView(unknown);
  CHECK(copy == OptionValue(false));
}

TEST_CASE("an option that was read holds its own copy", "[core]") {
  std::string text = "before";
  tenon_option option = write_option("key", OptionValue(text));
  option.as.span = {text.data(), text.size()};
  const auto value = read_option(option);
  text.assign("after!");
  REQUIRE(value.ok());
  CHECK(value->get<std::string>() == "before");
}

TEST_CASE("any byte but 0 is true", "[core]") {
  tenon_option option = write_option("key", OptionValue(false));
  option.as.boolean = 7;
  const auto value = read_option(option);
  REQUIRE(value.ok());
  CHECK(value->get<bool>() == true);
}

TEST_CASE("an option type that is unknown is refused by name", "[core]") {
  for (const std::uint32_t type : {0u, 6u, 0xffffffffu}) {
    tenon_option option = write_option("threads", OptionValue(std::int64_t{1}));
    option.type = type;
    const auto value = read_option(option);
    CHECK(value.error() == Error::InvalidType);
    CHECK_THAT(std::string(value.text()),
               ContainsSubstring("'threads'") && ContainsSubstring(std::to_string(type)));
  }
}

TEST_CASE("an option with zeroes in each member is refused without its key", "[core]") {
  const auto value = read_option(tenon_option{});
  CHECK(value.error() == Error::InvalidType);
  CHECK(value.text() == "option '': unknown type number 0");
}

TEST_CASE("the refusal of a long key has whole characters of it", "[core]") {
  const std::string begin(63, 'k');
  const Status refused = unknown_option(begin + "\xc3\xa9");
  CHECK(refused.error() == Error::NotFound);
  CHECK(refused.text() == "option '" + begin + "...' is unknown; the backend has no options");
}

TEST_CASE("text or bytes without an address are refused unless there are none", "[core]") {
  for (const std::uint32_t type : {TENON_OPTION_STRING, TENON_OPTION_BYTES}) {
    tenon_option option = write_option("salt", OptionValue(false));
    option.type = type;
    option.as.span = {nullptr, 3};
    const auto value = read_option(option);
    CHECK(value.error() == Error::InvalidArgument);
    CHECK(value.text() == "option 'salt': null data with size 3");
    option.as.span = {nullptr, 0};
    CHECK(read_option(option).ok());
  }
}

TEST_CASE("text is read as a value of a type", "[core]") {
  using Case = std::tuple<const char*, std::uint32_t, OptionValue>;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const auto& [text, type, value] : std::vector<Case>{
           {"1", TENON_OPTION_BOOL, true},
           {"false", TENON_OPTION_BOOL, false},
           {"-4", TENON_OPTION_INT, -4},
           {"+9223372036854775807", TENON_OPTION_INT, std::int64_t{INT64_MAX}},
           {"2", TENON_OPTION_DOUBLE, 2.0},
           {"+2.5", TENON_OPTION_DOUBLE, 2.5},
           {"-1e-3", TENON_OPTION_DOUBLE, -1e-3},
           {"1e-310", TENON_OPTION_DOUBLE, 1e-310},
           {"inf", TENON_OPTION_DOUBLE, infinity},
           {"true", TENON_OPTION_STRING, "true"},
           {"", TENON_OPTION_STRING, ""},
           {"00fF", TENON_OPTION_BYTES, std::vector{std::byte{0}, std::byte{255}}},
           {"", TENON_OPTION_BYTES, std::vector<std::byte>{}},
       }) {
    INFO(text);
    CHECK(parse_option(text, type) == value);
  }
}

TEST_CASE("text that is no value of a type is not read", "[core]") {
  const auto [text, type] = GENERATE(table<std::string, std::uint32_t>({
      {"yes", TENON_OPTION_BOOL},     {"", TENON_OPTION_BOOL},
      {"4.5", TENON_OPTION_INT},      {"", TENON_OPTION_INT},
      {"+", TENON_OPTION_INT},        {"+-1", TENON_OPTION_INT},
      {"0x10", TENON_OPTION_INT},     {" 1", TENON_OPTION_INT},
      {"1 ", TENON_OPTION_INT},       {"9223372036854775808", TENON_OPTION_INT},
      {"fast", TENON_OPTION_DOUBLE},  {"1e999", TENON_OPTION_DOUBLE},
      {"0x1p3", TENON_OPTION_DOUBLE}, {" 1", TENON_OPTION_DOUBLE},
      {"+-1", TENON_OPTION_DOUBLE},   {"", TENON_OPTION_DOUBLE},
      {"++1", TENON_OPTION_INT},      {"++1", TENON_OPTION_DOUBLE},
      {"0", TENON_OPTION_BYTES},      {"0x", TENON_OPTION_BYTES},
      {"zz", TENON_OPTION_BYTES},
  }));
  INFO(text);
  CHECK_FALSE(parse_option(text, type).has_value());
}

TEST_CASE("text without a declared type is what it looks like", "[core]") {
  CHECK(guess_option("true") == OptionValue(true));
  CHECK(guess_option("1") == OptionValue(1));
  CHECK(guess_option("-0.5") == OptionValue(-0.5));
  CHECK(guess_option("1e3") == OptionValue(1000.0));
  CHECK(guess_option("inf") == OptionValue("inf"));
  CHECK(guess_option("v1.2") == OptionValue("v1.2"));
  CHECK(guess_option("") == OptionValue(""));
  CHECK(guess_option("9223372036854775808") == OptionValue(9223372036854775808.0));
}

TEST_CASE("option types have names", "[core]") {
  CHECK(option_type_name(TENON_OPTION_BOOL) == "bool");
  CHECK(option_type_name(TENON_OPTION_INT) == "int64");
  CHECK(option_type_name(TENON_OPTION_DOUBLE) == "double");
  CHECK(option_type_name(TENON_OPTION_STRING) == "string");
  CHECK(option_type_name(TENON_OPTION_BYTES) == "bytes");
  CHECK(option_type_name(0) == "?");
  CHECK(option_type_name(6) == "?");
}
