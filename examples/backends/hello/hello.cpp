// SPDX-License-Identifier: MIT
// A complete backend: it adds two float32 tensors. The blob is the rank it was compiled for.
#include <algorithm>
#include <functional>
#include <tenon/tenon.hpp>

namespace {

class Add final : public tenon::Backend<Add> {
 public:
  static constexpr std::string_view id = "Add";

  struct Delegate {
    std::uint32_t rank;
  };

  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob processed, tenon::CompileSpecs) {
    const auto rank = tenon::read_le<std::uint32_t>(processed.bytes());
    if (rank && processed.size() == 4) return Delegate{*rank};
    return tenon::error(tenon::Error::DelegateInvalidCompatibility,
                        "blob: expected 4 bytes, found ", processed.size());
  }

  tenon::Status execute(tenon::ExecutionContext&, Delegate& delegate, tenon::Args args) {
    TENON_RETURN_IF_ERROR(args.expect(3));
    TENON_TRY(auto a, args.tensor<const float>(0));
    TENON_TRY(auto b, args.tensor<const float>(1));
    TENON_RETURN_IF_ERROR(args.resize(2, a.sizes()));
    TENON_TRY(auto out, args.tensor<float>(2));
    TENON_RETURN_IF_ERROR(args.expect_rank(0, delegate.rank));
    TENON_RETURN_IF_ERROR(args.expect_layout(1, a));
    TENON_RETURN_IF_ERROR(args.expect_layout(2, a));
    std::ranges::transform(a, b, out.begin(), std::plus{});
    return tenon::ok();
  }
};

}  // namespace

TENON_PLUGIN(Add);
