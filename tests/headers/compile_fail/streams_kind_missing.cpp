// SPDX-License-Identifier: MIT
// expect: tenon: WithStreams needs a public `static constexpr const char* stream_kind
#include <tenon/tenon.hpp>

class X final : public tenon::Backend<X>, public tenon::WithStreams<X> {
 public:
  static constexpr std::string_view id = "X";
  struct Delegate {};
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
  tenon::Status set_stream(Delegate&, void*) { return tenon::ok(); }
};

TENON_PLUGIN(X);
