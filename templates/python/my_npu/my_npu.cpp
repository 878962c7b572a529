// SPDX-License-Identifier: MIT
//
// A complete backend: it multiplies a float32 tensor by a number. The blob is a version, 1, and the
// number as a float32. Put your own code into `init`, which reads the blob, and `execute`. Work
// that needs no device belongs into the program that makes the blob: `init` runs at every load.
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <tenon/tenon.hpp>

namespace {

class MyNpu final : public tenon::Backend<MyNpu> {
 public:
  static constexpr std::string_view id = "MyNpuBackend";
  static constexpr std::string_view description = "multiplies a float32 tensor by a number";
  static constexpr tenon::PayloadVersions payload_versions = {1, 1};

  /// The state of one loaded blob. Its destructor is `destroy`.
  struct Delegate {
    float factor;
  };

  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob processed, tenon::CompileSpecs) {
    const auto version = tenon::read_le<std::uint32_t>(processed.bytes());
    const auto factor = tenon::read_le<float>(processed.bytes(), 4);
    if (version && *version != 1) {
      return tenon::error(tenon::Error::DelegateInvalidCompatibility,
                          "blob: expected version 1, found ", *version);
    }
    if (!factor || processed.size() != 8) {
      return tenon::error(tenon::Error::InvalidProgram, "blob: expected 8 bytes, found ",
                          processed.size());
    }
    return Delegate{*factor};
  }

  tenon::Status execute(tenon::ExecutionContext&, Delegate& delegate, tenon::Args args) {
    TENON_RETURN_IF_ERROR(args.expect(2));
    TENON_TRY(const auto in, args.tensor<const float>(0));
    TENON_RETURN_IF_ERROR(args.resize(1, in.sizes()));
    TENON_TRY(const auto out, args.tensor<float>(1));
    if (!same_layout(in, out)) {
      return tenon::error(tenon::Error::InvalidArgument,
                          "argument 1: expected the layout of argument 0");
    }
    std::ranges::transform(in, out.begin(), [&](float x) { return x * delegate.factor; });
    return tenon::ok();
  }
};

}  // namespace

TENON_PLUGIN(MyNpu);
