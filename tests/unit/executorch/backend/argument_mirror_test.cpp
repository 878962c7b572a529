// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mirror_support.hpp"
#include "support/catch.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/executorch/backend/call_sites.hpp"
#include "unit/core/test_tensor.hpp"

using namespace tenon;
using namespace tenon::test;
namespace et = ::executorch::runtime;
using tenon::bridge::detail::ArgumentMirror;
using tenon::bridge::detail::CallSites;

namespace argument_mirror_test {

std::span<tenon_value* const> span_of(const TestArgs& args) { return {args.data(), args.size()}; }

/// A tensor whose shape is bounded by the sizes that it is made with.
void make_dynamic(TestTensor& tensor) { tensor.raw().shape_dynamism = TENON_SHAPE_DYNAMIC_BOUND; }

}  // namespace argument_mirror_test
using namespace argument_mirror_test;

TEST_CASE("each kind of value is mirrored as ExecuTorch's", "[executorch]") {
  TestTensor tensor({2, 3}, {1.f, 2.f, 3.f, 4.f, 5.f, 6.f}, {1, 0});
  TestTensor other(ScalarType::Long, {1});
  const std::string_view text = "text";
  const std::vector<std::uint8_t> flags{1, 0, 1};
  const std::vector<double> reals{0.5, -1};
  tenon_value four = integer_value(4), five = integer_value(5);
  tenon_value first = tensor.value(), second = other.value(), none = make_value(TENON_VALUE_NONE);
  const std::vector<tenon_value*> numbers{&four, &five, &four};
  const std::vector<tenon_value*> tensors{&first, &second};
  const std::vector<tenon_value*> optional{&none, &second};
  tenon_value real = make_value(TENON_VALUE_DOUBLE), flag = make_value(TENON_VALUE_BOOL);
  real.as.real = 2.5;
  flag.as.boolean = 1;
  const TestArgs args({make_value(TENON_VALUE_NONE), tensor.value(),
                       span_value<char>(TENON_VALUE_STRING, text), real, integer_value(-7), flag,
                       span_value<std::uint8_t>(TENON_VALUE_BOOL_LIST, flags),
                       span_value<double>(TENON_VALUE_DOUBLE_LIST, reals),
                       span_value<tenon_value*>(TENON_VALUE_INT_LIST, numbers),
                       span_value<tenon_value*>(TENON_VALUE_TENSOR_LIST, tensors),
                       span_value<tenon_value*>(TENON_VALUE_OPTIONAL_TENSOR_LIST, optional),
                       span_value<tenon_value*>(TENON_VALUE_INT_LIST, {})});
  ArgumentMirror mirror;
  REQUIRE(mirror.update(span_of(args)).ok());
  const et::Span<et::EValue*> values = mirror.values();
  REQUIRE(values.size() == 12);
  CHECK(values[0]->isNone());
  const auto mirrored = values[1]->toTensor();
  CHECK(mirrored.scalar_type() == ::executorch::aten::ScalarType::Float);
  CHECK(std::vector<int>(mirrored.sizes().begin(), mirrored.sizes().end()) == std::vector{2, 3});
  CHECK(std::vector<int>(mirrored.strides().begin(), mirrored.strides().end()) ==
        std::vector{1, 2});
  CHECK(mirrored.dim_order()[0] == 1);
  CHECK(mirrored.const_data_ptr() == tensor.raw().dl.data);
  CHECK(values[2]->toString() == "text");
  CHECK(values[3]->toDouble() == 2.5);
  CHECK(values[4]->toInt() == -7);
  CHECK(values[5]->toBool());
  CHECK(values[6]->toBoolList()[1] == false);
  CHECK(values[7]->toDoubleList()[1] == -1);
  const auto integers = values[8]->toIntList();
  CHECK(std::vector<std::int64_t>(integers.begin(), integers.end()) ==
        std::vector<std::int64_t>{4, 5, 4});
  const auto list = values[9]->toTensorList();
  REQUIRE(list.size() == 2);
  // One tensor of the host is one of ExecuTorch, at every position.
  CHECK(list[0].unsafeGetTensorImpl() == mirrored.unsafeGetTensorImpl());
  CHECK(list[1].const_data_ptr() == other.raw().dl.data);
  const auto maybe = values[10]->toListOptionalTensor();
  CHECK_FALSE(maybe[0].has_value());
  CHECK(maybe[1]->unsafeGetTensorImpl() == list[1].unsafeGetTensorImpl());
  CHECK(values[11]->toIntList().empty());
  CHECK(mirror.write_back(test_host(), false).ok());

  // What an instruction of the program writes is seen at the next call.
  five.as.integer = 50;
  args.data()[4]->as.integer = 8;
  none = first;
  REQUIRE(mirror.update(span_of(args)).ok());
  CHECK(mirror.values()[8]->toIntList()[1] == 50);
  CHECK(mirror.values()[4]->toInt() == 8);
  CHECK(mirror.values()[10]->toListOptionalTensor()[0].has_value());
}

TEST_CASE("tensors of rank 0, without elements and without data are mirrored", "[executorch]") {
  TestTensor scalar(ScalarType::Float, {});
  TestTensor empty(ScalarType::Float, {2, 0, 3});
  TestTensor unset(ScalarType::Float, {4});
  unset.raw().dl.data = nullptr;
  const TestArgs args({scalar.value(), empty.value(), unset.value()});
  ArgumentMirror mirror;
  REQUIRE(mirror.update(span_of(args), false).ok());
  CHECK(mirror.values()[0]->toTensor().dim() == 0);
  CHECK(mirror.values()[0]->toTensor().numel() == 1);
  CHECK(mirror.values()[1]->toTensor().numel() == 0);
  CHECK(mirror.values()[1]->toTensor().strides()[0] == 3);
  CHECK(mirror.values()[2]->toTensor().const_data_ptr() == nullptr);
  // ExecuTorch's code would read and write there.
  const Status without = mirror.update(span_of(args));
  CHECK(without.error() == Error::InvalidState);
  CHECK(without.text() == "argument 2: the tensor has no data");
  // A host may set the data between two calls, and place it behind an offset.
  std::vector<float> data(5);
  unset.raw().dl.data = data.data();
  unset.raw().dl.byte_offset = sizeof(float);
  REQUIRE(mirror.update(span_of(args)).ok());
  CHECK(mirror.values()[2]->toTensor().const_data_ptr<float>() == data.data() + 1);
}

TEST_CASE("a dynamic tensor has the host's sizes before a call and gives its own back",
          "[executorch]") {
  TestTensor tensor(ScalarType::Float, {4, 3});
  make_dynamic(tensor);
  const TestArgs args({tensor.value(), tensor.value()});
  const std::int64_t smaller[] = {2, 3};
  REQUIRE(test_host()->resize_tensor(test_host(), &tensor.raw(), smaller, 2) == TENON_STATUS_OK);
  ArgumentMirror mirror;
  REQUIRE(mirror.update(span_of(args)).ok());
  auto mirrored = mirror.values()[0]->toTensor();
  CHECK(mirrored.size(0) == 2);
  // Its largest size comes from the bounds and not from the first call.
  const std::int32_t largest[] = {4, 3};
  REQUIRE(et::resize_tensor(mirrored, {largest, 2}) == et::Error::Ok);
  REQUIRE(mirror.write_back(test_host(), false).ok());
  CHECK(tensor.raw().dl.shape[0] == 4);
  CHECK(tensor.raw().nbytes == 48);
  const std::int32_t too_large[] = {5, 3};
  CHECK(et::resize_tensor(mirrored, {too_large, 2}) == et::Error::NotSupported);

  const std::int64_t none[] = {0, 3};
  REQUIRE(test_host()->resize_tensor(test_host(), &tensor.raw(), none, 2) == TENON_STATUS_OK);
  REQUIRE(mirror.update(span_of(args)).ok());
  CHECK(mirror.values()[1]->toTensor().numel() == 0);
}

TEST_CASE("a resize that the host refuses is an error that names both shapes", "[executorch]") {
  TestTensor tensor(ScalarType::Float, {4});
  make_dynamic(tensor);
  const TestArgs args({integer_value(0), tensor.value()});
  ArgumentMirror mirror;
  REQUIRE(mirror.update(span_of(args)).ok());
  const std::int32_t smaller[] = {2};
  REQUIRE(et::resize_tensor(mirror.values()[1]->toTensor(), {smaller, 1}) == et::Error::Ok);
  tensor.raw().shape_dynamism = TENON_SHAPE_STATIC;  // A host that changes its mind.
  const Status written = mirror.write_back(test_host(), false);
  CHECK(written.error() == Error::NotSupported);
  CHECK_THAT(std::string(written.text()), ContainsSubstring("argument 1: "));
  CHECK_THAT(std::string(written.text()), ContainsSubstring("[4] to [2]"));
}

TEST_CASE("numbers that a call makes are the host's afterwards", "[executorch]") {
  TestArgs args({integer_value(1), make_value(TENON_VALUE_DOUBLE), make_value(TENON_VALUE_BOOL),
                 make_value(TENON_VALUE_NONE), integer_value(9)});
  args.data()[1]->as.real = std::numeric_limits<double>::quiet_NaN();
  ArgumentMirror mirror;
  REQUIRE(mirror.update(span_of(args)).ok());
  REQUIRE(mirror.write_back(test_host(), false).ok());
  CHECK(std::isnan(args.data()[1]->as.real));
  *mirror.values()[0] = et::EValue(std::int64_t{1} << 40);
  *mirror.values()[1] = et::EValue(0.25);
  *mirror.values()[2] = et::EValue(true);
  *mirror.values()[3] = et::EValue(std::int64_t{3});
  *mirror.values()[4] = et::EValue(1.5);  // Operators on numbers may give another kind.
  REQUIRE(mirror.write_back(test_host(), false).ok());
  CHECK(args.data()[0]->as.integer == std::int64_t{1} << 40);
  CHECK(args.data()[1]->as.real == 0.25);
  CHECK(args.data()[2]->as.boolean == 1);
  CHECK(args.data()[3]->kind == TENON_VALUE_INT);
  CHECK(args.data()[3]->as.integer == 3);
  CHECK(args.data()[4]->kind == TENON_VALUE_DOUBLE);
  CHECK(args.data()[4]->as.real == 1.5);
  REQUIRE(mirror.update(span_of(args)).ok());
  CHECK(mirror.values()[4]->toDouble() == 1.5);
}

TEST_CASE("a value that the host has no place for is an error", "[executorch]") {
  TestTensor tensor(ScalarType::Float, {4});
  TestTensor other(ScalarType::Float, {4});
  const TestArgs args({tensor.value(), other.value(), integer_value(1)});
  ArgumentMirror mirror;
  REQUIRE(mirror.update(span_of(args)).ok());
  *mirror.values()[0] = *mirror.values()[1];
  CHECK(mirror.write_back(test_host(), false).error() == Error::NotSupported);
  REQUIRE(mirror.update(span_of(args)).ok());
  CHECK(mirror.values()[0]->toTensor().const_data_ptr() == tensor.raw().dl.data);
  *mirror.values()[2] = *mirror.values()[1];
  const Status written = mirror.write_back(test_host(), false);
  CHECK(written.error() == Error::NotSupported);
  CHECK_THAT(std::string(written.text()), ContainsSubstring("Int"));
}

TEST_CASE("a tensor with other memory after a call is an error, except for views", "[executorch]") {
  TestTensor in(ScalarType::Float, {4});
  TestTensor out(ScalarType::Float, {2});
  void* const own = out.raw().dl.data;
  const TestArgs args({in.value(), out.value()});
  ArgumentMirror mirror;
  const auto move_to = [&](void* to, bool allow_views) {
    REQUIRE(mirror.update(span_of(args)).ok());
    mirror.values()[1]->toTensor().unsafeGetTensorImpl()->set_data(to);
    return mirror.write_back(test_host(), allow_views);
  };
  auto* const room = static_cast<std::byte*>(in.raw().dl.data);
  const Status moved = move_to(room, false);
  CHECK(moved.error() == Error::NotSupported);
  CHECK_THAT(std::string(moved.text()), ContainsSubstring("argument 1: "));
  CHECK(out.raw().dl.data == own);

  std::vector<std::byte> foreign(64);
  CHECK(move_to(foreign.data(), true).error() == Error::NotSupported);
  CHECK(move_to(room + 12, true).error() == Error::NotSupported);  // Its end is outside.
  REQUIRE(move_to(room + 8, true).ok());
  CHECK(out.raw().dl.data == room + 8);
}

TEST_CASE("arguments that ExecuTorch cannot hold are refused with their number", "[executorch]") {
  const auto refuse = [](TestTensor& tensor, Error code, const std::string& text) {
    const TestArgs args({integer_value(0), tensor.value()});
    ArgumentMirror mirror;
    const Status updated = mirror.update(span_of(args));
    CHECK(updated.error() == code);
    CHECK_THAT(std::string(updated.text()), ContainsSubstring("argument 1: "));
    CHECK_THAT(std::string(updated.text()), ContainsSubstring(text));
  };
  TestTensor tensor(ScalarType::Float, {4});
  tensor.raw().scalar_type = 99;
  refuse(tensor, Error::InvalidType, "99");
  TestTensor lanes(ScalarType::Float, {4});
  lanes.raw().dl.dtype.lanes = 2;
  refuse(lanes, Error::InvalidType, "one lane, found 2");
  // No backend of ExecuTorch lists devices here.
  for (const tenon_dl_device device :
       {tenon_dl_device{TENON_DL_METAL, 0}, tenon_dl_device{TENON_DL_CUDA, 1}}) {
    TestTensor on_device(ScalarType::Float, {4});
    on_device.raw().dl.device = device;
    refuse(on_device, Error::NotSupported,
           concat("device ", device.device_type, ":", device.device_id));
  }
  TestTensor deep(ScalarType::Byte, std::vector<std::int64_t>(17, 1));
  refuse(deep, Error::NotSupported, "16 dimensions");
  // No bytes behind it: only its sizes are looked at.
  TestTensor large(ScalarType::Byte, {0, std::int64_t{1} << 31});
  refuse(large, Error::InvalidArgument, "31 bits");

  const TestArgs scalars({span_value<tenon_value*>(TENON_VALUE_SCALAR_LIST, {})});
  ArgumentMirror mirror;
  CHECK(mirror.update(span_of(scalars)).error() == Error::NotSupported);
  // The mirror of something that was refused is as good as a new one.
  const TestArgs good({integer_value(3)});
  REQUIRE(mirror.update(span_of(good)).ok());
  CHECK(mirror.values()[0]->toInt() == 3);
}

TEST_CASE("a list with an element of another kind is refused", "[executorch]") {
  tenon_value number = integer_value(1);
  const std::vector<tenon_value*> elements{&number};
  const TestArgs args({span_value<tenon_value*>(TENON_VALUE_TENSOR_LIST, elements)});
  ArgumentMirror mirror;
  const Status updated = mirror.update(span_of(args));
  CHECK(updated.error() == Error::InvalidType);
  CHECK_THAT(std::string(updated.text()), ContainsSubstring("element 0: expected Tensor"));
}

TEST_CASE("the values after the last argument are None", "[executorch]") {
  const TestArgs args({integer_value(1)});
  ArgumentMirror mirror;
  REQUIRE(mirror.update(span_of(args)).ok());
  const et::Span<et::EValue*> values = mirror.values();
  REQUIRE(values.size() == 1);
  for (std::size_t i = 1; i < 64; ++i) CHECK(values.data()[i]->isNone());
  ArgumentMirror of_nothing;
  REQUIRE(of_nothing.update({}).ok());
  CHECK(of_nothing.values().size() == 0);
  CHECK(of_nothing.values().data()[0]->isNone());
}

TEST_CASE("a value that becomes another tensor or list is mirrored anew", "[executorch]") {
  TestTensor first(ScalarType::Float, {4});
  TestTensor second(ScalarType::Long, {2, 2});
  const TestArgs args({first.value()});
  ArgumentMirror mirror;
  REQUIRE(mirror.update(span_of(args)).ok());
  *args.data()[0] = second.value();
  REQUIRE(mirror.update(span_of(args)).ok());
  CHECK(mirror.values()[0]->toTensor().const_data_ptr() == second.raw().dl.data);
  CHECK(mirror.values()[0]->toTensor().dim() == 2);
  *args.data()[0] = span_value<char>(TENON_VALUE_STRING, std::string_view("abc"));
  REQUIRE(mirror.update(span_of(args)).ok());
  CHECK(mirror.values()[0]->toString() == "abc");
  *args.data()[0] = span_value<char>(TENON_VALUE_STRING, std::string_view("d"));
  REQUIRE(mirror.update(span_of(args)).ok());
  CHECK(mirror.values()[0]->toString() == "d");
}

TEST_CASE("a tensor without data that gets a larger bound gets as much room", "[executorch]") {
  TestTensor empty(ScalarType::Float, {0});
  TestArgs args({empty.value()});
  ArgumentMirror mirror;
  std::int64_t bound = 0;
  empty.raw().bounds = &bound;
  empty.raw().shape_dynamism = TENON_SHAPE_DYNAMIC_BOUND;
  for (const std::int64_t size : {4, 4096}) {
    bound = size;
    empty.raw().capacity = static_cast<std::uint64_t>(size) * sizeof(float);
    REQUIRE(mirror.update(span_of(args)).ok());
    void* const data = mirror.values()[0]->toTensor().mutable_data_ptr();
    REQUIRE(data != nullptr);
    std::memset(data, 1, empty.raw().capacity);
  }
}

TEST_CASE("a host that changes a tensor in place is believed", "[executorch]") {
  TestTensor tensor(ScalarType::Float, {2, 2});
  const TestArgs args({tensor.value()});
  ArgumentMirror mirror;
  REQUIRE(mirror.update(span_of(args)).ok());
  tensor.raw().scalar_type = static_cast<std::int32_t>(ScalarType::Int);
  tensor.raw().dl.ndim = 1;
  REQUIRE(mirror.update(span_of(args)).ok());
  CHECK(mirror.values()[0]->toTensor().scalar_type() == ::executorch::aten::ScalarType::Int);
  CHECK(mirror.values()[0]->toTensor().dim() == 1);
}

TEST_CASE("a mirror of arguments that are fixed sees new data, sizes and numbers", "[executorch]") {
  TestTensor fixed(ScalarType::Float, {4});
  TestTensor bounded(ScalarType::Float, {4, 3});
  make_dynamic(bounded);
  const TestArgs args({fixed.value(), bounded.value(), integer_value(1)});
  ArgumentMirror mirror;
  REQUIRE(mirror.update(span_of(args), false).ok());
  mirror.is_bound = true;
  REQUIRE(mirror.update(span_of(args)).ok());
  REQUIRE(mirror.write_back(test_host(), false).ok());

  std::vector<float> data(4);
  fixed.raw().dl.data = data.data();
  const std::int64_t smaller[] = {2, 3};
  REQUIRE(test_host()->resize_tensor(test_host(), &bounded.raw(), smaller, 2) == TENON_STATUS_OK);
  args.data()[2]->as.integer = 2;
  REQUIRE(mirror.update(span_of(args)).ok());
  CHECK(mirror.values()[0]->toTensor().const_data_ptr() == data.data());
  CHECK(mirror.values()[1]->toTensor().size(0) == 2);
  CHECK(mirror.values()[2]->toInt() == 2);

  // What the call writes is the host's afterwards, and neither is looked at again.
  const std::int32_t larger[] = {3, 3};
  REQUIRE(et::resize_tensor(mirror.values()[1]->toTensor(), {larger, 2}) == et::Error::Ok);
  *mirror.values()[2] = et::EValue(std::int64_t{5});
  REQUIRE(mirror.write_back(test_host(), false).ok());
  CHECK(bounded.raw().dl.shape[0] == 3);
  CHECK(args.data()[2]->as.integer == 5);
  REQUIRE(mirror.update(span_of(args)).ok());
  CHECK(mirror.values()[2]->toInt() == 5);

  fixed.raw().dl.data = nullptr;
  for (int i = 0; i < 2; ++i) {
    const Status without = mirror.update(span_of(args));
    CHECK(without.error() == Error::InvalidState);
    CHECK(without.text() == "argument 0: the tensor has no data");
  }
  fixed.raw().dl.data = data.data();
  REQUIRE(mirror.update(span_of(args)).ok());
  TestTensor other(ScalarType::Long, {2});
  *args.data()[0] = other.value();  // As an instruction that moves a value does.
  REQUIRE(mirror.update(span_of(args)).ok());
  CHECK(mirror.values()[0]->toTensor().const_data_ptr() == other.raw().dl.data);
}

TEST_CASE("a mirror that was cleared after a failed call is the host's values again",
          "[executorch]") {
  TestTensor tensor(ScalarType::Float, {4});
  const TestArgs args({tensor.value(), integer_value(1)});
  ArgumentMirror mirror;
  REQUIRE(mirror.update(span_of(args), false).ok());
  mirror.is_bound = true;
  REQUIRE(mirror.update(span_of(args)).ok());
  std::vector<float> foreign(4);
  mirror.values()[0]->toTensor().unsafeGetTensorImpl()->set_data(foreign.data());
  *mirror.values()[1] = et::EValue(7.5);
  mirror.clear();
  REQUIRE(mirror.update(span_of(args)).ok());
  CHECK(mirror.values()[0]->toTensor().const_data_ptr() == tensor.raw().dl.data);
  CHECK(mirror.values()[1]->toInt() == 1);
}

TEST_CASE("after its first run a delegate keeps to its kinds, dtypes and ranks", "[executorch]") {
  TestTensor floats(ScalarType::Float, {2});
  TestTensor more_floats(ScalarType::Float, {5});
  TestTensor integers(ScalarType::Int, {2});
  TestTensor matrix(ScalarType::Float, {2, 2});
  tenon::bridge::detail::Signature signature;
  const auto check = [&](std::vector<tenon_value> values) {
    const TestArgs args(std::move(values));
    return signature.check(span_of(args));
  };
  CHECK(check({integers.value()}).ok());  // Nothing is known yet.
  const TestArgs first({floats.value(), integer_value(1)});
  signature.learn(span_of(first));
  CHECK(check({more_floats.value(), integer_value(2)}).ok());
  const Status fewer = check({floats.value()});
  CHECK(fewer.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(fewer.text()), ContainsSubstring("expected 2, found 1"));
  const Status other_dtype = check({integers.value(), integer_value(1)});
  CHECK(other_dtype.error() == Error::InvalidType);
  CHECK_THAT(std::string(other_dtype.text()),
             ContainsSubstring("argument 0: expected Tensor of dtype Float and rank 1, found "
                               "Tensor of dtype Int and rank 1"));
  CHECK(check({matrix.value(), integer_value(1)}).error() == Error::InvalidType);
  const Status other_kind = check({floats.value(), make_value(TENON_VALUE_BOOL)});
  CHECK(other_kind.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(other_kind.text()), ContainsSubstring("expected Int, found Bool"));
}

TEST_CASE("each place that calls a delegate has its own mirror", "[executorch]") {
  const TestArgs here({integer_value(1)});
  const TestArgs there({integer_value(2)});
  CallSites sites;
  ArgumentMirror& first = sites.find(span_of(here));
  ArgumentMirror& second = sites.find(span_of(there));
  CHECK(&first != &second);
  CHECK(&sites.find(span_of(here)) == &first);
  CHECK(&sites.find(span_of(there)) == &second);
  // A host whose lists always have new addresses needs a bounded number.
  std::vector<std::unique_ptr<TestArgs>> many;
  std::vector<const ArgumentMirror*> mirrors;
  for (int i = 0; i < 200; ++i) {
    many.push_back(std::make_unique<TestArgs>(std::vector{integer_value(i)}));
    ArgumentMirror& mirror = sites.find(span_of(*many.back()));
    REQUIRE(mirror.update(span_of(*many.back())).ok());
    CHECK(mirror.values()[0]->toInt() == i);
    mirrors.push_back(&mirror);
  }
  std::ranges::sort(mirrors);
  CHECK(std::unique(mirrors.begin(), mirrors.end()) - mirrors.begin() <= 64);
}
