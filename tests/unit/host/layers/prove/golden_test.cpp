// SPDX-License-Identifier: MIT
//
// Golden cases as bytes: what is written is read, and what anyone may have written is refused.
#include <string>
#include <vector>

#include "prove_support.hpp"

using namespace prove_test;

TEST_CASE("golden cases are read as they were written", "[prove]") {
  const Cases cases({3, 0});
  const auto read = host::read_golden(cases.bytes);
  INFO(read.text());
  REQUIRE(read.ok());
  CHECK(read->seed == 7U);
  REQUIRE(read->count("forward") == 2);
  CHECK(read->count("other") == 0);
  const host::GoldenCase& first = read->cases[0];
  REQUIRE(first.inputs.size() == 1);
  REQUIRE(first.outputs.size() == 1);
  CHECK(first.inputs[0].shape == std::vector<std::int64_t>{3});
  CHECK(tenon::test::text_of(first.inputs[0].data) ==
        tenon::test::text_of(std::as_bytes(std::span(cases.inputs[0]))));
  CHECK(tenon::test::text_of(first.outputs[0].data) ==
        tenon::test::text_of(std::as_bytes(std::span(cases.outputs[0]))));
  CHECK(first.outputs[0].tolerance.rtol == 1e-3);
  CHECK(read->cases[1].inputs[0].data.empty());
  const auto again = host::write_golden(*read);
  REQUIRE(again.ok());
  CHECK(*again == cases.bytes);
}

TEST_CASE("lines and fields of a later version of golden cases are skipped", "[prove]") {
  const std::string text =
      "tenon.golden/1\nfuture\t1\ncase\tforward\tmore\ninput\t0\tByte\t\tmore\n\nx";
  const auto read = host::read_golden(tenon::test::bytes_of(text));
  INFO(read.text());
  REQUIRE(read.ok());
  CHECK(read->cases.at(0).inputs.at(0).data.size() == 1);
}

TEST_CASE("bytes that are no golden cases are refused by what is wrong", "[prove]") {
  const std::string head = "tenon.golden/1\n";
  const std::string one = head + "case\tforward\n";
  struct Row {
    std::string bytes;
    std::string reason;
  };
  std::string many = head;
  for (std::size_t i = 0; i <= host::max_golden_cases; ++i) many += "case\tf\n";
  std::string tensors = one;
  for (std::size_t i = 0; i <= host::max_golden_tensors; ++i) {
    tensors += tenon::concat("input\t", i, "\tFloat\t0\n");
  }
  std::string sizes = "1";
  for (int i = 0; i < 64; ++i) sizes += ",1";
  const Row rows[] = {
      {"", "no empty line ends its 0 bytes of text"},
      {head, "no empty line ends its 15 bytes of text"},
      {"tenon.golden/2\n\n", "line 1: found 'tenon.golden/2', expected tenon.golden/1"},
      {head + "\nx", "1 bytes are behind its tensors"},
      {head + "seed\n\n", "line 2: seed has 0 fields, expected 1"},
      {head + "seed\t-1\n\n", "line 2: the seed is '-1', expected a number"},
      {head + "input\t0\tFloat\t1\n\n", "line 2: input before the first case"},
      {one + "input\t0\tFloat\n\n", "line 3: input has 2 fields, expected 3"},
      {one + "input\tx\tFloat\t1\n\n", "the index is 'x', expected a number"},
      {one + "input\t4294967296\tFloat\t1\n\n", "the index is '4294967296', expected a number"},
      {one + "input\t0\tfloat32\t1\n\n",
       "the dtype is 'float32', expected ExecuTorch's name of one"},
      {one + "input\t0\tFloat\t-1\n\n", "a size is -1"},
      {one + "input\t0\tFloat\t1,\n\n", "a size is '', expected a number"},
      {one + "input\t0\tFloat\t2\n\n1234", "input 0 has Float of sizes '2', and 4 bytes are left"},
      {one + "input\t0\tFloat\t4611686018427387904,4611686018427387904\n\n",
       "and 0 bytes are left"},
      {one + "input\t0\tFloat\t" + sizes + "\n\n", "more than 64 sizes"},
      {one + "input\t1\tFloat\t0\ninput\t1\tFloat\t0\n\n", "line 4: input 1 behind input 1"},
      {one + "output\t0\tFloat\t0\t1\n\n", "output has 4 fields, expected 5"},
      {one + "output\t0\tFloat\t0\tnan\t0\n\n", "a tolerance is 'nan', expected a finite number"},
      {one + "output\t0\tFloat\t0\t0\t-1\n\n", "a tolerance is '-1', expected a finite number"},
      {many + "\n", "more than 1024 cases"},
      {tensors + "\n", "more than 4096 tensors in one case"},
  };
  for (const Row& row : rows) {
    const auto read = host::read_golden(tenon::test::bytes_of(row.bytes));
    INFO(row.reason);
    REQUIRE_FALSE(read.ok());
    CHECK(read.error() == Error::InvalidProgram);
    INFO(read.text());
    CHECK(read.text().find(row.reason) != std::string_view::npos);
  }
}

TEST_CASE("what cannot be written as golden cases is refused", "[prove]") {
  const std::vector<std::int64_t> shape{2};
  host::GoldenCases golden{{}, {{"forward", {{0, tenon::ScalarType::Float, shape, {}, {}}}, {}}}};
  CHECK(host::write_golden(golden).text().find("input 0 has 0 bytes, its shape 8") !=
        std::string_view::npos);
  golden.cases = {{"two\nlines", {}, {}}};
  CHECK(host::write_golden(golden).text().find("has a control character") !=
        std::string_view::npos);
  golden.cases.resize(host::max_golden_cases + 1);
  CHECK(host::write_golden(golden).text().find("1025 golden cases") != std::string_view::npos);
}

TEST_CASE("a tolerance of golden cases follows the dtype and the largest finite value", "[prove]") {
  const std::vector<std::int64_t> shape{3};
  const std::vector<float> values{-4, INFINITY, 1};
  const auto tolerance =
      host::golden_tolerance({tenon::ScalarType::Float, shape, std::as_bytes(std::span(values))});
  CHECK(tolerance.rtol == 1e-3);
  CHECK(tolerance.atol == 4e-3);
  const std::vector<std::int64_t> integers{1, 2, 3};
  const auto exact =
      host::golden_tolerance({tenon::ScalarType::Long, shape, std::as_bytes(std::span(integers))});
  CHECK(exact.rtol == 0);
  CHECK(exact.atol == 0);
}
