// SPDX-License-Identifier: MIT
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tenon/core/args.hpp"
#include "unit/core/test_tensor.hpp"

using namespace tenon;
using namespace tenon::test;

namespace {

/// A host whose `resize_tensor` records its arguments and returns a given status.
struct ResizeHost : tenon_host {
  tenon_status answer = TENON_STATUS_OK;
  std::vector<std::int64_t> asked;
  int calls = 0;

  ResizeHost() : tenon_host{} {
    struct_size = sizeof(tenon_host);
    resize_tensor = [](const tenon_host* host, tenon_tensor* tensor, const std::int64_t* sizes,
                       std::uint32_t rank) -> tenon_status {
      auto& self = const_cast<ResizeHost&>(static_cast<const ResizeHost&>(*host));
      ++self.calls;
      self.asked.assign(sizes, sizes + rank);
      if (self.answer == TENON_STATUS_OK) std::copy(sizes, sizes + rank, tensor->dl.shape);
      return self.answer;
    };
  }
};

/// One value of every kind, at the index that is its kind.
struct EveryKind {
  TestTensor tensor{{2}, {1.0f, 2.0f}};
  std::array<double, 2> reals{0.5, -0.5};
  std::array<std::uint8_t, 3> flags{1, 0, 1};
  std::vector<tenon_value> elements{integer_value(10), integer_value(20), tensor.value(),
                                    make_value(TENON_VALUE_NONE)};
  std::array<tenon_value*, 2> integers{&elements[0], &elements[1]};
  std::array<tenon_value*, 1> tensors{&elements[2]};
  std::array<tenon_value*, 2> optionals{&elements[3], &elements[2]};
  TestArgs args{make_values()};

  std::vector<tenon_value> make_values() {
    std::vector<tenon_value> values(12);
    values[TENON_VALUE_NONE] = make_value(TENON_VALUE_NONE);
    values[TENON_VALUE_TENSOR] = tensor.value();
    values[TENON_VALUE_STRING] = span_value<char>(TENON_VALUE_STRING, std::string_view("same as"));
    values[TENON_VALUE_STRING].as.span.size = 4;
    values[TENON_VALUE_DOUBLE] = make_value(TENON_VALUE_DOUBLE);
    values[TENON_VALUE_DOUBLE].as.real = 2.25;
    values[TENON_VALUE_INT] = integer_value(-3);
    values[TENON_VALUE_BOOL] = make_value(TENON_VALUE_BOOL);
    values[TENON_VALUE_BOOL].as.boolean = 1;
    values[TENON_VALUE_BOOL_LIST] = span_value<std::uint8_t>(TENON_VALUE_BOOL_LIST, flags);
    values[TENON_VALUE_DOUBLE_LIST] = span_value<double>(TENON_VALUE_DOUBLE_LIST, reals);
    values[TENON_VALUE_INT_LIST] = span_value<tenon_value*>(TENON_VALUE_INT_LIST, integers);
    values[TENON_VALUE_TENSOR_LIST] = span_value<tenon_value*>(TENON_VALUE_TENSOR_LIST, tensors);
    values[TENON_VALUE_SCALAR_LIST] = make_value(TENON_VALUE_SCALAR_LIST);
    values[TENON_VALUE_OPTIONAL_TENSOR_LIST] =
        span_value<tenon_value*>(TENON_VALUE_OPTIONAL_TENSOR_LIST, optionals);
    return values;
  }
};

/// Calls `access(index)` for every kind but `right` and checks that it names both kinds.
template <class Access>
void check_refuses_other_kinds(const Args& args, std::vector<std::uint32_t> right,
                               std::string_view expected, Access access) {
  for (std::uint32_t kind = 0; kind < 12; ++kind) {
    if (std::ranges::find(right, kind) != right.end()) continue;
    const auto result = access(kind);
    INFO(kind);
    CHECK(result.error() == Error::InvalidArgument);
    CHECK(result.text() ==
          concat("argument ", kind, ": expected ", expected, ", found ", value_kind_name(kind)));
  }
  const auto beyond = access(args.size());
  CHECK(beyond.error() == Error::InvalidArgument);
  CHECK(beyond.text() == concat("argument 12: expected ", expected, ", found only 12 arguments"));
}

}  // namespace

TEST_CASE("kinds have the names of ExecuTorch's tags", "[core]") {
  constexpr std::string_view names[] = {
      "None",     "Tensor",     "String",  "Double",     "Int",        "Bool",
      "ListBool", "ListDouble", "ListInt", "ListTensor", "ListScalar", "ListOptionalTensor"};
  for (std::uint32_t kind = 0; kind < 12; ++kind) CHECK(value_kind_name(kind) == names[kind]);
  CHECK(value_kind_name(12) == "?");
}

TEST_CASE("every kind of argument is read by its accessor", "[core]") {
  EveryKind values;
  const Args args = values.args.view();
  CHECK(args.size() == 12);
  CHECK(args.kind(TENON_VALUE_BOOL) == TENON_VALUE_BOOL);
  CHECK(args.kind(12) == TENON_VALUE_NONE);

  CHECK(*args.integer(TENON_VALUE_INT) == -3);
  CHECK(*args.real(TENON_VALUE_DOUBLE) == 2.25);
  CHECK(*args.boolean(TENON_VALUE_BOOL));
  CHECK(*args.string(TENON_VALUE_STRING) == "same");
  const auto reals = args.double_list(TENON_VALUE_DOUBLE_LIST);
  REQUIRE(reals.ok());
  CHECK(std::ranges::equal(*reals, values.reals));
  const auto flags = args.bool_list(TENON_VALUE_BOOL_LIST);
  REQUIRE(flags.ok());
  CHECK(std::ranges::equal(*flags, values.flags));
  CHECK(args.tensor(TENON_VALUE_TENSOR)->sizes()[0] == 2);
  CHECK((*args.tensor<const float>(TENON_VALUE_TENSOR))[1] == 2.0f);
}

TEST_CASE("lists of values are argument lists of their own", "[core]") {
  EveryKind values;
  const Args args = values.args.view();
  const auto integers = args.list(TENON_VALUE_INT_LIST);
  REQUIRE(integers.ok());
  REQUIRE(integers->size() == 2);
  CHECK(*integers->integer(1) == 20);

  // A boxed list sees what an instruction wrote to an element.
  values.elements[1].as.integer = 21;
  CHECK(*integers->integer(1) == 21);

  const auto tensors = args.list(TENON_VALUE_TENSOR_LIST);
  REQUIRE(tensors.ok());
  CHECK(tensors->tensor<float>(0).ok());

  const auto optionals = args.list(TENON_VALUE_OPTIONAL_TENSOR_LIST);
  REQUIRE(optionals.ok());
  CHECK(optionals->kind(0) == TENON_VALUE_NONE);
  CHECK(optionals->tensor(0).error() == Error::InvalidArgument);
  CHECK(optionals->tensor(1).ok());
}

TEST_CASE("each accessor refuses every other kind and an index beyond the end",
          "[core][TN-EXE-5]") {
  EveryKind values;
  const Args args = values.args.view();
  check_refuses_other_kinds(args, {TENON_VALUE_TENSOR}, "Tensor",
                            [&](std::size_t i) { return args.tensor(i); });
  check_refuses_other_kinds(args, {TENON_VALUE_TENSOR}, "Tensor",
                            [&](std::size_t i) { return args.tensor<float>(i); });
  check_refuses_other_kinds(args, {TENON_VALUE_TENSOR}, "Tensor", [&](std::size_t i) {
    return args.tensor(i, ScalarType::Float, Access::Read);
  });
  check_refuses_other_kinds(args, {TENON_VALUE_TENSOR}, "Tensor",
                            [&](std::size_t i) { return args.resize(i, {}); });
  check_refuses_other_kinds(args, {TENON_VALUE_INT}, "Int",
                            [&](std::size_t i) { return args.integer(i); });
  check_refuses_other_kinds(args, {TENON_VALUE_DOUBLE}, "Double",
                            [&](std::size_t i) { return args.real(i); });
  check_refuses_other_kinds(args, {TENON_VALUE_BOOL}, "Bool",
                            [&](std::size_t i) { return args.boolean(i); });
  check_refuses_other_kinds(args, {TENON_VALUE_STRING}, "String",
                            [&](std::size_t i) { return args.string(i); });
  check_refuses_other_kinds(args, {TENON_VALUE_DOUBLE_LIST}, "ListDouble",
                            [&](std::size_t i) { return args.double_list(i); });
  check_refuses_other_kinds(args, {TENON_VALUE_BOOL_LIST}, "ListBool",
                            [&](std::size_t i) { return args.bool_list(i); });
  check_refuses_other_kinds(
      args, {TENON_VALUE_INT_LIST, TENON_VALUE_TENSOR_LIST, TENON_VALUE_OPTIONAL_TENSOR_LIST},
      "ListInt", [&](std::size_t i) { return args.list(i); });
}

TEST_CASE("the number of arguments is checked exactly", "[core][TN-EXE-5]") {
  const TestArgs two({integer_value(1), integer_value(2)});
  CHECK(two.view().expect(2).ok());
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{3}}) {
    const Status status = two.view().expect(count);
    CHECK(status.error() == Error::InvalidArgument);
    CHECK(status.text() == concat("number of arguments: expected ", count, ", found 2"));
  }
  CHECK(Args(nullptr, nullptr, 0).expect(0).ok());
}

TEST_CASE("a tensor of another rank is refused with its sizes", "[core][TN-EXE-5]") {
  TestTensor tensor(ScalarType::Float, {2, 3});
  const TestArgs args({integer_value(1), tensor.value()});
  CHECK(args.view().expect_rank(1, 2).ok());
  CHECK(describe(args.view().expect_rank(1, 3)) ==
        "InvalidArgument (0x12): argument 1: expected rank 3, found [2, 3]");
  CHECK(args.view().expect_rank(0, 2).text() == "argument 0: expected Tensor, found Int");
  CHECK(args.view().expect_rank(2, 2).text() ==
        "argument 2: expected Tensor, found only 2 arguments");
}

TEST_CASE("a tensor of other sizes or another order in memory is refused with both layouts",
          "[core][TN-EXE-5]") {
  TestTensor like(ScalarType::Float, {2, 3});
  TestTensor same(ScalarType::Float, {2, 3});
  TestTensor larger(ScalarType::Float, {2, 4});
  TestTensor turned(ScalarType::Float, {2, 3}, {1, 0});
  const TestArgs args({same.value(), larger.value(), turned.value(), integer_value(1)});
  const TensorView view(like.raw());
  CHECK(args.view().expect_layout(0, view).ok());
  CHECK(describe(args.view().expect_layout(1, view)) ==
        "InvalidArgument (0x12): argument 1: expected [2, 3], found [2, 4]");
  CHECK(args.view().expect_layout(2, view).text() ==
        "argument 2: expected [2, 3], found [2, 3] in dim order [1, 0]");
  CHECK(args.view().expect_layout(3, view).text() == "argument 3: expected Tensor, found Int");
  CHECK(args.view().expect_layout(4, view).text() ==
        "argument 4: expected Tensor, found only 4 arguments");
}

TEST_CASE("a tensor of another dtype is InvalidType", "[core][TN-EXE-5]") {
  TestTensor tensor({2}, {std::int32_t{1}, std::int32_t{2}});
  const TestArgs args({tensor.value()});
  const auto result = args.view().tensor<const float>(0);
  CHECK(result.error() == Error::InvalidType);
  CHECK(result.text() == "argument 0: expected dtype Float, found Int");
  CHECK(args.view().tensor<const std::int32_t>(0).ok());

  tensor.raw().scalar_type = 77;
  CHECK(args.view().tensor<const float>(0).text() == "argument 0: expected dtype Float, found ?");
}

TEST_CASE("each accessor returns InvalidType for a tensor with elements of several lanes",
          "[core][TN-EXE-5]") {
  TestTensor tensor({2}, {1.0f, 2.0f});
  const TestArgs args({tensor.value()});
  const TensorView view(tensor.raw());
  tensor.raw().dl.dtype.lanes = 2;
  const std::string expected = "argument 0: expected elements of 1 lane, found 2";
  CHECK(args.view().tensor(0).text() == expected);
  CHECK(args.view().tensor<const float>(0).text() == expected);
  CHECK(args.view().tensor(0, ScalarType::Float, Access::Read).text() == expected);
  CHECK(args.view().expect_rank(0, 1).text() == expected);
  CHECK(args.view().expect_layout(0, view).text() == expected);
  CHECK(args.view().resize(0, view.sizes()).text() == expected);
  CHECK(args.view().tensor(0).error() == Error::InvalidType);
  tensor.raw().dl.dtype.lanes = 1;
  CHECK(args.view().tensor<const float>(0).ok());
}

TEST_CASE("a tensor on a device is not read as CPU memory", "[core][TN-EXE-5]") {
  TestTensor tensor({2}, {1.0f, 2.0f});
  tensor.raw().dl.device = {TENON_DL_CUDA, 1};
  const TestArgs args({tensor.value()});
  const auto result = args.view().tensor<const float>(0);
  CHECK(result.error() == Error::NotSupported);
  CHECK(result.text() == "argument 0: expected CPU memory, found DLPack device type 2");
  REQUIRE(args.view().tensor(0).ok());
  CHECK(args.view().tensor(0)->device().device_id == 1);
}

TEST_CASE("a tensor that was not set is refused, one without bytes is not", "[core][TN-EXE-5]") {
  TestTensor tensor({2}, {1.0f, 2.0f});
  tensor.raw().dl.data = nullptr;
  const TestArgs args({tensor.value()});
  const auto result = args.view().tensor<const float>(0);
  CHECK(result.error() == Error::InvalidArgument);
  CHECK(result.text() == "argument 0: expected 8 bytes of data, found none");

  TestTensor empty(ScalarType::Float, {0, 3});
  const TestArgs none({empty.value()});
  const auto elements = none.view().tensor<float>(0);
  REQUIRE(elements.ok());
  CHECK(elements->size() == 0);
}

TEST_CASE("a constant can be read and not written", "[core][TN-TEN-1]") {
  TestTensor tensor({2}, {1.0f, 2.0f});
  tensor.raw().flags = TENON_TENSOR_CONSTANT;
  const TestArgs args({tensor.value()});
  CHECK(args.view().tensor<const float>(0).ok());
  const auto result = args.view().tensor<float>(0);
  CHECK(result.error() == Error::NotSupported);
  CHECK_THAT(std::string(result.text()), ContainsSubstring("argument 0: ") &&
                                             ContainsSubstring("found a constant of the program"));
}

TEST_CASE("a dtype of run time is compared, and the bytes are the tensor's", "[core]") {
  TestTensor tensor({2}, {std::int32_t{1}, std::int32_t{2}});
  tensor.raw().dl.byte_offset = 4;
  const TestArgs args({tensor.value()});
  const auto found = args.view().tensor(0, ScalarType::Int, Access::Write);
  REQUIRE(found.ok());
  CHECK(found->sizes()[0] == 2);
  const std::int32_t written = 7;
  std::memcpy(found->data(), &written, sizeof written);
  CHECK(tensor.elements<std::int32_t>() == std::vector<std::int32_t>{1, 7});
}

TEST_CASE("an argument of a dtype of run time is refused for one reason at a time",
          "[core][TN-EXE-5]") {
  TestTensor tensor({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f}, {1, 0});
  const TestArgs args({integer_value(1), tensor.value()});
  const auto refusal = [&](ScalarType dtype, Access access, Layout layout = Layout::Contiguous) {
    return describe(args.view().tensor(1, dtype, access, layout).status());
  };
  const auto reads = [&] { return refusal(ScalarType::Float, Access::Read); };
  CHECK(describe(args.view().tensor(0, ScalarType::Float, Access::Read).status()) ==
        "InvalidArgument (0x12): argument 0: expected Tensor, found Int");
  CHECK(describe(args.view().tensor(2, ScalarType::Float, Access::Read).status()) ==
        "InvalidArgument (0x12): argument 2: expected Tensor, found only 2 arguments");
  CHECK(refusal(ScalarType::Half, Access::Read) ==
        "InvalidType (0x13): argument 1: expected dtype Half, found Float");
  CHECK(reads() ==
        "NotSupported (0x10): argument 1: expected dimensions in memory in their own order, found "
        "dim order [1, 0]");
  CHECK(refusal(ScalarType::Float, Access::Write, Layout::Any) == "Ok");

  tensor.raw().flags = TENON_TENSOR_CONSTANT;
  CHECK(refusal(ScalarType::Float, Access::Read, Layout::Any) == "Ok");
  CHECK(refusal(ScalarType::Float, Access::Write, Layout::Any) ==
        "NotSupported (0x10): argument 1: expected a tensor that may be written, found a constant "
        "of the program");
  tensor.raw().dl.data = nullptr;
  CHECK(reads() == "InvalidArgument (0x12): argument 1: expected 16 bytes of data, found none");
  tensor.raw().dl.device = {TENON_DL_CUDA, 0};
  CHECK(reads() ==
        "NotSupported (0x10): argument 1: expected CPU memory, found DLPack device type 2");
}

TEST_CASE("a tensor of a dtype of run time without elements needs no address", "[core]") {
  TestTensor empty(ScalarType::BFloat16, {0, 3});
  const TestArgs args({empty.value()});
  const auto found = args.view().tensor(0, ScalarType::BFloat16, Access::Write);
  REQUIRE(found.ok());
  CHECK(found->data() == nullptr);
  CHECK(found->nbytes() == 0);
}

TEST_CASE("a resize calls the host", "[core][TN-TEN-2]") {
  TestTensor tensor(ScalarType::Float, {4, 2});
  tensor.raw().shape_dynamism = TENON_SHAPE_DYNAMIC_BOUND;
  const TestArgs args({tensor.value()});
  ResizeHost host;
  const std::int64_t smaller[] = {3, 2};
  CHECK(args.view(&host).resize(0, smaller).ok());
  CHECK(host.calls == 1);
  CHECK(host.asked == std::vector<std::int64_t>{3, 2});
  CHECK(TensorView(tensor.raw()).sizes()[0] == 3);
}

TEST_CASE("a resize to the same sizes does not call the host", "[core]") {
  TestTensor tensor(ScalarType::Float, {4, 2});
  const TestArgs args({tensor.value()});
  ResizeHost host;
  const std::int64_t same[] = {4, 2};
  CHECK(args.view(&host).resize(0, same).ok());
  CHECK(host.calls == 0);
}

TEST_CASE("a resize that the host refuses names sizes and bounds", "[core]") {
  TestTensor tensor(ScalarType::Float, {4, 2});
  const TestArgs args({integer_value(0), tensor.value()});
  ResizeHost host;
  host.answer = TENON_STATUS_NOT_SUPPORTED;
  const std::int64_t larger[] = {9, 2};
  const Status refused = args.view(&host).resize(1, larger);
  CHECK(refused.error() == Error::NotSupported);
  CHECK(refused.text() == "argument 1: cannot resize [4, 2] to [9, 2], bounds are [4, 2]");
  CHECK(TensorView(tensor.raw()).sizes()[0] == 4);

  const std::int64_t other_rank[] = {4};
  CHECK(args.view(&host).resize(1, other_rank).error() == Error::NotSupported);
  CHECK(host.asked == std::vector<std::int64_t>{4});

  host.answer = 0x7777;
  CHECK(args.view(&host).resize(1, larger).error() == Error::Internal);
}
