// SPDX-License-Identifier: MIT
//
// Registration with the names of torch::executor, as applications that move over write it.
#include "tenon/host/executorch_names.hpp"
#include "tenon/host/all_layers.hpp"

#include <type_traits>

#include "support/catch.hpp"
#include "tenon/host/loader/plugin/plugin.hpp"

namespace executorch_names_test {

namespace et = torch::executor;
using tenon::Error;

static_assert(std::is_same_v<decltype(et::register_backend(et::Backend{})), Error>);
static_assert(std::is_same_v<decltype(et::get_backend_class("")), tenon::host::BackendRef>);

TEST_CASE("a backend is registered and found with the names of torch::executor",
          "[loader][S1.16][S1.18][S1.19]") {
  const auto opened =
      (*tenon::host::Plugin::load(TENON_TEST_HELLO, tenon::host::all_layers()))->backend("Add");
  REQUIRE(opened.ok());
  CHECK_FALSE(et::get_backend_class("NamesOfExecutorch"));
  REQUIRE(et::register_backend({"NamesOfExecutorch", *opened}) == Error::Ok);
  CHECK(et::register_backend({"NamesOfExecutorch", *opened}) ==
        Error::RegistrationAlreadyRegistered);
  CHECK(et::register_backend({"Nothing", nullptr}) == Error::InvalidArgument);
  {
    const auto found = et::get_backend_class("NamesOfExecutorch");
    REQUIRE(found);
    CHECK(found->id() == "Add");
  }
  CHECK(et::backend_registry().unregister_backend("NamesOfExecutorch").ok());
  CHECK_FALSE(et::get_backend_class("NamesOfExecutorch"));
}

}  // namespace executorch_names_test
