// SPDX-License-Identifier: MIT
// expect: tenon: TENON_PLUGIN_VERSION must have at most 63 bytes
#define TENON_PLUGIN_VERSION "0123456789012345678901234567890123456789012345678901234567890123"
#include <tenon/tenon.hpp>

class X final : public tenon::Backend<X> {
 public:
  static constexpr std::string_view id = "X";
  struct Delegate {};
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
};

TENON_PLUGIN(X);
