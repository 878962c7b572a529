// SPDX-License-Identifier: MIT
// A backend whose state a host can keep and put back (docs/hosts/sequences.md).
#include <cstddef>
#include <span>
#include <string_view>
#include <tenon/tenon.hpp>
#include <vector>

namespace {

using tenon::Status;

class AcmeNpu final : public tenon::Backend<AcmeNpu>, public tenon::WithSequence<AcmeNpu> {
 public:
  static constexpr std::string_view id = "AcmeNpu";
  struct Delegate {
    std::vector<float> sum;
  };

  // [state]
  std::vector<tenon::StatePart> state(Delegate& delegate) {
    return {{"sum", std::as_writable_bytes(std::span(delegate.sum))}};
  }
  // [state]

  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{std::vector<float>(4)};
  }
  Status execute(tenon::ExecutionContext&, Delegate& delegate, tenon::Args args) {
    TENON_RETURN_IF_ERROR(args.expect(2));
    TENON_TRY(const auto in, args.tensor<const float>(0));
    TENON_RETURN_IF_ERROR(args.resize(1, in.sizes()));
    TENON_TRY(const auto out, args.tensor<float>(1));
    for (std::size_t i = 0; i < in.numel(); ++i) {
      out[i] = delegate.sum[i % delegate.sum.size()] += in[i];
    }
    return tenon::ok();
  }
};

}  // namespace

TENON_PLUGIN(AcmeNpu);
