// SPDX-License-Identifier: MIT
// expect: tenon: `on_event_complete` of WithEvents is a public
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
  tenon::Status start(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
  tenon::Status record_event(Delegate&, Event&) { return tenon::ok(); }
  tenon::Status wait_event(Event&, std::uint64_t) { return tenon::ok(); }
  tenon::Result<bool> query_event(Event&) { return true; }
  tenon::Status wait_on_event(Delegate&, Event&) { return tenon::ok(); }
  tenon::Status on_event_complete(Event&, void (*)(void*)) { return tenon::ok(); }
};

TENON_PLUGIN(X);
