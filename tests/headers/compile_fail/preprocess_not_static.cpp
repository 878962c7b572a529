// SPDX-License-Identifier: MIT
// expect: tenon: the backend's `preprocess` must be static or const
#include <tenon/aot.hpp>
#include <tenon/tenon.hpp>

class X final : public tenon::Backend<X>, public tenon::aot::BackendDetails<X> {
 public:
  static constexpr std::string_view id = "X";
  struct Delegate {};
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
  tenon::Result<tenon::aot::PreprocessResult> preprocess(const tenon::aot::EdgeProgram&,
                                                         tenon::CompileSpecs) {
    return tenon::aot::PreprocessResult{};
  }
};

TENON_PLUGIN(X);
