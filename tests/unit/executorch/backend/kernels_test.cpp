// SPDX-License-Identifier: MIT
//
// The plugin with ExecuTorch's kernels through the C table, one operator at a time.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "tenon/abi/extensions/kernels.h"
#include "tenon/abi/private/changes.h"
#include "tenon/host.hpp"
#include "tenon/host/loader/impl/method/arena.hpp"
#include "tenon/host/loader/plugin/calls.hpp"
#include "tenon/host/loader/plugin/last_error.hpp"
#include "unit/core/test_tensor.hpp"

using namespace tenon;
using namespace tenon::test;

namespace kernels_test {

/// The plugin, opened, and what it logged.
class Kernels {
 public:
  Kernels() {
    host::HostInfo info;
    auto loaded =
        host::Plugin::load(TENON_TEST_BRIDGES "/executorch_kernels.so", host::all_layers(info));
    INFO(loaded.text());
    REQUIRE(loaded.ok());
    auto opened = (*loaded)->backend("ExecutorchKernels");
    INFO(opened.text());
    REQUIRE(opened.ok());
    backend = host::BackendRef(*std::move(opened));
    const auto found = backend->extension<tenon_kernels_v1>(TENON_EXTENSION_KERNELS);
    REQUIRE(found.has_value());
    table = *found;
  }

  host::BackendRef backend;
  tenon_kernels_v1 table{};
};

/// One operator call.
class Call {
 public:
  /// `args` has `data` and `size`.
  template <class Arguments>
  Call(const Kernels& kernels, const char* op, const Arguments& args) : kernels_(kernels) {
    const tenon_kernel_context context{sizeof context, static_cast<std::uint32_t>(args.size()), op,
                                       args.data()};
    created = status_of(kernels.table.create_kernel(kernels.backend->raw(), &context, &kernel_));
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() {
    if (created.ok()) kernels_.table.destroy_kernel(kernels_.backend->raw(), kernel_);
  }

  /// Runs it; the failure of `create_kernel` where that failed.
  Status run() {
    if (!created.ok()) return error(created.error(), created.text());
    host::Arena temp;
    const host::detail::CallContext context(kernels_.backend->host(), "forward", temp.table(),
                                            nullptr, changes);
    return status_of(kernels_.table.run_kernel(kernel_, &context));
  }

  Status created;
  tenon_changes* changes = nullptr;  ///< Of the method that the call is part of.

 private:
  [[nodiscard]] Status status_of(tenon_status status) const {
    if (status == TENON_STATUS_OK) return ok();
    return host::take_last_error(kernels_.backend->host(), status);
  }

  const Kernels& kernels_;
  tenon_kernel* kernel_ = nullptr;
};

tenon_changes& counted_by_host() {
  static tenon_changes changes{sizeof(tenon_changes), 0, 0};
  return changes;
}

void make_dynamic(TestTensor& tensor) { tensor.raw().shape_dynamism = TENON_SHAPE_DYNAMIC_BOUND; }

}  // namespace kernels_test
using namespace kernels_test;

TEST_CASE("a kernel of ExecuTorch's computes, resizes its output and runs again", "[executorch]") {
  const Kernels kernels;
  TestTensor a({2}, {1.f, 2.f});
  TestTensor b({2}, {10.f, 20.f});
  TestTensor out(ScalarType::Float, {4});
  kernels_test::make_dynamic(out);
  const TestArgs args({a.value(), b.value(), integer_value(2), out.value(), out.value()});
  Call call(kernels, "aten::add.out", args);
  for (int i = 0; i < 3; ++i) {
    const Status ran = call.run();
    INFO(ran.text());
    REQUIRE(ran.ok());
    CHECK(out.raw().dl.shape[0] == 2);
    CHECK(out.elements<float>()[1] == 42);
  }
}

TEST_CASE("operators on numbers write numbers", "[executorch]") {
  const Kernels kernels;
  TestTensor tensor(ScalarType::Float, {3, 5});
  const TestArgs size({tensor.value(), integer_value(1), integer_value(0)});
  REQUIRE(Call(kernels, "aten::sym_size.int", size).run().ok());
  CHECK(size.data()[2]->as.integer == 5);
  const TestArgs sum({integer_value(2), integer_value(3), integer_value(0)});
  REQUIRE(Call(kernels, "executorch_prim::add.Scalar", sum).run().ok());
  CHECK(sum.data()[2]->as.integer == 5);
  const TestArgs less({integer_value(2), integer_value(3), make_value(TENON_VALUE_BOOL)});
  REQUIRE(Call(kernels, "executorch_prim::lt.Scalar", less).run().ok());
  CHECK(less.data()[2]->as.boolean == 1);
}

TEST_CASE("the output of a view has the memory of its input", "[executorch]") {
  const Kernels kernels;
  TestTensor in(ScalarType::Float, {2, 3});
  TestTensor out(ScalarType::Float, {3, 2});
  out.raw().dl.data = nullptr;
  tenon_value three = integer_value(3), minus_one = integer_value(-1);
  const std::vector<tenon_value*> sizes{&three, &minus_one};
  const TestArgs args(
      {in.value(), span_value<tenon_value*>(TENON_VALUE_INT_LIST, sizes), out.value()});
  Call call(kernels, "executorch_prim::et_view.default", args);
  for (int i = 0; i < 2; ++i) {
    const Status ran = call.run();
    INFO(ran.text());
    REQUIRE(ran.ok());
    CHECK(out.raw().dl.data == in.raw().dl.data);
  }
}

TEST_CASE("an operator that writes its own input runs", "[executorch]") {
  const Kernels kernels;
  TestTensor self(ScalarType::Float, {2});
  TestTensor from({2}, {3.f, 4.f});
  const TestArgs args({self.value(), from.value(), make_value(TENON_VALUE_BOOL), self.value()});
  Call call(kernels, "aten::copy_", args);
  for (int i = 0; i < 2; ++i) {
    const Status ran = call.run();
    INFO(ran.text());
    REQUIRE(ran.ok());
    CHECK(self.elements<float>() == std::vector<float>{3, 4});
  }
}

TEST_CASE("a kernel is not run with a tensor that has no data", "[executorch]") {
  const Kernels kernels;
  for (const int which : {0, 1, 2}) {
    TestTensor a(ScalarType::Float, {2}), b(ScalarType::Float, {2}), out(ScalarType::Float, {2});
    TestTensor* const tensors[] = {&a, &b, &out};
    tensors[which]->raw().dl.data = nullptr;
    const TestArgs args({a.value(), b.value(), integer_value(1), out.value(), out.value()});
    Call call(kernels, "aten::add.out", args);
    REQUIRE(call.created.ok());
    const Status ran = call.run();
    CHECK(ran.error() == Error::InvalidState);
    CHECK_THAT(std::string(ran.text()), ContainsSubstring("the tensor has no data"));
  }
}

TEST_CASE("a kernel is not run with a constant of the program as its output", "[executorch]") {
  const Kernels kernels;
  TestTensor constant({2}, {1.f, 2.f});
  constant.raw().flags |= TENON_TENSOR_CONSTANT;
  TestTensor out(ScalarType::Float, {2});
  const auto expect_refused = [&](const char* op, const TestArgs& args) {
    INFO(op);
    Call call(kernels, op, args);
    REQUIRE(call.created.ok());
    const Status ran = call.run();
    CHECK(ran.error() == Error::InvalidProgram);
    CHECK_THAT(std::string(ran.text()), ContainsSubstring("an output is a constant"));
  };
  const auto add = [&](TestTensor& written, TestTensor& returned) {
    return TestArgs(
        {constant.value(), constant.value(), integer_value(1), written.value(), returned.value()});
  };
  expect_refused("aten::add.out", add(constant, constant));
  expect_refused("aten::add.out", add(constant, out));
  expect_refused("aten::add.out", add(out, constant));
  expect_refused("aten::copy_", TestArgs({constant.value(), out.value(),
                                          make_value(TENON_VALUE_BOOL), out.value()}));
  const TestArgs right = add(out, out);
  Call call(kernels, "aten::add.out", right);
  CHECK(call.run().ok());
  CHECK(constant.elements<float>() == std::vector<float>{1, 2});
}

TEST_CASE("a constant is refused as an output also when another call has read it", "[executorch]") {
  const Kernels kernels;
  TestTensor constant({2}, {1.f, 2.f});
  constant.raw().flags |= TENON_TENSOR_CONSTANT;
  TestTensor out(ScalarType::Float, {2});
  tenon_value read = constant.value(), one = integer_value(1), written = out.value();
  const auto args = [&](tenon_value& to) {
    return std::vector<tenon_value*>{&read, &read, &one, &to, &to};
  };
  for (tenon_changes* changes : {static_cast<tenon_changes*>(nullptr), &counted_by_host()}) {
    const std::vector<tenon_value*> good = args(written), bad = args(read);
    Call reading(kernels, "aten::add.out", good);
    Call writing(kernels, "aten::add.out", bad);
    reading.changes = writing.changes = changes;
    REQUIRE(reading.run().ok());
    CHECK(writing.run().error() == Error::InvalidProgram);
    REQUIRE(reading.run().ok());
    CHECK(constant.elements<float>() == std::vector<float>{1, 2});
  }
}

TEST_CASE("a kernel counts what it changes, and sees what the host has counted", "[executorch]") {
  const Kernels kernels;
  TestTensor a({2}, {1.f, 2.f}), b({2}, {10.f, 20.f}), more({4}, {1.f, 1.f, 1.f, 1.f});
  TestTensor out(ScalarType::Float, {4});
  kernels_test::make_dynamic(out);
  tenon_value left = a.value(), right = b.value(), one = integer_value(1), sum = out.value();
  const std::vector<tenon_value*> args{&left, &right, &one, &sum, &sum};
  const std::vector<tenon_value*> others{&sum, &right, &one, &sum, &sum};
  Call add(kernels, "aten::add.out", args);
  Call add_again(kernels, "aten::add.out", others);
  tenon_changes changes{sizeof(tenon_changes), 0, 5};
  add.changes = add_again.changes = &changes;
  REQUIRE(add.run().ok());
  CHECK(changes.counted == 1);
  CHECK(changes.count == 6);  // The output became smaller.
  for (int i = 0; i < 2; ++i) {
    changes.counted = 0;
    REQUIRE(add.run().ok());
    REQUIRE(add_again.run().ok());
    CHECK(changes.counted == 1);
    CHECK(changes.count == 6);
    CHECK(out.elements<float>()[1] == 42);
  }
  // The host has moved other tensors to the values, and says so.
  left = right = more.value();
  ++changes.count;
  REQUIRE(add.run().ok());
  CHECK(changes.count == 8);
  CHECK(out.raw().dl.shape[0] == 4);
  REQUIRE(add_again.run().ok());
  CHECK(out.elements<float>() == std::vector<float>{3, 3, 3, 3});
  // A call that failed has not counted.
  TestTensor wrong(ScalarType::Float, {3});
  left = wrong.value();
  ++changes.count;
  changes.counted = 0;
  REQUIRE_FALSE(add.run().ok());
  CHECK(changes.counted == 0);
  left = more.value();
  ++changes.count;
  REQUIRE(add.run().ok());
  CHECK(out.elements<float>() == std::vector<float>{2, 2, 2, 2});
}

TEST_CASE("operators on numbers count the numbers that they change", "[executorch]") {
  const Kernels kernels;
  tenon_value two = integer_value(2), three = integer_value(3), sum = integer_value(0);
  const std::vector<tenon_value*> args{&two, &three, &sum}, next{&sum, &three, &sum};
  Call add(kernels, "executorch_prim::add.Scalar", args);
  Call add_next(kernels, "executorch_prim::add.Scalar", next);
  tenon_changes changes{sizeof(tenon_changes), 0, 0};
  add.changes = add_next.changes = &changes;
  for (int i = 0; i < 3; ++i) {
    REQUIRE(add.run().ok());
    CHECK(sum.as.integer == 5);
    REQUIRE(add_next.run().ok());
    CHECK(sum.as.integer == 8);
  }
  CHECK(changes.count == 6);
}

TEST_CASE("an operator that no kernel is for is OperatorMissing and named",
          "[executorch][TN-KRN-2]") {
  const Kernels kernels;
  TestTensor tensor(ScalarType::Float, {2});
  const TestArgs args({tensor.value(), tensor.value()});
  const Call call(kernels, "acme::unheard_of.out", args);
  CHECK(call.created.error() == Error::OperatorMissing);
  CHECK_THAT(std::string(call.created.text()), ContainsSubstring("acme::unheard_of.out"));
}

TEST_CASE("arguments of the wrong number or kind are refused, and the process continues",
          "[executorch][TN-KRN-3]") {
  const Kernels kernels;
  TestTensor a(ScalarType::Float, {2});
  const auto refuse = [&](const char* op, std::vector<tenon_value> values) {
    const TestArgs args(std::move(values));
    const Status refused = Call(kernels, op, args).run();
    INFO(op << ": " << refused.text());
    CHECK((refused.error() == Error::InvalidArgument || refused.error() == Error::InvalidType));
    CHECK_THAT(std::string(refused.text()), ContainsSubstring(op));
  };
  refuse("aten::add.out", {});
  refuse("aten::add.out", {a.value(), a.value(), integer_value(1)});
  refuse("aten::add.out", {integer_value(1), a.value(), integer_value(1), a.value(), a.value()});
  refuse("aten::add.out",
         {a.value(), a.value(), make_value(TENON_VALUE_NONE), a.value(), a.value()});
  refuse("aten::relu.out", {a.value(), integer_value(1), a.value()});
  refuse("executorch_prim::add.Scalar", {a.value(), integer_value(1), integer_value(0)});
  refuse("aten::sym_size.int", {a.value(), integer_value(7), integer_value(0)});
}

TEST_CASE("the log of a failed kernel is in the error", "[executorch][TN-KRN-4]") {
  const Kernels kernels;
  TestTensor a({2, 2}, {1.f, 0.f, 0.f, 1.f});
  TestTensor b(ScalarType::Float, {3, 2});
  TestTensor fits({2, 2}, {5.f, 6.f, 7.f, 8.f});
  TestTensor out(ScalarType::Float, {2, 2});
  const TestArgs args({a.value(), b.value(), out.value(), out.value()});
  Call call(kernels, "aten::mm.out", args);
  const Status refused = call.run();
  REQUIRE_FALSE(refused.ok());
  CHECK_THAT(std::string(refused.text()), ContainsSubstring("aten::mm.out: "));
  CHECK_THAT(std::string(refused.text()), !ContainsSubstring("no reason"));
  // The next run with good arguments succeeds.
  *args.data()[1] = fits.value();
  const Status ran = call.run();
  INFO(ran.text());
  REQUIRE(ran.ok());
  CHECK(out.elements<float>() == std::vector<float>{5, 6, 7, 8});
}
