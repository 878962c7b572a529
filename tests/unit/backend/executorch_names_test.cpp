// SPDX-License-Identifier: MIT
//
// A backend that is written with the names of torch::executor, as a backend that moves over is.
#include <tenon/abi/static_plugin.h>

#include <tenon/executorch_names.hpp>
#include <type_traits>

#include "support/catch.hpp"
#include "unit/backend/fake_host.hpp"
#include "unit/core/test_tensor.hpp"

using namespace tenon::test;

namespace {

namespace et = torch::executor;

static_assert(std::is_same_v<et::CompileSpec, tenon::CompileSpec>);
static_assert(std::is_same_v<et::DelegateHandle, tenon_delegate>);
static_assert(std::is_same_v<et::SizedBuffer, tenon::Bytes>);

/// Stores the number of bytes of its compile specs.
class MovedOver final : public et::PyTorchBackendInterface<MovedOver> {
 public:
  static constexpr std::string_view id = "MovedOver";
  struct Delegate {
    std::int64_t nbytes = 0;
  };
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs specs) {
    Delegate out;
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const et::CompileSpec spec = specs[i];
      const et::SizedBuffer value = spec.value;
      out.nbytes += static_cast<std::int64_t>(value.size());
    }
    return out;
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate& delegate, tenon::Args args) {
    TENON_TRY(auto out, args.tensor<std::int64_t>(0));
    out[0] = delegate.nbytes;
    return tenon::ok();
  }
};

}  // namespace

TENON_PLUGIN(MovedOver);

TEST_CASE("a backend with the names of torch::executor is a plugin like any other",
          "[backend][S1.19]") {
  const LinkedPlugin plugin(tenon_static_plugin_MovedOver);
  CHECK(std::string(plugin.record(0).id) == "MovedOver");
  const FakeHost host;
  OpenedBackend backend(plugin.api(), host);
  FakeBuffer processed("blob");
  const tenon_compile_spec specs[] = {{sizeof(tenon_compile_spec), 0, "a", "123", 3},
                                      {sizeof(tenon_compile_spec), 0, "b", "45", 2}};
  REQUIRE(backend.init(processed, {}, specs) == TENON_STATUS_OK);
  et::DelegateHandle* const handle = backend.delegate;
  CHECK(handle != nullptr);
  TestTensor out({1}, {std::int64_t{0}});
  const TestArgs args({out.value()});
  REQUIRE(backend.execute(args.data(), args.size()) == TENON_STATUS_OK);
  CHECK(out.elements<std::int64_t>()[0] == 5);
  backend.destroy();
}
