// SPDX-License-Identifier: MIT
//
// Kernels that change their arguments in all ways that the boundary permits, and some that it does
// not. All are for Float:
//
//     test::tail(x, n, out, out)       out is a view of x without the first n elements
//     test::outside(x, out)            out is a view of other bytes
//     test::increase(x, x)             x + 1, in place
//     test::count(int, bool, double)   n + 1, not b, d / 2
//     test::grow(x, out, out)          out has twice the size of x, and its elements twice
//     test::move(x, y)                 x is a view of y
//     test::fail(x)                    fails
//     test::die(x)                     ends the process
#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <tenon/tenon.hpp>

namespace {

using tenon::Args;
using tenon::Error;
using tenon::Result;
using tenon::Status;

float elsewhere[4];

class ChangingKernels final : public tenon::Backend<ChangingKernels>,
                              public tenon::WithKernels<ChangingKernels> {
 public:
  static constexpr std::string_view id = "ChangingKernels";
  static constexpr std::array<std::string_view, 8> operators{
      "test::tail", "test::outside", "test::increase", "test::count",
      "test::grow", "test::move",    "test::fail",     "test::die"};

  struct Kernel {
    std::string op;

    Status run(tenon::ExecutionContext&, Args args) {
      if (op == "test::tail") return tail(args);
      if (op == "test::outside") {
        args.raw()[1]->as.tensor->dl.data = elsewhere;
        return tenon::ok();
      }
      if (op == "test::increase") {
        if (args.raw()[0] != args.raw()[1]) return tenon::error(Error::Internal, "two values");
        TENON_TRY(const auto x, args.tensor<float>(1));
        for (float& each : x) each += 1;
        return tenon::ok();
      }
      if (op == "test::count") {
        args.raw()[0]->as.integer += 1;
        args.raw()[1]->as.boolean = args.raw()[1]->as.boolean == 0;
        args.raw()[2]->as.real /= 2;
        return tenon::ok();
      }
      if (op == "test::grow") return grow(args);
      if (op == "test::move") {
        args.raw()[0]->as.tensor->dl.data = args.raw()[1]->as.tensor->dl.data;
        return tenon::ok();
      }
      if (op == "test::die") std::abort();
      return tenon::error(Error::InvalidArgument, "as it was asked to");
    }

   private:
    static Status tail(const Args& args) {
      TENON_TRY(const auto x, args.tensor<float>(0));
      TENON_TRY(const auto n, args.integer(1));
      const std::int64_t size = static_cast<std::int64_t>(x.size()) - n;
      TENON_RETURN_IF_ERROR(args.resize(2, {&size, 1}));
      args.raw()[2]->as.tensor->dl.data = x.data() + n;
      return tenon::ok();
    }
    static Status grow(const Args& args) {
      TENON_TRY(const auto x, args.tensor<const float>(0));
      const auto size = static_cast<std::int64_t>(2 * x.size());
      TENON_RETURN_IF_ERROR(args.resize(1, {&size, 1}));
      TENON_TRY(const auto out, args.tensor<float>(1));
      std::copy(x.begin(), x.end(), out.begin());
      std::copy(x.begin(), x.end(), out.begin() + x.size());
      return tenon::ok();
    }
  };

  Result<Kernel> create_kernel(std::string_view op, Args args) {
    if (args.size() == 0) return tenon::error(Error::InvalidArgument, op, ": no arguments");
    return Kernel{std::string(op)};
  }
};

}  // namespace

TENON_PLUGIN(ChangingKernels);
