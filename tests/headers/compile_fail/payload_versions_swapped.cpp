// SPDX-License-Identifier: MIT
// expect: tenon: the backend's `payload_versions` must be
#include <tenon/tenon.hpp>

class X final : public tenon::Backend<X> {
 public:
  static constexpr std::string_view id = "X";
  static constexpr tenon::PayloadVersions payload_versions = {3, 1};
  struct Delegate {};
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
};

TENON_PLUGIN(X);
