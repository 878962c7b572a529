// SPDX-License-Identifier: MIT
// expect: must derive directly from tenon::Backend<itself> and BackendDetails<itself>
#include <tenon/aot.hpp>
#include <tenon/tenon.hpp>

template <class Derived>
class Parts : public tenon::aot::BackendDetails<Derived> {
 public:
  struct Delegate {};
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
  static tenon::Result<tenon::aot::PreprocessResult> preprocess(const tenon::aot::EdgeProgram&,
                                                                tenon::CompileSpecs) {
    return tenon::aot::PreprocessResult{};
  }
};

class X final : public tenon::Backend<X>, public Parts<X> {
 public:
  static constexpr std::string_view id = "X";
};

TENON_PLUGIN(X);
