// SPDX-License-Identifier: MIT
#include <tenon/tenon.hpp>

namespace {

class AcmeSmooth final : public tenon::Backend<AcmeSmooth> {
 public:
  static constexpr std::string_view id = "AcmeSmooth";

  struct Delegate {};

  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob processed, tenon::CompileSpecs) {
    return tenon::error(tenon::Error::NotImplemented, "no blob is known, found one of ",
                        processed.size(), " bytes");
  }

  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) {
    return tenon::error(tenon::Error::NotImplemented, "nothing was loaded");
  }
};

}  // namespace

TENON_PLUGIN(AcmeSmooth);
