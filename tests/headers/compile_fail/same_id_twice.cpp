// SPDX-License-Identifier: MIT
// expect: tenon: two backends of this plugin have the same id
// [TN-BIN-6]
#include <tenon/tenon.hpp>

template <class Derived>
class Parts : public tenon::Backend<Derived> {
 public:
  static constexpr std::string_view id = "X";
  struct Delegate {};
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
};

class X final : public Parts<X> {};
class Y final : public Parts<Y> {};

TENON_PLUGIN(X, Y);
