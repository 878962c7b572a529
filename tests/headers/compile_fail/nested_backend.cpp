// SPDX-License-Identifier: MIT
// expect: backends are final, one cannot derive from another
#include <tenon/tenon.hpp>

class Base : public tenon::Backend<Base> {
 public:
  static constexpr std::string_view id = "X";
  struct Delegate {};
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
};

class Nested final : public Base {};

TENON_PLUGIN(Nested);
