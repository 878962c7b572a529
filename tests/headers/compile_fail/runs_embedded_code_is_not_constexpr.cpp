// SPDX-License-Identifier: MIT
// expect: tenon: the backend's `runs_embedded_code` must be a static constexpr bool
#include <tenon/tenon.hpp>

class X final : public tenon::Backend<X> {
 public:
  static constexpr std::string_view id = "X";
  static inline bool runs_embedded_code = true;
  struct Delegate {};
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
};

TENON_PLUGIN(X);
