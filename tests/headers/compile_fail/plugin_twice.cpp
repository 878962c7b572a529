// SPDX-License-Identifier: MIT
// expect: tenon_plugin_v1
#include <tenon/tenon.hpp>

class Parts {
 public:
  struct Delegate {};
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
};

class X final : public tenon::Backend<X>, public Parts {
 public:
  static constexpr std::string_view id = "X";
};
class Y final : public tenon::Backend<Y>, public Parts {
 public:
  static constexpr std::string_view id = "Y";
};

TENON_PLUGIN(X);
TENON_PLUGIN(Y);
