// SPDX-License-Identifier: MIT
// expect: tenon: the backend's id must have 1 to 63 characters of [A-Za-z0-9_.-]
#include <tenon/tenon.hpp>

class X final : public tenon::Backend<X> {
 public:
  static constexpr std::string_view id =
      "0123456789012345678901234567890123456789012345678901234567890123";
  struct Delegate {};
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
};

TENON_PLUGIN(X);
