// SPDX-License-Identifier: MIT
// expect: tenon: WithKernels needs a public `static constexpr std::array operators`
#include <tenon/tenon.hpp>

class X final : public tenon::Backend<X>, public tenon::WithKernels<X> {
 public:
  static constexpr std::string_view id = "X";
  struct Kernel {
    tenon::Status run(tenon::ExecutionContext&, tenon::Args) { return tenon::ok(); }
  };
  tenon::Result<Kernel> create_kernel(std::string_view, tenon::Args) { return Kernel{}; }
};

TENON_PLUGIN(X);
