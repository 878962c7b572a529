// SPDX-License-Identifier: MIT
// A backend that multiplies a float32 tensor. The blob is the factor, a float32.
#include <algorithm>
#include <tenon/tenon.hpp>

namespace {

class Scale final : public tenon::Backend<Scale> {
 public:
  static constexpr std::string_view id = "Scale";

  struct Delegate {
    float factor;
  };

  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob processed, tenon::CompileSpecs) {
    const auto factor = tenon::read_le<float>(processed.bytes());
    if (factor && processed.size() == 4) return Delegate{*factor};
    return tenon::error(tenon::Error::DelegateInvalidCompatibility,
                        "blob: expected 4 bytes, found ", processed.size());
  }

  tenon::Status execute(tenon::ExecutionContext&, Delegate& delegate, tenon::Args args) {
    TENON_RETURN_IF_ERROR(args.expect(2));
    TENON_TRY(auto in, args.tensor<const float>(0));
    TENON_RETURN_IF_ERROR(args.resize(1, in.sizes()));
    TENON_TRY(auto out, args.tensor<float>(1));
    TENON_RETURN_IF_ERROR(args.expect_layout(1, in));
    std::ranges::transform(in, out.begin(), [&](float value) { return delegate.factor * value; });
    return tenon::ok();
  }
};

}  // namespace

TENON_PLUGIN(Scale);
