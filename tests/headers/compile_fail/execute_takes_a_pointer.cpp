// SPDX-License-Identifier: MIT
// expect: tenon: the backend has no public `tenon::Status execute(tenon::ExecutionContext&,
// Delegate&, tenon::Args)`
#include <tenon/tenon.hpp>

class X final : public tenon::Backend<X>, public tenon::WithSessions<X> {
 public:
  static constexpr std::string_view id = "X";
  struct Delegate {
    int calls = 0;
  };
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate* delegate, tenon::Args) {
    ++delegate->calls;
    return tenon::ok();
  }
  tenon::Result<Delegate> create_session(const Delegate* delegate) { return Delegate{*delegate}; }
};

TENON_PLUGIN(X);
