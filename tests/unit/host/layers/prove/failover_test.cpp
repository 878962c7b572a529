// SPDX-License-Identifier: MIT
//
// Another variant takes the place of one that fails, as a policy says and never otherwise.
#include <string>
#include <string_view>
#include <vector>

#include "prove_support.hpp"
#include "tenon/host/layers/prove/failover.hpp"

using namespace prove_test;

namespace {

/// "forward" by ZooBackend, which is preferred, and by TestBackend of this test, with golden cases.
struct TwoVariants : Fixture {
  std::shared_ptr<const host::Program> two;

  explicit TwoVariants(State state = State::none, const Cases& cases = Cases({8})) {
    ProgramBuilder builder;
    if (state == State::kept) builder.mutable_data({std::string(4, '\0')});
    add_plan(builder, "forward", "RightBackend", state);
    add_plan(builder, "forward@fast", "ZooBackend", state);
    const std::string table =
        "tenon.variants/1\nvariant\tforward\tforward\t0\tsafe\nneeds\tRightBackend\t0\t\t\n"
        "variant\tforward\tforward@fast\t1\tfast\nneeds\tZooBackend\t0\t\t\n";
    builder.named_data("tenon.variants/1", builder.segment(tenon::test::bytes_of(table)));
    builder.named_data(std::string(host::golden_key), builder.segment(cases.bytes));
    two = open_program(builder, directory / "two.pte");
  }

  [[nodiscard]] tenon::Result<host::FailoverMethod> load_two(const host::BackendRegistry& registry,
                                                             host::FailoverPolicy policy,
                                                             bool proves = true) const {
    host::MethodOptions options;
    options.registry = &registry;
    if (proves) options.layers.add(host::Prove(cache));
    return host::FailoverMethod::load(two, "forward", std::move(options), std::move(policy));
  }
};

std::unique_ptr<host::BackendRegistry> both(std::string_view fast) {
  auto registry = registry_with(fast);
  const auto path = std::filesystem::path(TENON_WRONG_PLUGINS) / "wrong_right_backend.so";
  REQUIRE(registry->register_backend(path).ok());
  return registry;
}

std::vector<float> run(host::FailoverMethod& method, const std::vector<float>& x) {
  const std::vector<std::int64_t> sizes{static_cast<std::int64_t>(x.size())};
  REQUIRE(method
              .set_input(0, host::InputTensor{tenon::ScalarType::Float, sizes,
                                              std::as_bytes(std::span(x))})
              .ok());
  const auto ran = method.execute();
  INFO(ran.text());
  REQUIRE(ran.ok());
  const auto y = method.method().output<float>(0);
  REQUIRE(y.ok());
  return {y->begin(), y->end()};
}

}  // namespace

TEST_CASE("without a policy a variant that is not proven fails the load", "[prove]") {
  const TwoVariants fixture;
  const auto registry = both("zeros");
  const auto loaded = fixture.load_two(*registry, {});
  REQUIRE_FALSE(loaded.ok());
  CHECK(has(loaded.text(), "not proven: golden case 0"));
}

TEST_CASE("at load the next variant is taken, with its reason", "[prove]") {
  const TwoVariants fixture;
  const auto registry = both("zeros");
  std::vector<std::string> log;
  for (int i = 0; i < 2; ++i) {
    auto loaded = fixture.load_two(*registry,
                                   {.at_load = true, .log = [&](const host::Failover& one) {
                                      log.push_back(one.from + " to " + one.to + ": " + one.reason);
                                    }});
    INFO(loaded.text());
    REQUIRE(loaded.ok());
    CHECK(loaded->variant() == "safe");
    CHECK(has(loaded->why(), "variant 'fast' failed: "));
    CHECK(has(loaded->why(), "not proven: golden case 0: output 0: 8 of 8 elements differ"));
    REQUIRE(loaded->failovers().size() == 1);
    CHECK(loaded->failovers()[0].from == "fast");
    CHECK(loaded->failovers()[0].to == "safe");
    CHECK(run(*loaded, {1, 2}) == std::vector<float>{3, 5});
  }
  REQUIRE(log.size() == 2);
  CHECK(has(log[0], "fast to safe: "));
  CHECK(has(log[1], "(as an earlier load found)"));
}

TEST_CASE("a variant that is right is not replaced", "[prove]") {
  const TwoVariants fixture;
  const auto registry = both("nothing");
  auto loaded =
      fixture.load_two(*registry, {.at_load = true, .after_death = true, .wrong_proofs = 1});
  INFO(loaded.text());
  REQUIRE(loaded.ok());
  CHECK(loaded->variant() == "fast");
  CHECK(loaded->why() == "the best variant that can run here");
  CHECK(run(*loaded, {1, 2}) == std::vector<float>{3, 5});
  REQUIRE(loaded->prove().ok());
  CHECK(loaded->failovers().empty());
}

TEST_CASE("when no variant is left, the error has the reason of each", "[prove]") {
  const TwoVariants fixture(State::none, Cases({8}, 1));  // Expects what no plugin gives.
  const auto registry = both("nothing");
  const auto loaded = fixture.load_two(*registry, {.at_load = true});
  REQUIRE_FALSE(loaded.ok());
  INFO(loaded.text());
  CHECK(loaded.error() == Error::DelegateInvalidCompatibility);
  CHECK(has(loaded.text(), "no variant is left:\n  'fast': "));
  CHECK(has(loaded.text(), "\n  'safe': "));
}

TEST_CASE("after wrong proofs in a row the next variant takes over", "[prove]") {
  const TwoVariants fixture;
  const auto registry = both("after_1000_calls");
  auto loaded = fixture.load_two(*registry, {.wrong_proofs = 2});
  INFO(loaded.text());
  REQUIRE(loaded.ok());
  const std::vector<float> x{1, 2};
  CHECK(run(*loaded, x) == std::vector<float>{3, 5});
  for (int i = 0; i < 1000; ++i) REQUIRE(loaded->execute().ok());
  const auto first = loaded->prove();
  REQUIRE(first.ok());
  CHECK_FALSE(first->difference.empty());
  CHECK(loaded->variant() == "fast");
  const auto second = loaded->prove();
  REQUIRE(second.ok());
  CHECK(loaded->variant() == "safe");
  CHECK(has(loaded->why(), "variant 'fast' failed: not proven: golden case 0"));
  // With the inputs of the application.
  REQUIRE(loaded->execute().ok());
  const auto y = loaded->method().output<float>(0);
  REQUIRE(y.ok());
  CHECK(std::vector<float>(y->begin(), y->end()) == std::vector<float>{3, 5});
  const auto third = loaded->prove();
  REQUIRE(third.ok());
  CHECK(third->passed());
}

TEST_CASE("a death without a policy is the failure of the run", "[prove]") {
  const TwoVariants fixture;
  const auto registry = both("dying");
  auto loaded = fixture.load_two(*registry, {.at_load = true, .wrong_proofs = 1});
  INFO(loaded.text());
  REQUIRE(loaded.ok());
  CHECK(run(*loaded, {1, 2}) == std::vector<float>{3, 5});
  CHECK(loaded->execute().error() == Error::Internal);
  CHECK(loaded->variant() == "fast");
  CHECK(loaded->failovers().empty());
}

TEST_CASE("after a death the next variant repeats the run with the same inputs", "[prove]") {
  const TwoVariants fixture;
  const auto registry = both("dying");
  auto loaded = fixture.load_two(*registry, {.after_death = true});
  INFO(loaded.text());
  REQUIRE(loaded.ok());
  CHECK(run(*loaded, {1, 2}) == std::vector<float>{3, 5});
  CHECK(loaded->variant() == "fast");
  CHECK(run(*loaded, {3, 4, 5}) == std::vector<float>{7, 9, 11});
  CHECK(loaded->variant() == "safe");
  CHECK(has(loaded->why(), "variant 'fast' failed: "));
  CHECK(has(loaded->why(), "the worker died in execute of its second call"));
  CHECK(loaded->failovers().size() == 1);
}

TEST_CASE("when the last variant dies as well, the run fails with both reasons", "[prove]") {
  const TwoVariants fixture;
  auto registry = registry_with("dying");
  auto loaded = fixture.load_two(*registry, {.after_death = true});
  INFO(loaded.text());
  REQUIRE(loaded.ok());
  CHECK(run(*loaded, {1, 2}) == std::vector<float>{3, 5});
  const auto second = loaded->execute();
  CHECK(second.error() == Error::Internal);
  CHECK(has(second.text(), "no variant is left:\n  'fast': "));
  // It is as it was.
  CHECK(loaded->variant() == "fast");
  CHECK_FALSE(loaded->execute().ok());
}

TEST_CASE("a state that cannot be carried is an error and no reset", "[prove]") {
  const TwoVariants fixture(State::kept);
  const auto registry = both("dying");
  auto loaded = fixture.load_two(*registry, {.after_death = true, .wrong_proofs = 1});
  INFO(loaded.text());
  REQUIRE(loaded.ok());
  const auto proof = loaded->prove();
  CHECK(proof.error() == Error::InvalidState);
  CHECK(has(proof.text(), "it has a state, which golden cases would change"));
  CHECK(run(*loaded, {1, 2}) == std::vector<float>{3, 5});
  const auto second = loaded->execute();
  CHECK(second.error() == Error::InvalidState);
  CHECK(has(second.text(), "variant 'fast' failed: "));
  CHECK(has(second.text(), "its state cannot be carried to another variant"));
  CHECK(loaded->variant() == "fast");
}

TEST_CASE("a method of a single form has nothing to fail over to", "[prove]") {
  const Fixture fixture;
  const auto program = fixture.program();
  const auto registry = registry_with("zeros");
  host::MethodOptions options;
  options.registry = registry.get();
  const auto plain = host::FailoverMethod::load(program, "forward", options, {.at_load = true});
  INFO(plain.text());
  REQUIRE(plain.ok());
  CHECK(plain->variant().empty());
  CHECK(plain->why() == "the method has a single form");
  options.layers.add(host::Prove(fixture.cache));
  const auto proven = host::FailoverMethod::load(program, "forward", options, {.at_load = true});
  CHECK(has(proven.text(), "not proven"));
}
