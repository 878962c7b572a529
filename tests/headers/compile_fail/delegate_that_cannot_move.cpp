// SPDX-License-Identifier: MIT
// expect: tenon: the backend's `Delegate` must be movable
#include <tenon/tenon.hpp>

class X final : public tenon::Backend<X> {
 public:
  static constexpr std::string_view id = "X";
  struct Delegate {
    Delegate() = default;
    Delegate(const Delegate&) = delete;
  };
  tenon::Status init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) { return tenon::ok(); }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
};

TENON_PLUGIN(X);
