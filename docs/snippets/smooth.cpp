// SPDX-License-Identifier: MIT
// Smooths a stream of float32 tensors: each run moves a kept state towards the input by the factor
// alpha, and gives the state times the option "gain". docs/backends/write-a-backend.md builds it
// up.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tenon/tenon.hpp>
#include <vector>

namespace {

using tenon::Error;

// [blob]
/// A blob: "ACME", the version, alpha, the number of elements; 16 bytes.
struct Header {
  float alpha;
  std::uint32_t count;
};

constexpr tenon::PayloadVersions versions{1, 1};

tenon::Result<Header> read_header(tenon::Bytes blob) {
  if (!tenon::as_text(blob).starts_with("ACME")) {
    return tenon::error(Error::DelegateInvalidCompatibility,
                        "blob: expected ACME at its begin, found ", blob.size(), " other bytes");
  }
  const auto version = tenon::read_le<std::uint32_t>(blob, 4);
  if (version && (*version < versions.min || *version > versions.max)) {
    return tenon::error(Error::DelegateInvalidCompatibility, "blob: expected version ",
                        versions.min, " to ", versions.max, ", found ", *version);
  }
  if (blob.size() != 16) {
    return tenon::error(Error::InvalidProgram, "blob: expected 16 bytes, found ", blob.size());
  }
  const Header header{*tenon::read_le<float>(blob, 8), *tenon::read_le<std::uint32_t>(blob, 12)};
  constexpr std::uint32_t most = 1U << 20;
  if (!(header.alpha > 0.0F && header.alpha <= 1.0F) || header.count > most) {
    return tenon::error(Error::InvalidProgram, "blob: expected alpha in (0, 1] and at most ", most,
                        " elements, found ", header.alpha, " and ", header.count);
  }
  return header;
}
// [blob]

// [class]
class AcmeSmooth final : public tenon::Backend<AcmeSmooth>,
                         public tenon::WithOptions<AcmeSmooth>,
                         public tenon::WithCheckBlob<AcmeSmooth>,
                         public tenon::WithEstimate<AcmeSmooth>,
                         public tenon::WithMemoryInfo<AcmeSmooth>,
                         public tenon::WithSessions<AcmeSmooth>,
                         public tenon::WithSequence<AcmeSmooth> {
 public:
  static constexpr std::string_view id = "AcmeSmooth";
  static constexpr std::string_view tags = "cpu";
  static constexpr std::string_view description = "Exponential smoothing of float32 tensors";
  static constexpr tenon::PayloadVersions payload_versions = versions;
  // [class]

  // [option]
  static constexpr std::array options{
      tenon::OptionSpec{"gain", 1.0, "what outputs are multiplied by; finite"}};

  tenon::Status on_set_option(std::string_view, const tenon::OptionView& value) {
    return std::move(checked_gain(*value.real())).status();
  }
  // [option]

  // [delegate]
  struct Delegate {
    float alpha;
    float gain;
    std::vector<float> state;
  };
  // [delegate]

  // [init]
  tenon::Result<Delegate> init(tenon::InitContext& context, tenon::Blob processed,
                               tenon::CompileSpecs) {
    TENON_TRY(const Header header, read_header(processed.bytes()));
    TENON_TRY(const auto values, option_values(context));
    TENON_TRY(const double wanted, values.get<double>("gain"));
    TENON_TRY(const float gain, checked_gain(wanted));
    processed.release();  // all that is needed was read
    return Delegate{header.alpha, gain, std::vector<float>(header.count)};
  }
  // [init]

  // [execute]
  tenon::Status execute(tenon::ExecutionContext& context, Delegate& delegate, tenon::Args args) {
    TENON_RETURN_IF_ERROR(args.expect(2));
    TENON_TRY(const auto in, args.tensor<const float>(0));
    TENON_TRY(const auto out, args.tensor<float>(1));
    std::vector<float>& state = delegate.state;
    if (in.size() != state.size() || !same_layout(in, out)) {
      return tenon::error(Error::InvalidArgument, "expected ", state.size(),
                          " elements in and out, found ", tenon::shape_text(in.sizes()), " and ",
                          tenon::shape_text(out.sizes()));
    }
    const tenon::TracerScope scope(context.tracer(), "smooth");
    for (std::size_t i = 0; i < state.size(); ++i) {
      state[i] += delegate.alpha * (in[i] - state[i]);
      out[i] = delegate.gain * state[i];
    }
    return tenon::ok();
  }
  // [execute]

  // [check_blob]
  tenon::Result<tenon::BlobVerdict> check_blob(tenon::InitContext&, tenon::Blob processed,
                                               tenon::CompileSpecs) {
    const auto header = read_header(processed.bytes());
    if (header.ok()) return tenon::BlobVerdict{};
    return tenon::BlobVerdict{tenon::Compatibility::Incompatible, std::string(header.text())};
  }
  // [check_blob]

  // [estimate]
  tenon::Result<tenon::MemoryUses> estimate(tenon::InitContext&, tenon::Blob processed,
                                            tenon::CompileSpecs) {
    TENON_TRY(const Header header, read_header(processed.bytes()));
    const std::uint64_t state = header.count * sizeof(float);
    return tenon::MemoryUses{{.workspace = state, .session = state}};
  }
  // [estimate]

  // [memory_info]
  tenon::MemoryUses memory_info(const Delegate* delegate) {
    if (!delegate) return {};  // nothing is shared between delegates
    return {{.workspace = delegate->state.capacity() * sizeof(float)}};
  }
  // [memory_info]

  // [sessions]
  tenon::Result<Delegate> create_session(const Delegate& of,
                                         const tenon::SessionContext<Delegate>& context) {
    TENON_RETURN_IF_ERROR(context.expect_no_options());
    const Delegate* const from = context.state();
    return Delegate{of.alpha, of.gain, from ? from->state : std::vector<float>(of.state.size())};
  }
  // [sessions]

  std::vector<tenon::StatePart> state(Delegate& delegate) {
    return {{"smoothed", std::as_writable_bytes(std::span(delegate.state))}};
  }

 private:
  static tenon::Result<float> checked_gain(double gain) {
    const auto narrow = static_cast<float>(gain);
    if (std::isfinite(narrow)) return narrow;
    return tenon::error(Error::InvalidArgument, "option 'gain': expected a finite number, found ",
                        gain);
  }
};

}  // namespace

TENON_PLUGIN(AcmeSmooth);
