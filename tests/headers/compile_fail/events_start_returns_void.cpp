// SPDX-License-Identifier: MIT
// expect: start(tenon::ExecutionContext&, Delegate&, tenon::Args)
#include <tenon/tenon.hpp>

class X final : public tenon::Backend<X>, public tenon::WithEvents<X> {
 public:
  static constexpr std::string_view id = "X";
  struct Delegate {};
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
  struct Event {};
  tenon::Result<Event> create_event() { return Event{}; }
  void start(tenon::ExecutionContext&, Delegate&, tenon::Args) {}
};

TENON_PLUGIN(X);
