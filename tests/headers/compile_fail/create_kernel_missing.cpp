// SPDX-License-Identifier: MIT
// expect: tenon: WithKernels needs a public `tenon::Result<Kernel>
#include <array>
#include <tenon/tenon.hpp>

class X final : public tenon::Backend<X>, public tenon::WithKernels<X> {
 public:
  static constexpr std::string_view id = "X";
  static constexpr std::array operators{std::string_view("aten::add.out")};
  struct Kernel {
    tenon::Status run(tenon::ExecutionContext&, tenon::Args) { return tenon::ok(); }
  };
};

TENON_PLUGIN(X);
