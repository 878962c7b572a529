// SPDX-License-Identifier: MIT
// expect: tenon: the backend has no public `tenon::Result<Delegate> init(tenon::InitContext&,
// tenon::Blob, tenon::CompileSpecs)`
#include <tenon/tenon.hpp>

class X final : public tenon::Backend<X> {
 public:
  static constexpr std::string_view id = "X";
  struct Delegate {};
  tenon::Result<Delegate*> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return new Delegate{};
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
};

TENON_PLUGIN(X);
