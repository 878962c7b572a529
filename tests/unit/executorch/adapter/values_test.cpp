// SPDX-License-Identifier: MIT
//
// Values made by hand, given to an adapter as a method of ExecuTorch gives them.

#include <array>

#include "unit/executorch/adapter/stock.hpp"

using namespace tenon;
using namespace tenon::test;

namespace values_test {

using EtTensor = ::executorch::aten::Tensor;
using OptionalTensor = std::optional<EtTensor>;
using Lines = std::vector<std::string>;

/// The record of the backend for `args`.
Lines describe(std::vector<et::EValue> values) {
  DirectCall call("Values", "describe");
  std::vector<et::EValue*> args;
  for (et::EValue& each : values) args.push_back(&each);
  seen().clear();
  REQUIRE(call(args) == et::Error::Ok);
  return seen();
}

/// The events of a tracer.
class Recorder final : public et::EventTracer {
 public:
  Lines events;

  void log_profiling_delegate(const char* name, et::DelegateDebugIntId id, et_timestamp_t start,
                              et_timestamp_t end, const void* metadata, std::size_t size) override {
    // ExecuTorch's ETDump aborts unless exactly one of both is given.
    REQUIRE((name == nullptr) != (id == et::kUnsetDelegateDebugIntId));
    const et_tick_ratio_t ratio = et::pal_ticks_to_ns_multiplier();
    events.push_back(concat(name ? std::string(name) : concat("#", id), " ",
                            (end - start) * ratio.numerator / ratio.denominator, "ns ",
                            std::string_view(static_cast<const char*>(metadata), size)));
  }
  void create_event_block(const char*) override {}
  et::EventTracerEntry start_profiling(const char*, et::ChainID, et::DebugHandle) override {
    return {};
  }
  et::EventTracerEntry start_profiling_delegate(const char*, et::DelegateDebugIntId) override {
    return {};
  }
  void end_profiling_delegate(et::EventTracerEntry, const void*, std::size_t) override {}
  void end_profiling(et::EventTracerEntry) override {}
  void track_allocation(et::AllocatorID, std::size_t) override {}
  et::AllocatorID track_allocator(const char*) override { return 0; }
  et::Result<bool> log_evalue(const et::EValue&, et::LoggedEValueType) override { return true; }
  et::Result<bool> log_intermediate_output_delegate(const char*, et::DelegateDebugIntId,
                                                    const EtTensor&) override {
    return true;
  }
  et::Result<bool> log_intermediate_output_delegate(const char*, et::DelegateDebugIntId,
                                                    et::ArrayRef<EtTensor>) override {
    return true;
  }
  et::Result<bool> log_intermediate_output_delegate(const char*, et::DelegateDebugIntId,
                                                    const int&) override {
    return true;
  }
  et::Result<bool> log_intermediate_output_delegate(const char*, et::DelegateDebugIntId,
                                                    const bool&) override {
    return true;
  }
  et::Result<bool> log_intermediate_output_delegate(const char*, et::DelegateDebugIntId,
                                                    const double&) override {
    return true;
  }
  void set_delegation_intermediate_output_filter(et::EventTracerFilterBase*) override {}
};

}  // namespace values_test

using namespace values_test;

TEST_CASE("tensors reach a plugin with their layout, bounds, room and device", "[executorch]") {
  auto plain = floats({2, 3}, std::vector<float>(6));
  auto bounded = floats({4, 2}, std::vector<float>(8), et::TensorShapeDynamism::DYNAMIC_BOUND);
  auto scalar = floats({}, {1});
  auto empty = floats({0, 3}, {});
  CHECK(
      describe({plain.value(), bounded.value(), scalar.value(), empty.value()}) ==
      Lines{"Tensor Float [2, 3] strides [3, 1] order [0, 1] bounds [2, 3] 24 of 24 bytes",
            "Tensor Float [4, 2] strides [2, 1] order [0, 1] bounds [4, 2] 32 of 32 bytes dynamic",
            "Tensor Float [] strides [] order [] bounds [] 4 of 4 bytes",
            "Tensor Float [0, 3] strides [3, 1] order [0, 1] bounds [0, 3] 0 of 0 bytes without "
            "data"});

  // Channels last; a tensor that was smaller when it was first seen; one on a device, without data.
  std::array<std::int32_t, 4> sizes{1, 2, 3, 4}, strides{24, 1, 8, 2};
  std::array<std::uint8_t, 4> order{0, 2, 3, 1};
  std::array<std::int16_t, 24> data{};
  TensorImpl last(EtScalarType::Short, 4, sizes.data(), data.data(), order.data(), strides.data());
  const std::array<std::int32_t, 2> smaller{1, 2};
  REQUIRE(et::internal::resize_tensor_impl(&*bounded.impl, {smaller.data(), 2}) == et::Error::Ok);
  std::array<std::int32_t, 1> length{5};
  TensorImpl far(EtScalarType::Byte, 1, length.data(), nullptr, nullptr, nullptr,
                 et::TensorShapeDynamism::STATIC, ::executorch::aten::DeviceType::CUDA, 1);
  CHECK(describe({et::EValue(EtTensor(&last)), bounded.value(), et::EValue(EtTensor(&far))}) ==
        Lines{"Tensor Short [1, 2, 3, 4] strides [24, 1, 8, 2] order [0, 2, 3, 1] bounds [1, 2, 3, "
              "4] 48 of 48 bytes",
              "Tensor Float [1, 2] strides [2, 1] order [0, 1] bounds [8, 8] 8 of 32 bytes dynamic",
              "Tensor Byte [5] strides [1] order [0] bounds [5] 5 of 5 bytes on 2:1 without data"});
}

TEST_CASE("every other kind of value reaches a plugin", "[executorch]") {
  const std::string text = "some text";
  et::ArrayRef<char> chars(text.data(), text.size());
  const std::array<bool, 3> bits{true, false, true};
  et::ArrayRef<bool> bools(bits.data(), bits.size());
  const std::array<double, 2> numbers{0.5, -1};
  et::ArrayRef<double> doubles(numbers.data(), numbers.size());

  std::array<et::EValue, 2> boxed{et::EValue(std::int64_t{7}), et::EValue(std::int64_t{-8})};
  std::array<et::EValue*, 2> boxes{&boxed[0], &boxed[1]};
  std::array<std::int64_t, 2> room{};
  et::BoxedEvalueList<std::int64_t> integers(boxes.data(), room.data(), 2);

  auto tensor = floats({1}, {1});
  std::array<et::EValue, 2> tensors{tensor.value(), et::EValue()};
  std::array<et::EValue*, 1> tensor_box{&tensors[0]};
  std::array<EtTensor, 1> tensor_room{EtTensor(&*tensor.impl)};
  et::BoxedEvalueList<EtTensor> list(tensor_box.data(), tensor_room.data(), 1);
  std::array<et::EValue*, 3> optional_box{&tensors[1], &tensors[0], nullptr};
  std::array<OptionalTensor, 3> optional_room;
  et::BoxedEvalueList<OptionalTensor> optional(optional_box.data(), optional_room.data(), 3);

  const std::string one = "Tensor Float [1] strides [1] order [0] bounds [1] 4 of 4 bytes";
  CHECK(describe({et::EValue(), et::EValue(std::int64_t{5}), et::EValue(2.5), et::EValue(true),
                  et::EValue(&chars), et::EValue(&bools), et::EValue(&doubles),
                  et::EValue(&integers), et::EValue(&list), et::EValue(&optional)}) ==
        Lines{"None", "Int 5", "Double 2.5", "Bool true", "String some text", "ListBool [1, 0, 1]",
              "ListDouble 0.5 -1", "ListInt (Int 7; Int -8)", "ListTensor (" + one + ")",
              "ListOptionalTensor (None; " + one + "; None)"});
}

TEST_CASE("a call sees the current contents of values, also in lists", "[executorch]") {
  std::array<et::EValue, 1> boxed{et::EValue(std::int64_t{1})};
  std::array<et::EValue*, 1> boxes{boxed.data()};
  std::array<std::int64_t, 1> room{};
  et::BoxedEvalueList<std::int64_t> list(boxes.data(), room.data(), 1);
  std::string text = "a";
  et::ArrayRef<char> chars(text.data(), text.size());
  std::array<et::EValue, 3> values{et::EValue(std::int64_t{1}), et::EValue(&list),
                                   et::EValue(&chars)};
  std::vector<et::EValue*> args{&values[0], &values[1], &values[2]};
  DirectCall call("Values", "describe");
  seen().clear();
  REQUIRE(call(args) == et::Error::Ok);
  values[0] = et::EValue(std::int64_t{2});
  boxed[0] = et::EValue(std::int64_t{20});
  text = "bc";
  chars = et::ArrayRef<char>(text.data(), text.size());
  REQUIRE(call(args) == et::Error::Ok);
  values[0] = et::EValue(2.5);  // Another kind: as a MoveCall may leave it.
  REQUIRE(call(args) == et::Error::Ok);
  CHECK(seen() == Lines{"Int 1", "ListInt (Int 1)", "String a", "Int 2", "ListInt (Int 20)",
                        "String bc", "Double 2.5", "ListInt (Int 20)", "String bc"});
}

TEST_CASE("numbers that a plugin writes are ExecuTorch's afterwards", "[executorch]") {
  std::array<et::EValue, 4> values{et::EValue(std::int64_t{41}), et::EValue(1.25),
                                   et::EValue(false), et::EValue()};
  std::vector<et::EValue*> args{&values[0], &values[1], &values[2], &values[3]};
  DirectCall call("Values", "write");
  REQUIRE(call(args) == et::Error::Ok);
  REQUIRE(call(args) == et::Error::Ok);
  CHECK(values[0].toInt() == 43);
  CHECK(values[1].toDouble() == 5.0);
  CHECK_FALSE(values[2].toBool());
  CHECK(values[3].isNone());
}

TEST_CASE("a tensor has one descriptor from first to last, whatever moves",
          "[executorch][TN-TEN-3]") {
  auto a = floats({2}, {1, 2}), b = floats({2}, {3, 4});
  std::array<et::EValue, 2> values{a.value(), b.value()};
  std::vector<et::EValue*> args{&values[0], &values[1], &values[0]};
  std::vector<et::EValue*> other{&values[1]};
  DirectCall call("Values", "places");
  seen().clear();
  REQUIRE(call(args) == et::Error::Ok);
  REQUIRE(call(other) == et::Error::Ok);
  std::swap(values[0], values[1]);  // What a MoveCall does.
  REQUIRE(call(args) == et::Error::Ok);
  REQUIRE(seen().size() == 7);
  CHECK(seen()[0] == seen()[2]);
  CHECK(seen()[1] == seen()[3]);
  CHECK(Lines(seen().begin() + 4, seen().end()) == Lines{seen()[1], seen()[0], seen()[1]});
  CHECK(seen()[0] != seen()[1]);
}

TEST_CASE("sizes that a plugin gave before it failed are ExecuTorch's as well", "[executorch]") {
  auto out = floats({4}, std::vector<float>(4), et::TensorShapeDynamism::DYNAMIC_BOUND);
  et::EValue value = out.value();
  std::vector<et::EValue*> args{&value};
  DirectCall call("Values", "resize 3");
  CHECK(call(args) == et::Error::OutOfResources);
  CHECK(out.sizes[0] == 3);
  CHECK(last_text() == "backend Values: execute: resized to 3, then failed");
}

TEST_CASE("a tensor whose bounds are loose is limited by its room", "[executorch]") {
  auto tensor = floats({4, 2}, std::vector<float>(8), et::TensorShapeDynamism::DYNAMIC_BOUND);
  const std::array<std::int32_t, 2> smaller{1, 2};
  REQUIRE(et::internal::resize_tensor_impl(&*tensor.impl, {smaller.data(), 2}) == et::Error::Ok);
  auto mirror = bridge::adapter::PluginTensor::make(*tensor.impl);
  REQUIRE(mirror.ok());
  const auto resize = [&](std::vector<std::int64_t> sizes) {
    return host::resize_tensor((*mirror)->tensor(), sizes);
  };
  CHECK(resize({4, 4}) == Error::NotSupported);  // Within the bounds [8, 8].
  CHECK(resize({1, 9}) == Error::NotSupported);
  CHECK(resize({1, 2}) == Error::Ok);
  CHECK_FALSE((*mirror)->was_resized());
  CHECK(resize({8, 1}) == Error::Ok);
  CHECK((*mirror)->was_resized());
  REQUIRE((*mirror)->give_sizes().ok());
  CHECK(tensor.sizes == std::vector<std::int32_t>{8, 1});

  // No elements at all, of a size that ExecuTorch's 32 bits have no room for.
  CHECK(resize({0, std::int64_t{1} << 40}) == Error::Ok);
  const Status refused = (*mirror)->give_sizes();
  CHECK(refused.error() == Error::NotSupported);
  CHECK_THAT(std::string(refused.text()),
             ContainsSubstring("a tensor of [8, 1] to [0, 1099511627776]"));
  CHECK_FALSE((*mirror)->was_resized());
}

TEST_CASE("a value that cannot be passed is refused and not guessed", "[executorch]") {
  et::EValue value(std::int64_t{1});
  value.tag = et::Tag::ListScalar;
  std::vector<et::EValue*> args{&value};
  DirectCall call("Values", "describe");
  CHECK(call(args) == et::Error::InvalidType);
  CHECK_THAT(last_text(), ContainsSubstring("argument 0: a value of kind ListScalar"));
  value.tag = et::Tag::Int;
  CHECK(call(args) == et::Error::Ok);

  std::array<et::EValue, 1> boxed{et::EValue(2.5)};
  std::array<et::EValue*, 1> boxes{boxed.data()};
  std::array<std::int64_t, 1> room{};
  et::BoxedEvalueList<std::int64_t> list(boxes.data(), room.data(), 1);
  value = et::EValue(&list);
  CHECK(call(args) == et::Error::InvalidType);
  CHECK_THAT(last_text(), ContainsSubstring("elements are of another kind"));
}

TEST_CASE("events of a plugin reach ExecuTorch's tracer by name or by number", "[executorch]") {
  Recorder recorder;
  DirectCall call("Values", "events", &recorder);
  std::vector<et::EValue*> none;
  seen().clear();
  REQUIRE(call(none) == et::Error::Ok);
  CHECK(seen() == Lines{"traced"});
  CHECK(recorder.events == Lines{"by name 1000ns ", "#7 2000ns by number", "#8 3000ns xy"});

  DirectCall silent("Values", "events");
  REQUIRE(silent(none) == et::Error::Ok);
  CHECK(seen() == Lines{"traced", "not traced"});
}

TEST_CASE("each call has the tracer of its own context", "[executorch]") {
  Recorder first, second;
  DirectCall call("Values", "events", &first);
  std::vector<et::EValue*> none;
  seen().clear();
  for (et::EventTracer* tracer :
       {static_cast<et::EventTracer*>(nullptr), static_cast<et::EventTracer*>(&second),
        static_cast<et::EventTracer*>(&first)}) {
    call.tracer = tracer;
    REQUIRE(call(none) == et::Error::Ok);
  }
  CHECK(seen() == Lines{"not traced", "traced", "traced"});
  CHECK(first.events.size() == 3);
  CHECK(second.events.size() == 3);
}

TEST_CASE("lists of one delegate are called in turn, with tensors alone and with other values",
          "[executorch]") {
  auto a = floats({2}, {1, 2}), b = floats({3}, {3, 4, 5});
  std::array<et::EValue, 3> values{a.value(), b.value(), et::EValue(std::int64_t{1})};
  std::vector<std::vector<et::EValue*>> lists{
      {&values[0]}, {&values[1]}, {&values[1], &values[2]}, {&values[2], &values[0]}};
  const std::string of_a = "Tensor Float [2] strides [1] order [0] bounds [2] 8 of 8 bytes";
  const std::string of_b = "Tensor Float [3] strides [1] order [0] bounds [3] 12 of 12 bytes";
  DirectCall call("Values", "describe");
  for (int round = 0; round < 3; ++round) {
    seen().clear();
    values[2] = et::EValue(std::int64_t{round});
    for (auto& list : lists) REQUIRE(call(list) == et::Error::Ok);
    const std::string number = concat("Int ", round);
    CHECK(seen() == Lines{of_a, of_b, of_b, number, number, of_a});
  }
  std::swap(lists[0], lists[3]);  // Another order than in the rounds before.
  seen().clear();
  for (auto& list : lists) REQUIRE(call(list) == et::Error::Ok);
  CHECK(seen() == Lines{"Int 2", of_a, of_b, of_b, "Int 2", of_a});
}

TEST_CASE("a call sees every size that has changed and the new address of data", "[executorch]") {
  auto three = floats({2, 3, 4}, std::vector<float>(24), et::TensorShapeDynamism::DYNAMIC_BOUND);
  auto two = floats({5, 6}, std::vector<float>(30), et::TensorShapeDynamism::DYNAMIC_BOUND);
  std::array<et::EValue, 2> values{three.value(), two.value()};
  std::vector<et::EValue*> args{&values[0], &values[1]};
  DirectCall call("Values", "describe");
  REQUIRE(call(args) == et::Error::Ok);
  const auto resize = [](TensorImpl& impl, std::vector<std::int32_t> sizes) {
    REQUIRE(et::internal::resize_tensor_impl(&impl, {sizes.data(), sizes.size()}) == et::Error::Ok);
  };
  const auto starts = [&] {
    seen().clear();
    REQUIRE(call(args) == et::Error::Ok);
    Lines out;
    for (const std::string& each : seen()) out.push_back(each.substr(0, each.find(" order")));
    return out;
  };
  resize(*three.impl, {1, 3, 4});
  CHECK(starts()[0] == "Tensor Float [1, 3, 4] strides [12, 4, 1]");
  resize(*three.impl, {1, 3, 2});
  CHECK(starts()[0] == "Tensor Float [1, 3, 2] strides [6, 2, 1]");
  resize(*two.impl, {5, 4});
  CHECK(starts() ==
        Lines{"Tensor Float [1, 3, 2] strides [6, 2, 1]", "Tensor Float [5, 4] strides [4, 1]"});
  resize(*two.impl, {4, 5});  // As many elements as before.
  CHECK(starts()[1] == "Tensor Float [4, 5] strides [5, 1]");
  two.impl->set_data(nullptr);
  starts();
  CHECK(seen()[1].ends_with("without data"));
}

TEST_CASE("options are set and read through ExecuTorch in both directions", "[executorch]") {
  adapted();
  et::BackendOptions<8> options;
  REQUIRE(options.set_option("fast", true) == et::Error::Ok);
  REQUIRE(options.set_option("count", 12) == et::Error::Ok);
  REQUIRE(options.set_option("scale", 3) == et::Error::Ok);  // ExecuTorch has no double.
  REQUIRE(options.set_option("label", "blue") == et::Error::Ok);
  REQUIRE(options.set_option("table", "bytes") == et::Error::Ok);
  CHECK(et::set_option("Values", options.view()) == et::Error::Ok);

  et::BackendOptions<8> found;
  REQUIRE(found.set_option("fast", 0) == et::Error::Ok);
  REQUIRE(found.set_option("count", 0) == et::Error::Ok);
  REQUIRE(found.set_option("scale", 0) == et::Error::Ok);
  REQUIRE(found.set_option("label", 0) == et::Error::Ok);
  REQUIRE(found.set_option("table", 0) == et::Error::Ok);
  REQUIRE(et::get_option("Values", found.view()) == et::Error::Ok);
  bool fast = false;
  int count = 0;
  const char *scale = "", *label = "", *table = "";
  CHECK((found.get_option("fast", fast) == et::Error::Ok && fast));
  CHECK((found.get_option("count", count) == et::Error::Ok && count == 12));
  REQUIRE(found.get_option("scale", scale) == et::Error::Ok);
  CHECK(std::string(scale) == "3");
  REQUIRE(found.get_option("label", label) == et::Error::Ok);
  CHECK(std::string(label) == "blue");
  REQUIRE(found.get_option("table", table) == et::Error::Ok);
  CHECK(std::string(table) == "bytes");

  // Text is read as a value of the declared type; beyond 32 bits only text has room.
  et::BackendOptions<1> written;
  REQUIRE(written.set_option("fast", "false") == et::Error::Ok);
  CHECK(et::set_option("Values", written.view()) == et::Error::Ok);
  REQUIRE(et::get_option("Values", written.view()) == et::Error::Ok);
  CHECK((written.get_option("fast", fast) == et::Error::Ok && !fast));
  et::BackendOptions<1> large;
  REQUIRE(large.set_option("count", "5000000000") == et::Error::Ok);
  CHECK(et::set_option("Values", large.view()) == et::Error::Ok);
  REQUIRE(et::get_option("Values", large.view()) == et::Error::Ok);
  const char* text = "";
  REQUIRE(large.get_option("count", text) == et::Error::Ok);
  CHECK(std::string(text) == "5000000000");
}

TEST_CASE("options that are wrong change nothing and say why", "[executorch][TN-OPT-1]") {
  adapted();
  const auto count_now = [] {
    et::BackendOptions<1> asked;
    REQUIRE(asked.set_option("count", 0) == et::Error::Ok);
    REQUIRE(et::get_option("Values", asked.view()) == et::Error::Ok);
    int count = -1;
    static_cast<void>(asked.get_option("count", count));
    return count;
  };
  et::BackendOptions<2> options;
  REQUIRE(options.set_option("count", 20) == et::Error::Ok);
  REQUIRE(et::set_option("Values", options.view()) == et::Error::Ok);

  const auto refused = [&](auto& with, et::Error expected, const std::string& why) {
    CHECK(et::set_option("Values", with.view()) == expected);
    CHECK_THAT(last_text(),
               ContainsSubstring("backend Values: set_option") && ContainsSubstring(why));
    CHECK(count_now() == 20);
  };
  et::BackendOptions<2> unknown;
  REQUIRE(unknown.set_option("count", 21) == et::Error::Ok);
  REQUIRE(unknown.set_option("conut", 1) == et::Error::Ok);
  refused(unknown, et::Error::NotFound, "option 'conut' is unknown; the backend has: fast, count");
  et::BackendOptions<2> type;
  REQUIRE(type.set_option("count", 21) == et::Error::Ok);
  REQUIRE(type.set_option("fast", "yes") == et::Error::Ok);
  refused(type, et::Error::InvalidType, "option 'fast': expected bool, found string");
  et::BackendOptions<2> late;
  REQUIRE(late.set_option("count", 21) == et::Error::Ok);
  REQUIRE(late.set_option("late", 2) == et::Error::Ok);
  refused(late, et::Error::NotSupported, "option 'late' cannot be given for the whole backend");
  et::BackendOptions<1> negative;
  REQUIRE(negative.set_option("count", -1) == et::Error::Ok);
  refused(negative, et::Error::InvalidArgument, "expected 0 or more, found -1");

  et::BackendOption unterminated;
  std::fill(std::begin(unterminated.key), std::end(unterminated.key), 'k');
  CHECK(et::set_option("Values", {&unterminated, 1}) == et::Error::InvalidArgument);
  CHECK(et::get_option("Values", {&unterminated, 1}) == et::Error::InvalidArgument);
  et::BackendOptions<1> nothing;
  REQUIRE(nothing.set_option("conut", 1) == et::Error::Ok);
  CHECK(et::get_option("Values", nothing.view()) == et::Error::NotFound);
  CHECK(et::set_option("Unavailable", nothing.view()) == et::Error::NotFound);
}
