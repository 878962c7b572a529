// SPDX-License-Identifier: MIT
// expect: tenon: WithKernels needs a public `struct Kernel`
#include <tenon/tenon.hpp>

class X final : public tenon::Backend<X>, public tenon::WithKernels<X> {
 public:
  static constexpr std::string_view id = "X";
};

TENON_PLUGIN(X);
