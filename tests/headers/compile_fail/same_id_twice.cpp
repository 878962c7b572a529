// SPDX-License-Identifier: MIT
// expect: tenon: two backends of this plugin have the same id
// [TN-BIN-6]
#include <tenon/tenon.hpp>

class Parts {
 public:
  static constexpr std::string_view id = "X";
  struct Delegate {};
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
};

class X final : public tenon::Backend<X>, public Parts {};
class Y final : public tenon::Backend<Y>, public Parts {};

TENON_PLUGIN(X, Y);
