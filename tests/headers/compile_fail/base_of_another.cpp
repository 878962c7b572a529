// SPDX-License-Identifier: MIT
// expect: tenon: a backend derives publicly and directly from tenon::Backend<itself>
#include <tenon/tenon.hpp>

class Other;

class X final : public tenon::Backend<Other> {
 public:
  static constexpr std::string_view id = "X";
  struct Delegate {};
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
};

TENON_PLUGIN(X);
