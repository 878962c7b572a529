// SPDX-License-Identifier: MIT
#include "support/temporary_directory.hpp"
#include "unit/executorch/adapter/stock.hpp"

using namespace tenon;
using namespace tenon::test;

namespace register_test {

using bridge::register_plugins;

std::string zoo(const std::string& name) {
  return std::string(TENON_TEST_ZOO) + "/" + name + ".so";
}

/// A backend that the application registers itself.
using Native = IdleInterface<et::BackendInterface>;

std::size_t table_size() { return et::get_num_registered_backends(); }

}  // namespace register_test

using namespace register_test;

TEST_CASE("a plugin's file is registered by its path and listed with its facts", "[executorch]") {
  adapted();
  bridge::RegisterOptions options;
  options.ids = {"ManyBackend"};
  const auto done = register_plugins(zoo("many_things"), options);
  INFO(done.text());
  REQUIRE(done.ok());
  CHECK(*done == std::vector<std::string>{"ManyBackend"});
  CHECK(et::get_backend_class("ManyBackend") != nullptr);
  CHECK(et::get_backend_class("ManyBackend")->is_available());

  const auto all = bridge::registered_backends();
  const auto& many = *std::find_if(all.begin(), all.end(),
                                   [](const auto& each) { return each.id == "ManyBackend"; });
  CHECK(many.plugin == zoo("many_things"));
  CHECK(many.version == "1.2.3");
  CHECK(all[0].id == "Test");
  CHECK(all[0].plugin.empty());
}

TEST_CASE("an id that ExecuTorch has is refused; the error names its owner and a remedy",
          "[executorch]") {
  adapted();
  const std::size_t before = table_size();
  const auto again = register_plugins(std::shared_ptr<const host::BackendRegistry>(adapted()),
                                      {.ids = {"Unavailable", "Test"}});
  REQUIRE(again.error() == Error::RegistrationAlreadyRegistered);
  CHECK_THAT(std::string(again.text()),
             ContainsSubstring("backend 'Unavailable'") && ContainsSubstring("use one of both") &&
                 ContainsSubstring("Its table has: Test (), Unavailable ()"));

  // A backend that the application registered itself is named with the file that its code is in.
  static Native native;
  REQUIRE(et::register_backend({"VariantBackend", &native}) == et::Error::Ok);
  const auto taken = register_plugins(zoo("variant_base"));
  REQUIRE(taken.error() == Error::RegistrationAlreadyRegistered);
  CHECK_THAT(std::string(taken.text()),
             ContainsSubstring("VariantBackend (executorch-adapter-test)") &&
                 ContainsSubstring(zoo("variant_base")));
  CHECK(table_size() == before + 1);
}

TEST_CASE("backends that do not all fit into the table are not registered at all", "[executorch]") {
  adapted();
  const std::size_t before = table_size();
  bridge::RegisterOptions options;
  options.table_size = before + 1;
  const auto refused = register_plugins(zoo("two_backends"), options);
  REQUIRE(refused.error() == Error::OutOfResources);
  CHECK_THAT(std::string(refused.text()),
             ContainsSubstring("2 backends do not fit") &&
                 ContainsSubstring(concat("room for ", before + 1, " and holds ", before)) &&
                 ContainsSubstring("Values ()"));
  CHECK(table_size() == before);
  options.table_size = 0;
  CHECK(register_plugins(zoo("two_backends"), options).error() == Error::OutOfResources);
}

TEST_CASE("a taken id leaves that backend out, and the others of the plugin are registered",
          "[executorch]") {
  adapted();
  static Native native;
  // ExecuTorch keeps the name that it is given.
  static const auto ids = [] {
    auto registry = std::make_shared<host::BackendRegistry>();
    REQUIRE(registry->register_backend(zoo("two_backends")).ok());
    return registry->list_backends({});
  }();
  REQUIRE(ids.size() == 2);
  REQUIRE(et::register_backend({ids[0].c_str(), &native}) == et::Error::Ok);
  const std::size_t before = table_size();

  // Named, it is an error: the caller asked for it.
  std::vector<bridge::RefusedBackend> refused{{"old", "old"}};
  const auto named = register_plugins(zoo("two_backends"), {.ids = ids, .refused = &refused});
  CHECK(named.error() == Error::RegistrationAlreadyRegistered);
  CHECK_THAT(std::string(named.text()), ContainsSubstring("ids=[\"" + ids[1] + "\"]"));
  CHECK(refused.empty());
  CHECK(table_size() == before);

  const auto done = register_plugins(zoo("two_backends"), {.refused = &refused});
  INFO(done.text());
  REQUIRE(done.ok());
  CHECK(*done == std::vector{ids[1]});
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].id == ids[0]);
  CHECK_THAT(refused[0].reason,
             ContainsSubstring("backend '" + ids[0] + "' of " + zoo("two_backends")) &&
                 ContainsSubstring("leave it out by naming the others: ids=[\"" + ids[1] + "\"]") &&
                 ContainsSubstring(ids[0] + " (executorch-adapter-test)"));
  CHECK(et::get_backend_class(ids[0].c_str()) == &native);

  // Now both are taken.
  CHECK(register_plugins(zoo("two_backends")).error() == Error::RegistrationAlreadyRegistered);
  CHECK(table_size() == before + 1);
}

TEST_CASE("a failed registration gives the reason and leaves the table unchanged", "[executorch]") {
  adapted();
  const std::size_t before = table_size();
  CHECK(register_plugins(nullptr).error() == Error::InvalidArgument);
  CHECK(register_plugins("/nonexistent/plugin.so").error() == Error::NotFound);
  CHECK(register_plugins(zoo("newer_major")).error() == Error::NotSupported);

  const std::shared_ptr<const host::BackendRegistry> registry = adapted();
  const auto unknown = register_plugins(registry, {.ids = {"Tset"}});
  REQUIRE(unknown.error() == Error::NotFound);
  CHECK_THAT(std::string(unknown.text()), ContainsSubstring("did you mean Test"));

  bridge::RegisterOptions twice;
  twice.ids = {"ShyBackend", "ShyBackend"};
  CHECK(register_plugins(zoo("many_things"), twice).error() == Error::InvalidArgument);
  // The second of two cannot be loaded: the first is not registered either.
  auto mixed = std::make_shared<host::BackendRegistry>();
  REQUIRE(mixed->register_backend(zoo("talkative")).ok());
  REQUIRE(mixed->register_backend(zoo("undefined_symbol")).ok());
  const auto broken = register_plugins(std::shared_ptr<const host::BackendRegistry>(mixed));
  REQUIRE_FALSE(broken.ok());
  CHECK_THAT(std::string(broken.text()), ContainsSubstring("undefined_symbol"));
  CHECK(et::get_backend_class("TalkativeBackend") == nullptr);
  CHECK(table_size() == before);
}

TEST_CASE("a backend that is not available says why", "[executorch]") {
  adapted();
  const StockProgram program(chain_of({"a"}, {.id = "Unavailable"}));
  bridge::clear_last_error();
  const StockMethod method(program);
  CHECK(method.error == et::Error::NotFound);
  CHECK(bridge::last_error().error() == Error::NotFound);
  CHECK_THAT(last_text(), ContainsSubstring("backend Unavailable: is_available:") &&
                              ContainsSubstring("libacme.so.1 not found"));
}

TEST_CASE("code in a program runs only as the application says, and failures reach its sink",
          "[executorch][TN-COD-3]") {
  adapted();
  static std::vector<std::string> failures;
  bridge::RegisterOptions options;
  options.adapter.embedded_code = host::EmbeddedCodePolicy::allow_only({});
  options.adapter.on_error = [](const Status& failure) { failures.push_back(describe(failure)); };
  options.adapter.log_errors = false;
  REQUIRE(bridge::register_plugins(zoo("embedded_code"), options).ok());
  const auto refusal_of = [](const char* id) {
    failures.clear();
    const StockMethod method(StockProgram(chain_of({"code"}, {.id = id})));
    CHECK_FALSE(method.ok());
    REQUIRE(failures.size() == 1);
    return failures[0];
  };
  CHECK_THAT(refusal_of("AsksBackend"),
             ContainsSubstring("AccessFailed (0x22): backend AsksBackend: init: the native code") &&
                 ContainsSubstring("trust it with sha256:"));
  CHECK_THAT(refusal_of("IgnoresBackend"), ContainsSubstring("went on although it was refused"));
  CHECK_THAT(refusal_of("ForgetsBackend"), ContainsSubstring("did not ask for permission"));
  CHECK_THAT(last_text(), ContainsSubstring("ForgetsBackend"));
}
