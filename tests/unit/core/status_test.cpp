// SPDX-License-Identifier: MIT
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <type_traits>

#include "support/catch.hpp"
#include "tenon/core/result.hpp"

using namespace tenon;

namespace {

struct ErrorRow {
  std::uint32_t number;
  std::string_view name;
};

/// `executorch::runtime::Error`, written out from runtime/core/error.h.
constexpr ErrorRow executorch_errors[] = {
    {0x00, "Ok"},
    {0x01, "Internal"},
    {0x02, "InvalidState"},
    {0x03, "EndOfMethod"},
    {0x04, "AlreadyLoaded"},
    {0x10, "NotSupported"},
    {0x11, "NotImplemented"},
    {0x12, "InvalidArgument"},
    {0x13, "InvalidType"},
    {0x14, "OperatorMissing"},
    {0x15, "RegistrationExceedingMaxKernels"},
    {0x16, "RegistrationAlreadyRegistered"},
    {0x20, "NotFound"},
    {0x21, "MemoryAllocationFailed"},
    {0x22, "AccessFailed"},
    {0x23, "InvalidProgram"},
    {0x24, "InvalidExternalData"},
    {0x25, "OutOfResources"},
    {0x30, "DelegateInvalidCompatibility"},
    {0x31, "DelegateMemoryAllocationFailed"},
    {0x32, "DelegateInvalidHandle"},
};

Status fail_if(bool fails, std::string_view text) {
  if (fails) return error(Error::InvalidArgument, text);
  return ok();
}

Result<std::unique_ptr<int>> make_number(int number) {
  if (number < 0) return error(Error::NotFound, "no number ", number);
  return std::make_unique<int>(number);
}

int calls = 0;
Status counted(bool fails) {
  ++calls;
  return fail_if(fails, "counted");
}

constexpr std::array<std::pair<std::uint32_t, std::string_view>, 4> own_errors{
    {{0x7a, "DeviceLost"}, {0x7b, "TimedOut"}, {0x7c, "Busy"}, {0x7d, "Cancelled"}}};

Status check_three(bool first, bool second, bool third) {
  TENON_RETURN_IF_ERROR(fail_if(first, "first"));
  TENON_RETURN_IF_ERROR(fail_if(second, "second"));
  TENON_RETURN_IF_ERROR(fail_if(third, "third"));
  return ok();
}

Result<int> add_two(int a, int b) {
  TENON_TRY(const auto first, make_number(a));
  TENON_TRY(const auto second, make_number(b));
  int sum = 0;
  TENON_TRY(sum, Result<int>(*first + *second));
  return sum;
}

}  // namespace

TEST_CASE("errors have the names and numbers of ExecuTorch", "[core]") {
  // And those that are Tenon's own.
  REQUIRE(std::size(executorch_errors) + own_errors.size() == detail::error_names.size());
  for (const auto& [number, name] : own_errors) {
    CHECK(error_name(error_from_status(number)) == name);
    CHECK(to_status(error_from_status(number)) == number);
  }
  for (const auto& [number, name] : executorch_errors) {
    CHECK(error_name(static_cast<Error>(number)) == name);
    CHECK(to_status(static_cast<Error>(number)) == number);
    CHECK(to_status(error_from_status(number)) == number);
  }
}

TEST_CASE("an unknown error number becomes Internal", "[core][TN-ERR-1]") {
  std::set<std::uint32_t> known;
  for (const auto& [number, name] : own_errors) known.insert(number);
  for (const auto& row : executorch_errors) known.insert(row.number);
  for (std::uint32_t number = 0; number < 0x100; ++number) {
    if (known.contains(number)) continue;
    CHECK(error_name(static_cast<Error>(number)).empty());
    CHECK(error_from_status(number) == Error::Internal);
  }
  CHECK(error_from_status(std::numeric_limits<std::uint32_t>::max()) == Error::Internal);
}

TEST_CASE("a status is one pointer and success has no text", "[core]") {
  STATIC_REQUIRE(sizeof(Status) == sizeof(void*));
  STATIC_REQUIRE(std::is_nothrow_move_constructible_v<Status>);
  STATIC_REQUIRE_FALSE(std::is_copy_constructible_v<Status>);
  const Status status = ok();
  CHECK(status.ok());
  CHECK(status.error() == Error::Ok);
  CHECK(status.text().empty());
  CHECK(describe(status) == "Ok");
}

TEST_CASE("a failure keeps its error and its text", "[core]") {
  const Status status = error(Error::InvalidProgram, "expected ", 3, ", found ", -4);
  CHECK_FALSE(status.ok());
  CHECK(status.error() == Error::InvalidProgram);
  CHECK(status.text() == "expected 3, found -4");
  CHECK(describe(status) == "InvalidProgram (0x23): expected 3, found -4");
}

TEST_CASE("a failure made with Ok is Internal and says so", "[core]") {
  const Status status = error(Error::Ok, "nothing wrong");
  CHECK_FALSE(status.ok());
  CHECK(status.error() == Error::Internal);
  CHECK(status.text() == "failure made with Error::Ok: nothing wrong");
}

TEST_CASE("context is prepended to a failure's text and does not change success", "[core]") {
  const Status status =
      error(Error::NotFound, "no key").with_context("delegate 3").with_context("method forward");
  CHECK(status.error() == Error::NotFound);
  CHECK(status.text() == "method forward: delegate 3: no key");

  const Status success = ok().with_context("delegate 3");
  CHECK(success.ok());
  CHECK(success.text().empty());
}

TEST_CASE("the text of a failure can be printed, whatever its pieces hold", "[core]") {
  const std::string bad = "a\x1b[2J\nb\u202ec\x9b\u009bd\r\te\x7f";
  const std::string shown = "a\\x1b[2J\\nb\\u202ec\\x9b\\x9bd\\r\\te\\x7f";
  CHECK(error(Error::NotFound, "no ", bad, " here").text() == "no " + shown + " here");
  CHECK(error(Error::NotFound, bad.c_str()).text() == shown);
  CHECK(error(Error::NotFound, bad, 1, 2, 3, 4, 5, 6, 7, 8, bad).text() ==
        shown + "12345678" + shown);
  CHECK(error(Error::NotFound, "x").with_context(bad).text() == shown + ": x");
  CHECK(describe(error(Error::NotFound, bad)) == "NotFound (0x20): " + shown);
  CHECK(error(Error::NotFound, shown).text() == shown);
  CHECK(error(Error::NotFound, "größer 模型 🙂 עברית \u200d").text() ==
        "größer 模型 🙂 עברית \u200d");
}

TEST_CASE("a failure that is made from a whole text keeps its lines alone", "[core]") {
  const Status status(Error::NotFound, "first\n  second\x1b\t\u2028");
  CHECK(status.text() == "first\n  second\\x1b\\t\\u2028");
  CHECK(Status(Error::Ok, "\x1b").text() == "failure made with Error::Ok: \\x1b");
}

TEST_CASE("every byte of a text that is not a letter of UTF-8 is an escape", "[core]") {
  for (int byte = 0; byte < 256; ++byte) {
    const Status status = error(Error::NotFound, static_cast<char>(byte));
    INFO(byte << ": " << status.text());
    const bool plain = byte >= 0x20 && byte < 0x7f;
    CHECK((status.text().size() == 1) == plain);
    CHECK((status.text().front() == '\\') == (!plain || byte == '\\'));
  }
}

TEST_CASE("a result holds a value that can be read, changed and moved out", "[core]") {
  auto result = make_number(7);
  REQUIRE(result.ok());
  CHECK(static_cast<bool>(result));
  CHECK(result.error() == Error::Ok);
  CHECK(result.text().empty());
  CHECK(**result == 7);
  CHECK(*result.get() == 7);
  *result->get() = 8;
  const std::unique_ptr<int> moved = *std::move(result);
  CHECK(*moved == 8);
}

TEST_CASE("a result holds the failure and gives it away", "[core]") {
  auto result = make_number(-1);
  REQUIRE_FALSE(result.ok());
  CHECK_FALSE(static_cast<bool>(result));
  CHECK(result.error() == Error::NotFound);
  CHECK(result.text() == "no number -1");
  const Status status = std::move(result).status().with_context("where");
  CHECK(status.error() == Error::NotFound);
  CHECK(status.text() == "where: no number -1");
}

TEST_CASE("a result's status is success when there is a value", "[core]") {
  CHECK(make_number(1).status().ok());
}

TEST_CASE("a result made from success without a value is Internal", "[core]") {
  const Result<int> result = ok();
  CHECK(result.error() == Error::Internal);
  CHECK_THAT(std::string(result.text()), ContainsSubstring("successful Status"));
}

TEST_CASE("a result is constructed from types that convert to its value", "[core]") {
  const Result<std::string> text = "literal";
  REQUIRE(text.ok());
  CHECK(*text == "literal");
  const Result<std::int64_t> number = std::int32_t{-5};
  REQUIRE(number.ok());
  CHECK(*number == -5);
  const Result<bool> no = false;
  REQUIRE(no.ok());
  CHECK_FALSE(*no);
}

TEST_CASE("a result is movable as its value is, and never copied", "[core]") {
  struct Fixed {
    explicit Fixed(int) {}
    Fixed(Fixed&&) = delete;
  };
  struct Throwing {
    Throwing(Throwing&&) {}
    Throwing& operator=(Throwing&&) { return *this; }
  };
  STATIC_REQUIRE(std::is_nothrow_move_constructible_v<Result<std::string>>);
  STATIC_REQUIRE(std::is_nothrow_move_assignable_v<Result<std::string>>);
  STATIC_REQUIRE_FALSE(std::is_copy_constructible_v<Result<std::string>>);
  STATIC_REQUIRE_FALSE(std::is_copy_assignable_v<Result<std::string>>);
  STATIC_REQUIRE_FALSE(std::is_move_constructible_v<Result<Fixed>>);
  STATIC_REQUIRE(std::is_move_constructible_v<Result<Throwing>>);
  STATIC_REQUIRE_FALSE(std::is_nothrow_move_constructible_v<Result<Throwing>>);
  STATIC_REQUIRE_FALSE(std::is_nothrow_move_assignable_v<Result<Throwing>>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<Result<std::string>, int*>);
  const auto make = []() -> Result<Fixed> { return 3; };
  CHECK(make().ok());
}

TEST_CASE("a result takes over a value or a failure whatever it had", "[core]") {
  const std::string text(100, 'x');
  const auto value = [&](char c) { return Result<std::string>(text + c); };
  const auto failure = [&](char c) {
    return Result<std::string>(Status(Error::NotFound, text + c));
  };

  auto result = value('a');
  result = value('b');
  CHECK(*result == text + 'b');
  result = failure('c');
  CHECK_FALSE(result.ok());
  CHECK(result.text() == text + 'c');
  result = failure('d');
  CHECK(result.text() == text + 'd');
  result = value('e');
  REQUIRE(result.ok());
  CHECK(*result == text + 'e');

  Result<std::string> moved = std::move(result);
  CHECK(*moved == text + 'e');
  result = failure('f');
  Result<std::string> failed = std::move(result);
  CHECK(failed.text() == text + 'f');

  auto& same = failed;
  failed = std::move(same);
  CHECK(failed.text() == text + 'f');
  Status status = std::move(failed).status();
  CHECK_FALSE(failed.ok());
  CHECK(failed.text().empty());
  auto& same_status = status;
  status = std::move(same_status);
  CHECK(status.text() == text + 'f');
}

TEST_CASE("a result is destroyed once when its value's constructor throws", "[core]") {
  struct Throws {
    Throws() = default;
    Throws(Throws&& other) : fill{~0u, ~0u} {
      if (other.armed) throw 1;
    }
    Throws& operator=(Throws&&) = default;
    unsigned fill[2] = {};
    bool armed = false;
  };
  Result<Throws> value = Throws();
  value->armed = true;
  Result<Throws> failed = error(Error::NotFound, std::string(100, 'x'));
  CHECK_THROWS_AS(failed = std::move(value), int);
  CHECK_FALSE(failed.ok());
  CHECK(failed.text() == std::string(100, 'x'));
}

TEST_CASE("TENON_RETURN_IF_ERROR returns the first failure and runs each expression once",
          "[core]") {
  CHECK(check_three(false, false, false).ok());
  CHECK(check_three(true, true, true).text() == "first");
  CHECK(check_three(false, true, true).text() == "second");
  CHECK(check_three(false, false, true).text() == "third");

  calls = 0;
  const auto twice = []() -> Status {
    TENON_RETURN_IF_ERROR(counted(false));
    TENON_RETURN_IF_ERROR(counted(true));
    TENON_RETURN_IF_ERROR(counted(false));
    return ok();
  };
  CHECK_FALSE(twice().ok());
  CHECK(calls == 2);
}

TEST_CASE("TENON_RETURN_IF_ERROR takes a result too and works without braces", "[core]") {
  const auto run = [](bool check) -> Status {
    if (check)
      TENON_RETURN_IF_ERROR(make_number(-2));
    else
      return error(Error::InvalidState, "not checked");
    return ok();
  };
  CHECK(run(true).error() == Error::NotFound);
  CHECK(run(false).error() == Error::InvalidState);
}

TEST_CASE("TENON_RETURN_IF_ERROR takes outcomes that have names", "[core]") {
  const auto status = [](bool fails) -> Status {
    Status named = fail_if(fails, "a status");
    TENON_RETURN_IF_ERROR(named);
    CHECK(named.ok());
    return ok();
  };
  CHECK(status(false).ok());
  CHECK(status(true).text() == "a status");

  const auto constant = [](bool fails) -> Result<int> {
    const Status named = fail_if(fails, "a constant");
    TENON_RETURN_IF_ERROR(named);
    return 1;
  };
  CHECK(constant(false).ok());
  CHECK(constant(true).text() == "a constant");

  const auto result = [](int number) -> Status {
    auto named = make_number(number);
    TENON_RETURN_IF_ERROR(named);
    CHECK(**named == number);
    const auto other = make_number(number - 10);
    TENON_RETURN_IF_ERROR(other);
    CHECK(**other == number - 10);
    return ok();
  };
  CHECK(result(12).ok());
  CHECK(result(5).text() == "no number -5");
  CHECK(result(-3).text() == "no number -3");
}

TEST_CASE("TENON_TRY takes the value or returns the failure", "[core]") {
  const auto sum = add_two(3, 4);
  REQUIRE(sum.ok());
  CHECK(*sum == 7);
  CHECK(add_two(-1, -2).text() == "no number -1");
  CHECK(add_two(1, -2).text() == "no number -2");
}

TEST_CASE("concat joins text, numbers, characters and booleans", "[core]") {
  CHECK(concat().empty());
  CHECK(concat("a", std::string("b"), std::string_view("c"), 'd') == "abcd");
  CHECK(concat(true, ' ', false) == "true false");
  CHECK(concat(std::int8_t{-128}, ' ', std::uint8_t{255}) == "-128 255");
  CHECK(concat(std::numeric_limits<std::int64_t>::min(), ' ',
               std::numeric_limits<std::uint64_t>::max()) ==
        "-9223372036854775808 18446744073709551615");
  CHECK(concat(1.5, ' ', -0.25f) == "1.5 -0.25");
  CHECK(concat(0.1f, ' ', 0.1) == "0.1 0.1");
  CHECK(concat(1, 2, 3, 4, 5, 6, 7, 8) == "12345678");
  CHECK(concat(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, "11", std::string("12")) == "123456789101112");
  CHECK(concat(std::numeric_limits<double>::lowest()) == "-1.7976931348623157e+308");
}

TEST_CASE("a message may be made of any number of pieces", "[core]") {
  const auto code = Error::NotFound;
  CHECK(error(code, 1).text() == "1");
  CHECK(error(code, 1, '2').text() == "12");
  CHECK(error(code, 1, '2', 3u, "4", 5L, 6UL, 7LL, 8ULL).text() == "12345678");
  CHECK(error(code, 1, '2', 3u, "4", 5L, 6UL, 7LL, 8ULL, std::string("9")).text() == "123456789");
  CHECK(error(code, 1, 2, 3, 4, 5, 6, 7, 8, 9, true, std::string_view(" end")).text() ==
        "123456789true end");
}

TEST_CASE("a pointer is not a piece of a message", "[core]") {
  STATIC_REQUIRE(std::is_constructible_v<detail::Piece, const char*>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<detail::Piece, const int*>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<detail::Piece, Error>);
}
