// SPDX-License-Identifier: MIT
//
// Memory on a device that two plugins list with the same type and number: FarBackend, which has the
// memory, and Twin, which gets a tensor there.
#include <memory>
#include <string>
#include <utility>

#include "device_support.hpp"
#include "plugins/far/twin.hpp"

TENON_DECLARE_STATIC_PLUGIN(Twin);

using namespace tenon;
using namespace tenon::test;

namespace {

/// The text of a load that is not supported.
std::string refusal_of(const Result<std::unique_ptr<host::Method>>& method) {
  INFO(method.text());
  REQUIRE(method.error() == Error::NotSupported);
  return std::string(method.text());
}

/// FarBackend adds on the device, and Twin gets the sum there.
ProgramBuilder shared_program() {
  ProgramBuilder builder = device_program();
  PlanBuilder plan(*builder.program.execution_plan[0]);
  const auto twin = plan.delegate("Twin", schema::DataLocation::INLINE, builder.inline_blob("any"));
  plan.instruction(delegate_call(twin, {values::device_out}));
  return builder;
}

/// Both plugins, which list CUDA device 0 with these identities.
class TwoPlugins : public FarRegistry {
 public:
  TwoPlugins(std::string far, std::string twin) {
    far_memory().identity = std::move(far);
    twin_record() = {true, true, std::move(twin), nullptr};
    REQUIRE(registry.register_backend(tenon_static_plugin_Twin).ok());
  }
};

}  // namespace

TEST_CASE("plugins that list a device with one identity share addresses there", "[device]") {
  const TwoPlugins plugins("uuid:4a1d", "uuid:4a1d");
  const auto method = load_ok(shared_program(), plugins.options());
  check_adds(*method);
  CHECK(twin_record().address != nullptr);
}

TEST_CASE("a device of the same type and number with another identity gets no address of the first",
          "[device]") {
  struct Pair {
    const char* far;
    const char* twin;
    const char* text;
  };
  const auto pair =
      GENERATE(Pair{"uuid:1", "uuid:2", "it is 'uuid:2' to the first and 'uuid:1' to the second"},
               Pair{"uuid:1", "", "the first shares no addresses of it"},
               Pair{"", "uuid:2", "the second shares no addresses of it"},
               Pair{"", "", "the second shares no addresses of it"});
  const TwoPlugins plugins(pair.far, pair.twin);
  const auto text = refusal_of(load(shared_program(), plugins.options()));
  CHECK_THAT(text, ContainsSubstring(std::string("instruction 0:4: argument 0: backend Twin cannot "
                                                 "use the memory of CUDA device 0 that backend "
                                                 "FarBackend has: ") +
                                     pair.text));
  CHECK(twin_record().address == nullptr);
}

TEST_CASE("a plugin that does not list a device, or has its own addresses there, gets none",
          "[device]") {
  const TwoPlugins plugins("uuid:1", "uuid:1");
  twin_record().lists_device = false;
  CHECK_THAT(refusal_of(load(shared_program(), plugins.options())),
             ContainsSubstring("the first does not list it"));
  twin_record().lists_device = true;
  twin_record().shares_addresses = false;
  CHECK_THAT(refusal_of(load(shared_program(), plugins.options())),
             ContainsSubstring("the first shares no addresses of it"));
}

TEST_CASE("a plugin uses its own memory on a device without an identity", "[device]") {
  const TwoPlugins plugins("", "");
  check_adds(*load_ok(device_program(), plugins.options()));
}
