// SPDX-License-Identifier: MIT
//
// Limits of files, their command-line form, and how long texts are shortened.
#include "tenon/host/loader/files/limits.hpp"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "support/catch.hpp"
#include "support/program_builder.hpp"
#include "tenon/host/layers/data/data_file.hpp"
#include "tenon/host/loader/files/shortened.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "unit/host/layers/data/data_file_builder.hpp"

namespace file_limits_test {

using namespace tenon;
using namespace tenon::test;
using host::HostLimits;

/// Why a program is refused with `limits`; empty when it is not.
std::string refusal(const ProgramBuilder& builder, const HostLimits& limits = {}) {
  const auto file = builder.build();
  const auto program = host::Program::from_bytes(file.bytes(), nullptr, "x", limits);
  CHECK((program.ok() || program.error() == Error::OutOfResources));
  return std::string(program.text());
}

std::string set_refusal(std::string_view text) {
  HostLimits limits;
  const Status status = set_limit(named_limits(limits), text);
  CHECK(status.error() == Error::InvalidArgument);
  HostLimits unchanged;
  const auto expected = named_limits(unchanged);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(*named_limits(limits)[i].value == *expected[i].value);
  }
  return std::string(status.text());
}

TEST_CASE("each name in a program has a longest size", "[limits]") {
  struct Name {
    std::string_view where;
    std::string& (*of)(schema::objects::ProgramT&);
  };
  const Name names[] = {
      {"plan 0: bytes of name", [](auto& p) -> auto& { return p.execution_plan[0]->name; }},
      {"operator 0: bytes of name",
       [](auto& p) -> auto& { return p.execution_plan[0]->operators[0]->name; }},
      {"operator 0: bytes of overload",
       [](auto& p) -> auto& { return p.execution_plan[0]->operators[0]->overload; }},
      {"delegate 0: bytes of id",
       [](auto& p) -> auto& { return p.execution_plan[0]->delegates[0]->id; }},
      {"compile_specs[0]: bytes of key",
       [](auto& p) -> auto& { return p.execution_plan[0]->delegates[0]->compile_specs[0]->key; }},
      {"named_data[0]: bytes of key", [](auto& p) -> auto& { return p.named_data[0]->key; }},
      {"value 0 (Tensor): bytes of fully_qualified_name",
       [](auto& p) -> auto& {
         auto& tensor = *p.execution_plan[0]->values[0]->val.AsTensor();
         tensor.extra_tensor_info = std::make_unique<schema::objects::ExtraTensorInfoT>();
         return tensor.extra_tensor_info->fully_qualified_name;
       }},
  };
  for (const Name& name : names) {
    INFO(name.where);
    ProgramBuilder builder = delegate_program("Test", "blob");
    PlanBuilder plan(*builder.program.execution_plan[0]);
    plan.op("op", "out");
    plan.compile_spec(0, "key", "value");
    builder.named_data("key", 0);
    std::string& text = name.of(builder.program);
    text.assign(4096, 'n');
    CHECK(refusal(builder).empty());
    text.push_back('n');
    const std::string why = refusal(builder);
    CHECK_THAT(why, ContainsSubstring(std::string(name.where) +
                                      ": found 4097, the limit name_bytes is 4096"));
    HostLimits more;
    more.name_bytes = 4097;
    CHECK(refusal(builder, more).empty());
  }
}

TEST_CASE("a method has at most as many values as the limit", "[limits]") {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  for (int i = 0; i < 5; ++i) plan.value(int_value(i));
  HostLimits limits;
  limits.values = 5;
  CHECK(refusal(builder, limits).empty());
  limits.values = 4;
  CHECK(refusal(builder, limits) == "x: plan 0 'forward': values: found 5, the limit values is 4");
}

TEST_CASE("named data of a program is counted, shared bytes for each key", "[limits]") {
  ProgramBuilder builder;
  builder.plan("forward");
  const auto segment = builder.segment(bytes_of("0123456789"));
  for (const char* key : {"a", "b", "c"}) builder.named_data(key, segment);
  HostLimits limits;
  limits.named_data_entries = 3;
  limits.named_data_bytes = 30;
  CHECK(refusal(builder, limits).empty());
  limits.named_data_bytes = 29;
  CHECK(refusal(builder, limits) ==
        "x: bytes of named_data: found 30, the limit named_data_bytes is 29");
  limits.named_data_entries = 2;
  CHECK(refusal(builder, limits) ==
        "x: entries of named_data: found 3, the limit named_data_entries is 2");
}

TEST_CASE("the same limits hold for a data file", "[limits]") {
  const auto refused = [](const DataFileBuilder& builder, const HostLimits& limits) {
    const auto file = builder.build();
    const auto opened = host::DataFile::from_bytes(file.bytes(), nullptr, "x", limits);
    CHECK((opened.ok() || opened.error() == Error::OutOfResources));
    return std::string(opened.text());
  };
  DataFileBuilder builder;
  builder.data("first", "0123456789");
  builder.data("second", "0123456789");
  CHECK(refused(builder, {}).empty());
  HostLimits names;
  names.name_bytes = 5;
  CHECK(refused(builder, names) ==
        "x: named_data[1]: bytes of key: found 6, the limit name_bytes is 5");
  HostLimits entries;
  entries.named_data_entries = 1;
  CHECK_THAT(refused(builder, entries), ContainsSubstring("the limit named_data_entries is 1"));
  HostLimits size;
  size.named_data_bytes = 19;
  CHECK_THAT(refused(builder, size), ContainsSubstring("found 20, the limit named_data_bytes"));
}

TEST_CASE("limits are set by name, with units of 1024", "[limits]") {
  HostLimits limits;
  REQUIRE(set_limit(named_limits(limits), "planned_bytes=2G").ok());
  CHECK(limits.planned_bytes == std::uint64_t{2} << 30);
  REQUIRE(set_limit(named_limits(limits), "instructions=0").ok());
  CHECK(limits.instructions == 0);
  REQUIRE(set_limit(named_limits(limits), "condition_bytes=3K").ok());
  CHECK(limits.condition_bytes == 3072);
  REQUIRE(set_limit(named_limits(limits), "run_milliseconds=5").ok());
  REQUIRE(set_limit(named_limits(limits), "run_milliseconds=none").ok());
  CHECK(limits.run_milliseconds == HostLimits::none);
  REQUIRE(set_limit(named_limits(limits), "values=18446744073709551615").ok());
  CHECK(limits.values == HostLimits::none);
  REQUIRE(set_limit(named_limits(limits), "named_data_bytes=16777215T").ok());
  CHECK(limits.named_data_bytes == std::uint64_t{16777215} << 40);
  // Each member has a name of its own.
  std::set<std::string_view> names;
  for (const auto& [name, value] : named_limits(limits)) {
    names.insert(name);
    REQUIRE(set_limit(named_limits(limits), std::string(name) + "=17M").ok());
    CHECK(*value == std::uint64_t{17} << 20);
  }
  CHECK(names.size() * sizeof(std::uint64_t) == sizeof(HostLimits));
}

TEST_CASE("a limit that is not one is refused by name, and nothing changes", "[limits]") {
  CHECK_THAT(set_refusal("planed_bytes=1"),
             ContainsSubstring("there is no limit 'planed_bytes'; there are: name_bytes, values,"));
  CHECK_THAT(set_refusal(""), ContainsSubstring("there is no limit ''"));
  CHECK_THAT(set_refusal("=5"), ContainsSubstring("there is no limit ''"));
  for (const std::string value : {"", "=", "=-1", "=1.5", "=K", "=1k", "=1KB", "=0x10", "= 1",
                                  "=18446744073709551616", "=16777216T", "=None"}) {
    CHECK_THAT(set_refusal("values" + value),
               ContainsSubstring("limit values: expected a number below 2^64"));
  }
}

TEST_CASE("a text is shortened in the middle, with the number of bytes left out", "[limits]") {
  CHECK(host::shortened("short", 64) == "short");
  const std::string longest(64, 'x');
  CHECK(host::shortened(longest, 64) == longest);
  const std::string text = "begin " + std::string(1000, 'x') + " end";
  const std::string cut = host::shortened(text, 64);
  CHECK(cut == "begin xxxxxxxxxx ... (986 bytes) ... xxxx end");
  CHECK(host::shortened(text).size() == text.size());
  CHECK(host::shortened(std::string(1'000'000, 'x')).size() <= host::max_error_text);
}

TEST_CASE("characters of a shortened text stay whole, whatever its length", "[limits]") {
  for (std::size_t size = 60; size < 80; ++size) {
    std::string text;
    while (text.size() < 200) text += "\xe2\x82\xac";
    const std::string cut = host::shortened(text, size);
    INFO(cut);
    CHECK(cut.size() <= size);
    const std::size_t mark = cut.find(" ... (");
    REQUIRE(mark != std::string::npos);
    CHECK(mark % 3 == 0);
    const std::size_t end = cut.find(") ... ") + 6;
    CHECK((cut.size() - end) % 3 == 0);
    const auto left_out = std::strtoul(cut.c_str() + mark + 6, nullptr, 10);
    CHECK(mark + left_out + (cut.size() - end) == text.size());
  }
  // Bytes that are no characters of UTF-8 do not make it longer, nor loop.
  CHECK(host::shortened(std::string(1000, '\x80'), 64).size() <= 64);
}

}  // namespace file_limits_test
