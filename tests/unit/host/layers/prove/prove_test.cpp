// SPDX-License-Identifier: MIT
//
// A method proves itself before it is loaded, and its verdict is kept.
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "prove_support.hpp"

using namespace prove_test;

namespace {

/// Whether the method that was loaded was proven now, and not before.
bool was_run(const tenon::Result<std::unique_ptr<host::Method>>& method) {
  INFO(method.text());
  REQUIRE(method.ok());
  const host::Proof* proof = host::proof_of(**method);
  REQUIRE(proof != nullptr);
  CHECK(proof->passed());
  return !proof->was_kept;
}

}  // namespace

TEST_CASE("the first load proves a method, later ones read the verdict", "[prove]") {
  const Fixture fixture;
  const auto program = fixture.program();
  const auto registry = registry_with("nothing");
  const host::Prove proof(fixture.cache);
  CHECK(was_run(load(program, *registry, {proof})));
  CHECK(fixture.num_kept() == 1);
  CHECK_FALSE(was_run(load(program, *registry, {proof})));
  CHECK_FALSE(was_run(load(program, *registry_with("nothing"), {proof})));
  CHECK(fixture.num_kept() == 1);
  // In the store of the load, for a layer without one.
  CHECK_FALSE(was_run(load(program, *registry, {host::Prove(), fixture.cache})));
  CHECK(was_run(load(program, *registry, {proof.again()})));
  CHECK(fixture.num_kept() == 1);
}

TEST_CASE("another program or plugin proves itself again", "[prove]") {
  const Fixture fixture;
  const auto registry = registry_with("nothing");
  const host::Prove proof(fixture.cache);
  CHECK(was_run(load(fixture.program(), *registry, {proof})));
  // The same path, and another file.
  const Cases other({8});
  const auto program = fixture.program(other);
  CHECK(was_run(load(program, *registry, {proof})));
  CHECK(fixture.num_kept() == 2);
  // It computes the same for these cases.
  CHECK(was_run(load(program, *registry_with("after_1000_calls"), {proof})));
  CHECK(fixture.num_kept() == 3);
}

TEST_CASE("a program in memory is known by its bytes", "[prove]") {
  const Fixture fixture;
  const auto registry = registry_with("nothing");
  const host::Prove proof(fixture.cache);
  for (const bool is_first : {true, false}) {
    auto builder = golden_program();
    auto bytes = std::make_shared<tenon::test::AlignedBytes>(builder.build());
    const auto program =
        host::Program::from_bytes(std::as_const(*bytes).bytes(), bytes, "memory.pte");
    REQUIRE(program.ok());
    CHECK(was_run(load(*program, *registry, {proof})) == is_first);
  }
}

TEST_CASE("wrong outputs refuse the load, also later and without a run", "[prove]") {
  const Fixture fixture;
  const auto program = fixture.program();
  const auto registry = registry_with("one_element");
  for (const bool is_first : {true, false}) {
    const auto method = load(program, *registry, {host::Prove(fixture.cache)});
    REQUIRE_FALSE(method.ok());
    INFO(method.text());
    CHECK(method.error() == Error::DelegateInvalidCompatibility);
    CHECK(has(method.text(),
              "model.pte: method forward: not proven: golden case 0: output 0: 1 of 8 elements "
              "differs, worst 0.5 at [7]: found "));
    CHECK(has(method.text(), "(as an earlier load found)") != is_first);
  }
  // Nobody asked.
  CHECK(load(program, *registry, {}).ok());
  CHECK(load(program, *registry, {host::Prove(fixture.cache), host::Prove::nothing()}).ok());
}

TEST_CASE("a method without golden cases is loaded, and nothing is kept", "[prove]") {
  const Fixture fixture;
  ProgramBuilder builder;
  add_plan(builder, "forward", "ZooBackend");
  const auto program = open_program(builder, fixture.directory / "plain.pte");
  const auto registry = registry_with("zeros");
  const auto method = load(program, *registry, {host::Prove(fixture.cache)});
  INFO(method.text());
  REQUIRE(method.ok());
  CHECK(host::proof_of(**method)->num_cases == 0);
  CHECK_FALSE(host::proof_of(**method)->passed());
  CHECK(fixture.num_kept() == 0);
}

TEST_CASE("golden cases that are damaged or do not fit refuse a load that proves", "[prove]") {
  struct Row {
    std::string golden;
    std::string reason;
  };
  const Row rows[] = {
      {"tenon.golden/1\ncase\n\n", "bad.pte: tenon.golden/1: line 2: case has 0 fields"},
      {"tenon.golden/1\ncase\tforward\ninput\t1\tFloat\t0\n\n",
       "golden case 0: tenon.golden/1 does not fit the method: method forward: input 1"},
      {"tenon.golden/1\ncase\tforward\ninput\t0\tFloat\t9\n\n" + std::string(36, '\0'),
       "does not fit the method: method forward: input 0"},
      {"tenon.golden/1\ncase\tforward\ninput\t0\tFloat\t1\noutput\t3\tFloat\t0\t0\t0\n\n" +
           std::string(4, '\0'),
       "does not fit the method: output 3, and the method has 1"},
  };
  const Fixture fixture;
  const auto registry = registry_with("nothing");
  for (const Row& row : rows) {
    ProgramBuilder builder;
    add_plan(builder, "forward", "ZooBackend");
    builder.named_data(std::string(host::golden_key),
                       builder.segment(tenon::test::bytes_of(row.golden)));
    const auto program = open_program(builder, fixture.directory / "bad.pte");
    const auto method = load(program, *registry, {host::Prove(fixture.cache)});
    REQUIRE_FALSE(method.ok());
    INFO(method.text());
    CHECK(method.error() == Error::InvalidProgram);
    CHECK(has(method.text(), row.reason));
    CHECK(load(program, *registry, {}).ok());
  }
  CHECK(fixture.num_kept() == 0);
}

TEST_CASE("a kept verdict that is damaged is not used", "[prove]") {
  const Fixture fixture;
  const auto program = fixture.program();
  const auto registry = registry_with("nothing");
  const host::Prove proof(fixture.cache);
  CHECK(was_run(load(program, *registry, {proof})));
  const auto kept = fixture.cache.list();
  REQUIRE(kept.ok());
  const auto path = fixture.cache.directory() / kept->at(0).name;
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-2, std::ios::end);
  file.put('9');
  file.close();
  CHECK(was_run(load(program, *registry, {proof})));
  CHECK_FALSE(was_run(load(program, *registry, {proof})));
}

TEST_CASE("a loaded method can be proven again, and wrong outputs become the verdict", "[prove]") {
  const Fixture fixture;
  const auto program = fixture.program(Cases({8}));
  const auto registry = registry_with("second_call");
  const host::Prove proof(fixture.cache);
  const auto method = load(program, *registry, {proof});
  CHECK(was_run(method));
  const auto first = host::prove(**method);
  REQUIRE(first.ok());
  CHECK(first->passed());
  const auto again = host::prove(**method);
  INFO(again.text());
  REQUIRE(again.ok());
  CHECK(again->num_cases == 1);
  CHECK(has(again->difference, "output 0: 8 of 8 elements differ"));
  CHECK(has(load(program, *registry, {proof}).text(), "(as an earlier load found)"));
}
