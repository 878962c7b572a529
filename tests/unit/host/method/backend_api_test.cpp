// SPDX-License-Identifier: MIT

#include <cstddef>

#include "support/catch.hpp"
#include "tenon/abi/extensions/options.h"
#include "tenon/host.hpp"

using namespace tenon;

namespace {

tenon_status open(const tenon_host*, tenon_backend**) { return TENON_STATUS_OK; }
void close(tenon_backend*) {}
tenon_status init(tenon_backend*, const tenon_init_context*, tenon_delegate**) {
  return TENON_STATUS_OK;
}
tenon_status execute(tenon_backend*, tenon_delegate*, const tenon_execution_context*,
                     tenon_value* const*, std::uint32_t) {
  return TENON_STATUS_OK;
}
void destroy(tenon_backend*, tenon_delegate*) {}

tenon_backend_api whole_table() {
  tenon_backend_api api{};
  api.struct_size = sizeof api;
  api.open = &open;
  api.close = &close;
  api.init = &init;
  api.execute = &execute;
  api.destroy = &destroy;
  return api;
}

}  // namespace

TEST_CASE("a function table that ends inside a pointer does not have that pointer", "[TN-BCK-3]") {
  tenon_backend_api api = whole_table();
  for (std::size_t cut = 1; cut < sizeof(void*); ++cut) {
    api.struct_size = static_cast<std::uint32_t>(offsetof(tenon_backend_api, destroy) + cut);
    const auto completed = host::complete_api(api, "Cut");
    REQUIRE(completed.error() == Error::InvalidArgument);
    CHECK_THAT(std::string(completed.text()), ContainsSubstring("`destroy`"));
  }
  api.struct_size = static_cast<std::uint32_t>(offsetof(tenon_backend_api, get_extension) + 4);
  const auto completed = host::complete_api(api, "Cut");
  REQUIRE(completed.ok());
  CHECK(completed->get_extension(nullptr, "tenon.options/1") == nullptr);
}

TEST_CASE("an extension table that ends inside a pointer does not have that pointer") {
  tenon_options_v1 table{};
  table.struct_size = static_cast<std::uint32_t>(offsetof(tenon_options_v1, get_option) + 3);
  table.get_option = [](tenon_backend*, const char*, tenon_option_sink, void*) -> tenon_status {
    return TENON_STATUS_OK;
  };
  CHECK(host::complete_table<tenon_options_v1>(&table).get_option == nullptr);
}

TEST_CASE("a static plugin that is null is refused by name") {
  CHECK(host::Plugin::from_static(nullptr).error() == Error::InvalidArgument);
  host::BackendRegistry registry;
  CHECK(registry.register_backend(nullptr).error() == Error::InvalidArgument);
}
