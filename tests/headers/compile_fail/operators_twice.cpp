// SPDX-License-Identifier: MIT
// expect: tenon: the backend's `operators` must be
#include <array>
#include <tenon/tenon.hpp>

class X final : public tenon::Backend<X>, public tenon::WithKernels<X> {
 public:
  static constexpr std::string_view id = "X";
  static constexpr std::array<std::string_view, 2> operators{"aten::add.out", "aten::add.out"};
  struct Kernel {
    tenon::Status run(tenon::ExecutionContext&, tenon::Args) { return tenon::ok(); }
  };
  tenon::Result<Kernel> create_kernel(std::string_view, tenon::Args) { return Kernel{}; }
};

TENON_PLUGIN(X);
