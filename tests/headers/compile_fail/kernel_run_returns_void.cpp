// SPDX-License-Identifier: MIT
// expect: tenon: WithKernels needs a public `struct Kernel`
#include <array>
#include <tenon/tenon.hpp>

class X final : public tenon::Backend<X>, public tenon::WithKernels<X> {
 public:
  static constexpr std::string_view id = "X";
  static constexpr std::array operators{std::string_view("aten::add.out")};
  struct Kernel {
    void run(tenon::ExecutionContext&, tenon::Args) {}
  };
  tenon::Result<Kernel> create_kernel(std::string_view, tenon::Args) { return Kernel{}; }
};

TENON_PLUGIN(X);
