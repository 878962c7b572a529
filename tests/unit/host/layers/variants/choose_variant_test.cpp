// SPDX-License-Identifier: MIT
#include "tenon/host/layers/variants/choose_variant.hpp"
#include "variants_support.hpp"

using namespace tenon;
using namespace tenon::test;
using CallList = std::vector<std::string>;

TEST_CASE("the variant with the best verdict is loaded, and no other is initialised",
          "[variants]") {
  const JudgingRegistry backends;
  auto method = load(program_of({{"Mute", "portable"},
                                 {"First", "usable a", 9},
                                 {"Second", "optimal b", 1},
                                 {"First", "incompatible c", 5}}),
                     backends.options());
  INFO(method.text());
  REQUIRE(method.ok());
  CHECK((*method)->variant() == "2");
  CHECK((*method)->name() == "forward");
  CHECK(calls() == CallList{"check usable a", "check incompatible c", "check optimal b",
                            "init optimal b forward"});
}

TEST_CASE(
    "of equally good variants the one with the highest priority is loaded, later ones are "
    "not asked",
    "[variants]") {
  const JudgingRegistry backends;
  auto method =
      load(program_of(
               {{"First", "optimal a", 1}, {"Second", "optimal b", 2}, {"Second", "optimal c", 2}}),
           backends.options());
  REQUIRE(method.ok());
  CHECK((*method)->variant() == "1");
  CHECK(calls() == CallList{"check optimal b", "init optimal b forward"});
}

TEST_CASE("a variant whose backend does not judge is as good as one that is usable", "[variants]") {
  const JudgingRegistry backends;
  CHECK(load_ok(program_of({{"First", "usable a", 1}, {"Mute", "b", 2}}), backends.options())
            ->variant() == "1");
  CHECK(load_ok(program_of({{"First", "usable a", 3}, {"Mute", "b", 2}}), backends.options())
            ->variant() == "0");
  CHECK(load_ok(program_of({{"First", "optimal a", 1}, {"Mute", "b", 2}}), backends.options())
            ->variant() == "0");
  CHECK(
      load_ok(program_of({{"", "", 1}, {"First", "usable a", 2}}), backends.options())->variant() ==
      "1");
}

TEST_CASE("what the table states refuses a variant before its plugin is loaded", "[variants]") {
  const JudgingRegistry backends;
  auto options = backends.options();
  options.layers.add(host::EmbeddedCodePolicy::deny());
  const auto program = open_program(program_of({{"First", "optimal a"},
                                                {"First", "optimal b", 9, "avx2,sve"},
                                                {"Nowhere", "optimal c", 8},
                                                {"Versioned", "optimal d", 7, "", 4},
                                                {"Code", "optimal e", 6}}));
  const auto choice = host::choose_variant(program, "forward", options, host::AskVariants::all);
  REQUIRE(choice.ok());
  REQUIRE(choice->answers.size() == 5);
  REQUIRE(choice->chosen == 4);
  const auto refused = [&](std::size_t i, Error number, const char* text) {
    const host::VariantAnswer& one = choice->answers[i];
    CHECK(one.refused.error() == number);
    CHECK_THAT(std::string(one.refused.text()), ContainsSubstring(text));
    CHECK_FALSE(one.was_asked);
  };
  refused(0, Error::NotSupported, "CPU features that this CPU lacks: sve");
  refused(1, Error::NotFound, "backend 'Nowhere' is not registered");
  refused(2, Error::DelegateInvalidCompatibility, "payload version 4, the plugin reads 2 to 3");
  refused(3, Error::AccessFailed, "the policy for embedded code is deny");
  CHECK(calls() == CallList{"check optimal a"});
  CHECK(load_ok(program_of({{"First", "optimal a"}, {"Versioned", "optimal d", 7, "", 3}}),
                backends.options())
            ->variant() == "1");
  CHECK(load_ok(program_of({{"First", "optimal a"}, {"First", "optimal b", 7, "avx2"}}),
                backends.options())
            ->variant() == "1");
}

TEST_CASE("when no variant can run, the error names each and why", "[variants]") {
  const JudgingRegistry backends;
  const auto method = load(program_of({{"First", "incompatible a"},
                                       {"Unavailable", "b", 4},
                                       {"First", "fails", 3},
                                       {"First", "asks key", 2},
                                       {"", "", -1}}),
                           backends.options());
  // A variant without delegates always runs.
  REQUIRE(method.ok());
  const auto refused = load(program_of({{"First", "incompatible a"},
                                        {"Unavailable", "b", 4},
                                        {"First", "fails", 3},
                                        {"First", "asks key", 2}}),
                            backends.options());
  REQUIRE(refused.error() == Error::NotFound);
  const std::string text(refused.text());
  CHECK_THAT(text, ContainsSubstring("test.pte: method forward: none of its variants can run"));
  CHECK_THAT(text, ContainsSubstring("'1': no driver: libacme.so.1 not found") ||
                       ContainsSubstring("libacme.so.1 not found"));
  CHECK_THAT(text, ContainsSubstring("no table of chips"));
  CHECK_THAT(text, ContainsSubstring("named data 'key' is neither in the program"));
  CHECK_THAT(text, ContainsSubstring("'0': delegate 0 (First): made for chip 2"));
}

TEST_CASE("an option names the variant to load, which is then not asked", "[variants]") {
  const JudgingRegistry backends;
  auto options = backends.options();
  options.layers = {host::Variant("0")};
  const auto builder = program_of({{"First", "usable a"}, {"Second", "optimal b", 1}});
  auto method = load(builder, options);
  REQUIRE(method.ok());
  CHECK((*method)->variant() == "0");
  CHECK(calls() == CallList{"init usable a forward"});

  options.layers = {host::Variant("2")};
  const auto unknown = load(builder, options);
  REQUIRE(unknown.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(unknown.text()), ContainsSubstring("no variant '2'; it has '1', '0'"));
  CHECK(load(chain_of({"a"}), options).error() == Error::InvalidArgument);
}

TEST_CASE(
    "a variant is also a method of its plan's name, under which its delegates know the method",
    "[variants]") {
  const JudgingRegistry backends;
  const auto program =
      open_program(program_of({{"First", "optimal a", 9}, {"Second", "usable b"}}));
  const auto variants = *host::Variants::of(*program);
  CHECK(variants.visible_methods() == std::vector<std::string_view>{"forward"});
  CHECK(program->method_names() == std::vector<std::string_view>{"forward", "forward@1"});
  CHECK(variants.of_method("forward").size() == 2);
  CHECK(variants.of_method("forward@1").empty());
  const auto method = host::Method::load(program, "forward@1", backends.options());
  REQUIRE(method.ok());
  CHECK((*method)->name() == "forward");
  CHECK((*method)->variant() == "1");
  CHECK(calls() == CallList{"init usable b forward"});
}

TEST_CASE("a variant with an operator that has no kernel here is not chosen", "[variants]") {
  const JudgingRegistry backends;
  auto builder = program_of({{"First", "usable a"}, {"Second", "optimal b", 1}});
  PlanBuilder plan(*builder.program.execution_plan[1]);
  plan.instruction(kernel_call(plan.op("acme::unknown", "out"), {0, 1}));
  auto method = load(builder, backends.options());
  REQUIRE(method.ok());
  CHECK((*method)->variant() == "0");
  const auto choice = host::choose_variant(open_program(builder), "forward", backends.options(),
                                           host::AskVariants::all);
  REQUIRE(choice.ok());
  CHECK_THAT(std::string(choice->answers[0].refused.text()),
             ContainsSubstring("no kernel for operator 'acme::unknown.out'"));
}

TEST_CASE("a method with a single form has no choice", "[variants]") {
  const JudgingRegistry backends;
  const auto choice =
      host::choose_variant(open_program(chain_of({"a"})), "forward", backends.options());
  REQUIRE(choice.ok());
  CHECK(choice->answers.empty());
  CHECK(choice->status().ok());
  CHECK(
      host::choose_variant(open_program(chain_of({"a"})), "backward", backends.options()).error() ==
      Error::InvalidArgument);
  CHECK(load_ok(chain_of({"a"}))->variant().empty());
}

TEST_CASE("variants are judged for the options of the load", "[variants]") {
  const JudgingRegistry backends;
  const auto program = open_program(program_of({{"First", "for chip 1"}, {"First", "for chip 2"}}));
  const auto chosen_for = [&](const std::string& chip) {
    auto options = backends.options();
    if (!chip.empty()) options.backend_options.push_back({"First", "chip", chip});
    const auto choice = host::choose_variant(program, "forward", options);
    REQUIRE(choice.ok());
    return choice->chosen ? std::string(choice->answers[*choice->chosen].variant->name) : "none";
  };
  CHECK(chosen_for("1") == "0");
  CHECK(chosen_for("2") == "1");
  CHECK(chosen_for("3") == "none");
  CHECK(chosen_for("") == "none");
}

TEST_CASE("a variant with a verdict that the host does not know is as good as one that is usable",
          "[variants]") {
  const JudgingRegistry backends;
  CHECK(load_ok(program_of({{"First", "incompatible a", 2}, {"First", "later b", 1}}),
                backends.options())
            ->variant() == "1");
  CHECK(
      load_ok(program_of({{"First", "later a", 2}, {"First", "optimal b", 1}}), backends.options())
          ->variant() == "1");
}

TEST_CASE("an option for a backend of a variant that is not loaded is no error", "[variants]") {
  const JudgingRegistry backends;
  auto options = backends.options();
  options.backend_options.push_back({"Test", "factor", 3.0});
  const auto builder = program_of({{"Test", "a"}, {"First", "optimal b", 1}});
  CHECK(load_ok(builder, options)->variant() == "1");
  options.backend_options.push_back({"Second", "factor", 3.0});
  CHECK(load(builder, options).error() == Error::InvalidArgument);
}

TEST_CASE("a load without a registry chooses by the layer, and without it takes the plan's name",
          "[variants]") {
  JudgingRegistry backends;
  host::MethodOptions options;
  for (const char* const id : {"First", "Second"}) {
    options.backends.push_back(*backends.registry().lookup_backend(id));
  }
  const auto builder = program_of({{"First", "usable a"}, {"Second", "optimal b", 1}});
  const auto plain = load_ok(builder, options);
  CHECK(plain->variant().empty());
  CHECK(plain->name() == "forward");
  CHECK(calls() == CallList{"init usable a forward"});
  options.layers = {host::Variant()};
  CHECK(load_ok(builder, options)->variant() == "1");
  options.layers = {host::Variant(), host::Variant("0")};
  CHECK(load_ok(builder, options)->variant() == "0");
}
