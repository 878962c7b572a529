// SPDX-License-Identifier: MIT
#include "options.hpp"

#include <string>
#include <vector>

#include "support/catch.hpp"

namespace {

using namespace tenon;
using namespace tenon::host;
using namespace tenon::run;

const std::vector<std::string> ids{"Add", "vendor.npu", "vendor"};

const std::vector<OptionDeclaration> declarations{
    {"fast", false, "", true, true},
    {"threads", std::int64_t{1}, "", true, true},
    {"scale", 1.0, "", true, true},
    {"cache", std::string(), "", true, true},
    {"level", std::int64_t{0}, "", true, false},
};

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

TEST_CASE("an option takes its declared type, or without a declaration that which it looks like",
          "[option]") {
  const auto value = [](const std::string& key, const auto& among) {
    const auto result = option_value({"Add", key, "2"}, among);
    REQUIRE(result.ok());
    return *result;
  };
  CHECK(value("threads", declarations) == OptionValue(std::int64_t{2}));
  CHECK(value("scale", declarations) == OptionValue(2.0));
  CHECK(value("cache", declarations) == OptionValue("2"));
  CHECK(value("any", std::vector<OptionDeclaration>()) == OptionValue(std::int64_t{2}));
}

TEST_CASE("a value of another type than declared is refused", "[option]") {
  const auto result = option_value({"Add", "fast", "yes"}, declarations);
  REQUIRE_FALSE(result.ok());
  CHECK(result.error() == Error::InvalidType);
  CHECK(result.text() == "--option Add.fast: expected a value of type bool, found 'yes'");
}

TEST_CASE("an unknown key names the known ones", "[option]") {
  const auto result = option_value({"Add", "thread", "4"}, declarations);
  REQUIRE_FALSE(result.ok());
  CHECK(result.error() == Error::NotFound);
  CHECK(result.text() ==
        "--option Add.thread: option 'thread' is unknown; the backend has: fast, threads, scale, "
        "cache, level");
}

TEST_CASE("a key that only the running backend takes is refused", "[option]") {
  const auto result = option_value({"Add", "level", "4"}, declarations);
  REQUIRE_FALSE(result.ok());
  CHECK(result.error() == Error::NotSupported);
  CHECK(result.text() == "--option Add.level: option 'level' cannot be given for one load");
}
