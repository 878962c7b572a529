// SPDX-License-Identifier: MIT
#include "options.hpp"

#include <string>
#include <vector>

#include "support/catch.hpp"

namespace {

using tenon::Error;
using tenon::OptionValue;
using tenon::host::OptionDeclaration;
using tenon::run::option_value;
using tenon::run::OptionArgument;
using tenon::run::split_option;

const std::vector<std::string> ids{"Add", "vendor.npu", "vendor"};

const std::vector<OptionDeclaration> declarations{
    {"fast", false, "", true, true},
    {"threads", std::int64_t{1}, "", true, true},
    {"scale", 1.0, "", true, true},
    {"cache", std::string(), "", true, true},
    {"key", std::vector<std::byte>{}, "", true, true},
    {"level", std::int64_t{0}, "", true, false},
};

OptionValue declared(const std::string& key, const std::string& value) {
  const auto result = option_value({"Add", key, value}, declarations);
  REQUIRE(result.ok());
  return *result;
}

OptionValue guessed(const std::string& value) {
  const auto result = option_value({"Add", "any", value}, {});
  REQUIRE(result.ok());
  return *result;
}

}  // namespace

TEST_CASE("an option argument is taken apart", "[option]") {
  const auto option = split_option("Add.path=a.b=c", ids);
  REQUIRE(option.ok());
  CHECK(option->backend == "Add");
  CHECK(option->key == "path");
  CHECK(option->value == "a.b=c");

  const auto empty = split_option("Add.path=", ids);
  REQUIRE(empty.ok());
  CHECK(empty->value.empty());
}

TEST_CASE("the longest backend id that fits is meant", "[option]") {
  const auto longest = split_option("vendor.npu.threads=4", ids);
  REQUIRE(longest.ok());
  CHECK(longest->backend == "vendor.npu");
  CHECK(longest->key == "threads");
  const auto shorter = split_option("vendor.threads.max=4", ids);
  REQUIRE(shorter.ok());
  CHECK(shorter->backend == "vendor");
  CHECK(shorter->key == "threads.max");
}

TEST_CASE("an option argument of another form is refused", "[option]") {
  const std::string text = GENERATE("", "Add", "Add.key", "Add=4", "=4", "Add.=4", ".key=4");
  const auto option = split_option(text, ids);
  REQUIRE_FALSE(option.ok());
  CHECK(option.error() == Error::InvalidArgument);
}

TEST_CASE("an option for a backend that is not used names those that are", "[option]") {
  const auto option = split_option("Sub.key=4", ids);
  REQUIRE_FALSE(option.ok());
  CHECK_THAT(std::string(option.text()), ContainsSubstring("it uses: Add, vendor.npu, vendor"));
  CHECK_THAT(std::string(split_option("Sub.key=4", {}).text()), ContainsSubstring("none"));
}

TEST_CASE("a declared option takes its declared type", "[option]") {
  CHECK(declared("fast", "1") == OptionValue(true));
  CHECK(declared("fast", "false") == OptionValue(false));
  CHECK(declared("threads", "-4") == OptionValue(std::int64_t{-4}));
  CHECK(declared("threads", "+9223372036854775807") == OptionValue(std::int64_t{INT64_MAX}));
  CHECK(declared("scale", "2") == OptionValue(2.0));
  CHECK(declared("scale", "-1e-3") == OptionValue(-1e-3));
  CHECK(declared("cache", "true") == OptionValue(std::string("true")));
  CHECK(declared("cache", "") == OptionValue(std::string()));
  CHECK(declared("key", "00fF") ==
        OptionValue(std::vector<std::byte>{std::byte{0}, std::byte{255}}));
}

TEST_CASE("a value that is none of the declared type is refused", "[option]") {
  const auto [key, value] =
      GENERATE(table<std::string, std::string>({{"fast", "yes"},
                                                {"threads", "4.5"},
                                                {"threads", ""},
                                                {"threads", "0x10"},
                                                {"threads", " 1"},
                                                {"threads", "1 "},
                                                {"threads", "9223372036854775808"},
                                                {"scale", "fast"},
                                                {"scale", "1e999"},
                                                {"scale", " 1"},
                                                {"scale", ""},
                                                {"key", "0"},
                                                {"key", "zz"}}));
  const auto result = option_value({"Add", key, value}, declarations);
  REQUIRE_FALSE(result.ok());
  CHECK(result.error() == Error::InvalidType);
  CHECK_THAT(std::string(result.text()), ContainsSubstring("Add." + key));
}

TEST_CASE("an unknown key names the known ones", "[option]") {
  const auto result = option_value({"Add", "thread", "4"}, declarations);
  REQUIRE_FALSE(result.ok());
  CHECK(result.error() == Error::NotFound);
  CHECK_THAT(std::string(result.text()),
             ContainsSubstring("it has: fast, threads, scale, cache, key"));
}

TEST_CASE("a key that only the running backend takes is refused", "[option]") {
  const auto result = option_value({"Add", "level", "4"}, declarations);
  REQUIRE_FALSE(result.ok());
  CHECK(result.error() == Error::NotSupported);
}

TEST_CASE("without declarations a value is what it looks like", "[option]") {
  CHECK(guessed("true") == OptionValue(true));
  CHECK(guessed("1") == OptionValue(std::int64_t{1}));
  CHECK(guessed("-0.5") == OptionValue(-0.5));
  CHECK(guessed("1e3") == OptionValue(1000.0));
  CHECK(guessed("inf") == OptionValue(std::string("inf")));
  CHECK(guessed("v1.2") == OptionValue(std::string("v1.2")));
  CHECK(guessed("") == OptionValue(std::string()));
  CHECK(guessed("9223372036854775808") == OptionValue(9223372036854775808.0));
}
