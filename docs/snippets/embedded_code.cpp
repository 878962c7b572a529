// SPDX-License-Identifier: MIT
// A backend that runs native code from its blob, as far as docs/hosts/embedded-code.md shows it.
#include <string_view>
#include <tenon/tenon.hpp>

namespace {

/// The library inside a blob; the rest are weights.
tenon::Bytes library_in(tenon::Blob blob) { return blob.bytes().first(blob.size() / 2); }

class AcmeCode final : public tenon::Backend<AcmeCode> {
 public:
  static constexpr std::string_view id = "AcmeCode";
  struct Delegate {};

  // [permit]
  static constexpr bool runs_embedded_code = true;

  tenon::Result<Delegate> init(tenon::InitContext& context, tenon::Blob blob, tenon::CompileSpecs) {
    TENON_RETURN_IF_ERROR(context.permit_code(library_in(blob)));  // before it is written or mapped
    // [permit]
    return tenon::error(tenon::Error::NotSupported, "the library of ", library_in(blob).size(),
                        " bytes is for another machine");
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
};

}  // namespace

TENON_PLUGIN(AcmeCode);
