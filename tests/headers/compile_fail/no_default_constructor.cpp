// SPDX-License-Identifier: MIT
// expect: tenon: the backend needs a public default constructor
#include <tenon/tenon.hpp>

class X final : public tenon::Backend<X> {
 public:
  static constexpr std::string_view id = "X";
  struct Delegate {};
  explicit X(int) {}
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
};

TENON_PLUGIN(X);
