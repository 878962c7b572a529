// SPDX-License-Identifier: MIT
// A backend of two steps that gives their results (docs/hosts/intermediates.md).
#include <cstddef>
#include <span>
#include <string_view>
#include <tenon/tenon.hpp>
#include <vector>

namespace {

using tenon::Result;
using tenon::Status;

class AcmeNpu final : public tenon::Backend<AcmeNpu>, public tenon::WithIntermediates<AcmeNpu> {
 public:
  static constexpr std::string_view id = "AcmeNpu";
  struct Delegate {
    tenon::IntermediateRecorder recorder;
    std::vector<float> squares;
  };

  // [steps]
  std::vector<tenon::Intermediate> intermediates(const Delegate&) {
    return {{0, "square"}, {1, "add"}};
  }
  tenon::IntermediateRecorder& recorder(Delegate& delegate) { return delegate.recorder; }
  // [steps]

  Status execute(tenon::ExecutionContext& context, Delegate& delegate, tenon::Args args) {
    TENON_RETURN_IF_ERROR(args.expect(2));
    TENON_TRY(const auto in, args.tensor<const float>(0));
    TENON_RETURN_IF_ERROR(args.resize(1, in.sizes()));
    TENON_TRY(const auto out, args.tensor<float>(1));
    std::vector<float>& squares = delegate.squares;
    squares.assign(in.begin(), in.end());
    for (float& each : squares) each *= each;
    TENON_RETURN_IF_ERROR(delegate.recorder.give(0, tenon::ScalarType::Float, in.sizes(),
                                                 std::as_bytes(std::span(squares))));
    for (std::size_t i = 0; i < in.numel(); ++i) out[i] = squares[i] + in[i];
    context.tracer().log_counter("elements", static_cast<double>(in.numel()), "elements");
    return delegate.recorder.give(1, out);
  }

  Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
};

}  // namespace

TENON_PLUGIN(AcmeNpu);
