// SPDX-License-Identifier: MIT
//
// A plugin in a process of its own, in stock ExecuTorch.
#include <string>
#include <vector>

#include "support/temporary_directory.hpp"
#include "tenon/host/isolation.hpp"
#include "tenon/host/signatures.hpp"
#include "unit/executorch/adapter/stock.hpp"

using namespace tenon;
using namespace tenon::test;

namespace executorch_isolation_test {

et::Error run(StockMethod& method, float first) {
  auto in = floats({4}, {first, 1, 2, 3});
  REQUIRE(method->set_input(in.value(), 0) == et::Error::Ok);
  return method->execute();
}

}  // namespace executorch_isolation_test

using namespace executorch_isolation_test;

TEST_CASE("a plugin that dies in its worker makes a call of stock ExecuTorch fail",
          "[executorch]") {
  adapted();
  bridge::RegisterOptions options;
  options.isolation = std::make_shared<host::WorkerIsolation>(
      *host::parse_isolation_rules("dies.so=none"), TENON_TEST_WORKER);
  const auto done = bridge::register_plugins(TENON_TEST_DIES, options);
  INFO(done.text());
  REQUIRE(done.ok());
  CHECK(*done == std::vector<std::string>{"Add"});
  CHECK(file_content("/proc/self/maps").find("/dies.so") == std::string::npos);

  const StockProgram program(chain_of({"twice"}, {.id = "Add"}));
  et::BackendOptions<2> how;
  REQUIRE(how.set_option("how", "segv") == et::Error::Ok);
  et::LoadBackendOptionsMap backend_options;
  REQUIRE(backend_options.set_options("Add", how.view()) == et::Error::Ok);
  StockMethod method(program, {.backend_options = &backend_options});
  INFO(last_text());
  REQUIRE(method.ok());
  REQUIRE(run(method, 0) == et::Error::Ok);
  CHECK(method.output() == std::vector<float>{0, 2, 4, 6});
  CHECK(run(method, 666) == et::Error::Internal);
  CHECK_THAT(last_text(), ContainsSubstring("the worker died in execute of backend Add") &&
                              ContainsSubstring("SIGSEGV at address 0x10"));
  // The application continues, and the method can be loaded again.
  StockMethod again(program);
  REQUIRE(again.ok());
  CHECK(run(again, 0) == et::Error::Ok);
}

TEST_CASE("a file that no publisher signed is not registered in stock ExecuTorch under a policy",
          "[executorch]") {
  adapted();
  const std::size_t before = et::get_num_registered_backends();
  bridge::RegisterOptions options;
  options.table_size = before + 2;
  options.library_policy = std::make_shared<host::SignaturePolicy>(host::Publishers());
  const auto done =
      bridge::register_plugins(std::string(TENON_TEST_ZOO) + "/talkative.so", options);
  CHECK(done.error() == Error::AccessFailed);
  CHECK_THAT(std::string(done.text()), ContainsSubstring("talkative.so.minisig is not there"));
  CHECK(et::get_num_registered_backends() == before);
}
