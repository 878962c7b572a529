// SPDX-License-Identifier: MIT
// expect: tenon: WithSessions needs a public `tenon::Result<Delegate> create_session(const
// Delegate&)`
#include <tenon/tenon.hpp>

class X final : public tenon::Backend<X>, public tenon::WithSessions<X> {
 public:
  static constexpr std::string_view id = "X";
  struct Delegate {};
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
  tenon::Result<Delegate> create_session(const Delegate* delegate) { return Delegate{*delegate}; }
};

TENON_PLUGIN(X);
