// SPDX-License-Identifier: MIT
// expect: tenon: the backend has no public `struct Delegate`
#include <tenon/tenon.hpp>

class X final : public tenon::Backend<X> {
 public:
  static constexpr std::string_view id = "X";
  tenon::Result<int> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) { return 0; }
  tenon::Status execute(tenon::ExecutionContext&, int&, tenon::Args) { return tenon::ok(); }
};

TENON_PLUGIN(X);
