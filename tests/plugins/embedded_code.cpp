// SPDX-License-Identifier: MIT
// Backends that treat their blob as native code, each in its own way. None of them runs it: what
// matters is whether they would be let.
#include <cstddef>
#include <string_view>
#include <tenon/tenon.hpp>

namespace {

/// Adds up its inputs.
class Parts {
 public:
  static constexpr std::string_view description = "Runs what its blob says";
  struct Delegate {};

  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args args) {
    if (args.size() < 2) {
      return tenon::error(tenon::Error::InvalidArgument, "expected inputs and one output, found ",
                          args.size(), " arguments");
    }
    TENON_TRY(auto out, args.tensor<float>(args.size() - 1));
    for (float& sum : out) sum = 0.0f;
    for (std::size_t i = 0; i + 1 < args.size(); ++i) {
      TENON_TRY(auto in, args.tensor<const float>(i));
      if (in.size() != out.size()) {
        return tenon::error(tenon::Error::InvalidArgument, "argument ", i, ": expected ",
                            out.size(), " elements, found ", in.size());
      }
      for (std::size_t at = 0; at < out.size(); ++at) out[at] += in[at];
    }
    return tenon::ok();
  }
};

/// Keeps the rules.
class Asks final : public tenon::Backend<Asks>, public Parts, public tenon::WithCheckBlob<Asks> {
 public:
  static constexpr std::string_view id = "AsksBackend";
  static constexpr bool runs_embedded_code = true;

  tenon::Result<Delegate> init(tenon::InitContext& context, tenon::Blob blob, tenon::CompileSpecs) {
    if (!blob.text().starts_with("code")) {
      return tenon::error(tenon::Error::DelegateInvalidCompatibility, "expected code");
    }
    TENON_RETURN_IF_ERROR(context.permit_code(blob.bytes()));
    return Delegate{};
  }
  /// Breaks TN-COD-4 for a blob that says so.
  tenon::Result<tenon::BlobVerdict> check_blob(tenon::InitContext& context, tenon::Blob blob,
                                               tenon::CompileSpecs) {
    if (blob.text() == "code to map") TENON_RETURN_IF_ERROR(context.permit_code(blob.bytes()));
    return tenon::BlobVerdict{};
  }
};

/// Says what it does, but forgets to ask.
class Forgets final : public tenon::Backend<Forgets>, public Parts {
 public:
  static constexpr std::string_view id = "ForgetsBackend";
  static constexpr bool runs_embedded_code = true;
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
};

/// Asks, and does not listen.
class Ignores final : public tenon::Backend<Ignores>, public Parts {
 public:
  static constexpr std::string_view id = "IgnoresBackend";
  static constexpr bool runs_embedded_code = true;
  tenon::Result<Delegate> init(tenon::InitContext& context, tenon::Blob blob, tenon::CompileSpecs) {
    if (!context.permit_code(blob.bytes()).ok()) host().log(tenon::LogLevel::Info, "so what");
    return Delegate{};
  }
};

/// Asks, although its record does not say that it runs code.
class Unmarked final : public tenon::Backend<Unmarked>, public Parts {
 public:
  static constexpr std::string_view id = "UnmarkedBackend";
  static constexpr bool runs_embedded_code = false;
  tenon::Result<Delegate> init(tenon::InitContext& context, tenon::Blob blob, tenon::CompileSpecs) {
    TENON_RETURN_IF_ERROR(context.permit_code(blob.bytes()));
    return Delegate{};
  }
};

}  // namespace

TENON_PLUGIN(Asks, Forgets, Ignores, Unmarked);
