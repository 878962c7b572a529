// SPDX-License-Identifier: MIT
#include <algorithm>
#include <tenon/tenon.hpp>

namespace {

class ScaleBackend final : public tenon::Backend<ScaleBackend> {
 public:
  static constexpr std::string_view id = "ScaleBackend";

  struct Delegate {
    float factor;
  };

  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob processed, tenon::CompileSpecs) {
    const auto factor = tenon::read_le<float>(processed.bytes());
    if (!factor || processed.size() != sizeof(float)) {
      return tenon::error(tenon::Error::DelegateInvalidCompatibility,
                          "blob: expected 4 bytes, found ", processed.size());
    }
    processed.release();
    return Delegate{*factor};
  }

  tenon::Status execute(tenon::ExecutionContext&, Delegate& delegate, tenon::Args args) {
    TENON_RETURN_IF_ERROR(args.expect(2));
    TENON_TRY(const auto in, args.tensor<const float>(0));
    TENON_RETURN_IF_ERROR(args.resize(1, in.sizes()));
    TENON_TRY(const auto out, args.tensor<float>(1));
    if (!same_layout(in, out)) {
      return tenon::error(tenon::Error::InvalidArgument, "expected one layout in and out");
    }
    std::ranges::transform(in, out.begin(), [&](float x) { return delegate.factor * x; });
    return tenon::ok();
  }
};

}  // namespace

TENON_PLUGIN(ScaleBackend);
