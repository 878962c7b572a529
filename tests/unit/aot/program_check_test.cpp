// SPDX-License-Identifier: MIT
#include "tenon/aot/compiler/write/program_check.hpp"

#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "tenon/aot/compiler/write/pte_writer.hpp"

namespace tenon::test::program_check {

using aot::MethodData;
using aot::ProgramData;
using aot::SharedBytes;
using aot::TensorValue;

/// Value 0 is a tensor in planned memory, 1 an integer, 2 None.
ProgramData sound() {
  ProgramData out;
  auto& method = out.methods.emplace_back();
  method.planned_memory.push_back({64, {}});
  TensorValue tensor;
  tensor.layout = {ScalarType::Float, {2, 2}};
  tensor.data = aot::storage::Planned{{1, 16}};
  method.add(tensor);
  method.add(std::int64_t{1});
  method.add({});
  (void)method.op("aten::relu", "out");
  method.add_delegate({"Backend", SharedBytes::copy_of("blob"), {{"key", {}}}});
  out.add_constant(SharedBytes::copy_of("0123456789abcdef"));
  out.add_initial_state(SharedBytes::copy_of("0123"));
  return out;
}

/// The error of the check after `change`. The writer reports the same.
template <class Change>
std::string refusal(Change&& change, Error code = Error::InvalidArgument) {
  ProgramData program = sound();
  change(program);
  const auto status = aot::check_program(program);
  REQUIRE(status.error() == code);
  REQUIRE(aot::make_pte(program).text() == status.text());
  return std::string(status.text());
}

template <class Change>
std::string method_refusal(Change&& change) {
  return refusal([&](ProgramData& program) { change(program.methods[0]); });
}

template <class Change>
std::string tensor_refusal(Change&& change) {
  return method_refusal(
      [&](MethodData& method) { change(std::get<TensorValue>(method.values[0])); });
}

template <class Instruction>
std::string instruction_refusal(Instruction instruction) {
  return method_refusal(
      [&](MethodData& method) { method.instructions.push_back(std::move(instruction)); });
}

TEST_CASE("A sound description passes") { REQUIRE(aot::check_program(sound()).ok()); }

TEST_CASE("Names that a runtime could not use are refused") {
  REQUIRE(method_refusal([](MethodData& method) { method.name = ""; }) ==
          "method 0: name is empty");
  REQUIRE(method_refusal([](MethodData& method) { method.name.push_back('\0'); }) ==
          "method 0: name holds a NUL byte");
  REQUIRE(method_refusal([](MethodData& method) { method.name = "\xc3"; }) ==
          "method 0: name is not UTF-8");
  REQUIRE(refusal([](ProgramData& program) { program.methods.emplace_back(); }) ==
          "method 1: the name 'forward' appears twice");
  REQUIRE(method_refusal([](MethodData& method) { method.encoded_inputs = "\xff"; }) ==
          "method 'forward': encoded_inputs is not UTF-8");
  REQUIRE(method_refusal([](MethodData& method) { method.operators[0].name = ""; }) ==
          "method 'forward': operator 0: name is empty");
  REQUIRE(method_refusal([](MethodData& method) { method.operators[0].overload = "\xff"; }) ==
          "method 'forward': operator 0: overload is not UTF-8");
  REQUIRE(method_refusal([](MethodData& method) { method.delegates[0].id = ""; }) ==
          "method 'forward': delegate 0: id is empty");
  REQUIRE(method_refusal([](MethodData& method) {
            method.delegates[0].compile_specs[0].key = "";
          }) == "method 'forward': delegate 0: compile_specs[0]: key is empty");
  REQUIRE(method_refusal([](MethodData& method) {
            method.values[2] = std::string("\xed\xa0\x80");
          }) == "method 'forward': value 2 (String): the text is not UTF-8");
}

TEST_CASE("UTF-8 is distinguished from other bytes") {
  using aot::detail::is_utf8;
  for (const std::string_view good :
       {"", "a", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
        "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    REQUIRE(is_utf8(good));
  }
  for (const std::string_view bad :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2\x41", "\xe0\x9f\xbf", "\xed\xa0\x80",
        "\xe0\xa0", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff",
        "a\xf0\x90\x80"}) {
    REQUIRE_FALSE(is_utf8(bad));
  }
}

TEST_CASE("Indices out of range and of the wrong kind are refused") {
  REQUIRE(method_refusal([](MethodData& method) { method.inputs = {0, 3}; }) ==
          "method 'forward': inputs[1] is 3, expected an index of one of 3 values");
  REQUIRE(method_refusal([](MethodData& method) { method.outputs = {-1}; }) ==
          "method 'forward': outputs[0] is -1, expected an index of one of 3 values");
  REQUIRE(method_refusal([](MethodData& method) { method.add(aot::IntList{{1, 0}}); }) ==
          "method 'forward': value 3 (IntList): items[1] is value 0 of kind Tensor, expected Int");
  REQUIRE(method_refusal([](MethodData& method) { method.add(aot::TensorList{{2}}); }) ==
          "method 'forward': value 3 (TensorList): items[0] is value 2 of kind None, expected "
          "Tensor");
  REQUIRE(
      method_refusal([](MethodData& method) { method.add(aot::OptionalTensorList{{-1, 2, 1}}); }) ==
      "method 'forward': value 3 (OptionalTensorList): items[2] is value 1 of kind Int, "
      "expected Tensor or None");
  REQUIRE(
      method_refusal([](MethodData& method) { method.add(aot::OptionalTensorList{{-2}}); }) ==
      "method 'forward': value 3 (OptionalTensorList): items[0] is -2, expected an index of one "
      "of 4 values");
}

TEST_CASE("Instructions that no runtime could run are refused") {
  REQUIRE(instruction_refusal(aot::KernelCall{1, {}}) ==
          "method 'forward': instruction 0: op_index is 1, expected an index of one of 1 "
          "operators");
  REQUIRE(instruction_refusal(aot::KernelCall{0, {0, 7}}) ==
          "method 'forward': instruction 0: args[1] is 7, expected an index of one of 3 values");
  REQUIRE(instruction_refusal(aot::DelegateCall{1, {}}) ==
          "method 'forward': instruction 0: delegate_index is 1, expected an index of one of 1 "
          "delegates");
  REQUIRE(instruction_refusal(aot::DelegateCall{0, {-1}}).find("args[0] is -1") !=
          std::string::npos);
  REQUIRE(instruction_refusal(aot::MoveCall{9, 0}).find("from is 9") != std::string::npos);
  REQUIRE(instruction_refusal(aot::MoveCall{0, 9}).find("to is 9") != std::string::npos);
  REQUIRE(instruction_refusal(aot::JumpFalseCall{9, 0}).find("condition is 9") !=
          std::string::npos);
  REQUIRE(instruction_refusal(aot::JumpFalseCall{1, 2}) ==
          "method 'forward': instruction 0: destination is 2, expected at most 1, the end");
  REQUIRE(instruction_refusal(aot::FreeCall{9}).find("value is 9") != std::string::npos);
}

TEST_CASE("Tensors without a sound layout, place or device are refused") {
  REQUIRE(tensor_refusal([](TensorValue& tensor) { tensor.layout.sizes[1] = -4; }) ==
          "method 'forward': value 0 (Tensor): sizes[1] is -4, expected 0 or more");
  REQUIRE(refusal(
              [](ProgramData& program) {
                auto& value = program.methods[0].values[0];
                std::get<TensorValue>(value).layout.scalar_type = ScalarType::ComplexHalf;
              },
              Error::NotSupported) ==
          "method 'forward': value 0 (Tensor): scalar type is ComplexHalf, which .pte and .ptd "
          "files cannot hold");
  REQUIRE(tensor_refusal([](TensorValue& tensor) { *tensor.place() = {}; }) ==
          "method 'forward': value 0 (Tensor): the tensor has no place in planned memory: its "
          "memory id is 0");
  REQUIRE(tensor_refusal([](TensorValue& tensor) { tensor.place()->memory_id = 2; }) ==
          "method 'forward': value 0 (Tensor): memory id is 2, expected below 2, the number of "
          "planned memories");
  REQUIRE(tensor_refusal([](TensorValue& tensor) { tensor.place()->offset = 52; }) ==
          "method 'forward': value 0 (Tensor): 16 bytes at offset 52 do not fit in planned memory "
          "1, which has 64");
  REQUIRE(tensor_refusal([](TensorValue& tensor) {
            tensor.place()->offset = 65;
          }).find("at offset 65") != std::string::npos);
  REQUIRE(tensor_refusal([](TensorValue& tensor) { tensor.place()->offset = 18; }) ==
          "method 'forward': value 0 (Tensor): offset 18 is not a multiple of the element size, 4");
  REQUIRE(tensor_refusal([](TensorValue& tensor) { tensor.device.index = -1; }) ==
          "method 'forward': value 0 (Tensor): device index is -1, expected 0 or more");
  REQUIRE(
      tensor_refusal([](TensorValue& tensor) { tensor.device.type = aot::ProgramDeviceType{2}; }) ==
      "method 'forward': value 0 (Tensor): device type is 2, expected 0 (CPU) or 1 (CUDA)");
  REQUIRE(tensor_refusal([](TensorValue& tensor) { tensor.fully_qualified_name = "\xff"; }) ==
          "method 'forward': value 0 (Tensor): fully_qualified_name is not UTF-8");
}

TEST_CASE("Tensors whose data is missing or too short are refused") {
  using namespace aot::storage;
  REQUIRE(
      tensor_refusal([](TensorValue& tensor) { tensor.data = Constant{1}; }) ==
      "method 'forward': value 0 (Tensor): the index of its data is 1, expected an index of one "
      "of 1 constants");
  REQUIRE(tensor_refusal([](TensorValue& tensor) {
            tensor.data = Constant{0};
            tensor.layout.sizes = {5};
          }) ==
          "method 'forward': value 0 (Tensor): the tensor needs 20 bytes, but constants[0] has 16");
  REQUIRE(
      tensor_refusal([](TensorValue& tensor) { tensor.data = InitialState{0, {1, 0}}; }) ==
      "method 'forward': value 0 (Tensor): the tensor needs 16 bytes, but initial_states[0] has "
      "4");
  REQUIRE(tensor_refusal([](TensorValue& tensor) {
            tensor.data = InitialState{0, {}};
          }).find("its memory id is 0") != std::string::npos);
  REQUIRE(tensor_refusal([](TensorValue& tensor) { tensor.data = External{}; }) ==
          "method 'forward': value 0 (Tensor): the data is external, but fully_qualified_name, its "
          "key, is empty");
  const auto with_key = [](std::optional<aot::DenseLayout> layout) {
    return refusal([&](ProgramData& program) {
      auto& tensor = std::get<TensorValue>(program.methods[0].values[0]);
      tensor.data = External{};
      tensor.fully_qualified_name = "w";
      program.named_data = {{SharedBytes::copy_of("0123456789abcdef")},
                            {},
                            {{"file", {{"w", {0, 1, std::move(layout)}}}}}};
    });
  };
  REQUIRE(with_key({}) ==
          "method 'forward': value 0 (Tensor): the external data of key 'w' has no tensor layout");
  REQUIRE(
      with_key(aot::DenseLayout{ScalarType::Float, {4}}) ==
      "method 'forward': value 0 (Tensor): the external data of key 'w' has another scalar type, "
      "other sizes or another dim order than the tensor");
}

TEST_CASE("Planned memory that the format cannot say is refused") {
  const std::string expected =
      "method 'forward': planned_memory: expected entry 0, which is reserved, to be there without "
      "bytes and device";
  REQUIRE(method_refusal([](MethodData& method) { method.planned_memory[0].nbytes = 1; }) ==
          expected);
  REQUIRE(method_refusal([](MethodData& method) { method.planned_memory.clear(); }) == expected);
  REQUIRE(method_refusal([](MethodData& method) {
            method.planned_memory[1].nbytes = ~0ull;
          }).find("planned_memory[1] has ") != std::string::npos);
  REQUIRE(method_refusal([](MethodData& method) { method.planned_memory[1].device.index = -2; }) ==
          "method 'forward': planned_memory[1]: device index is -2, expected 0 or more");
}

TEST_CASE("A key in two places is refused") {
  const auto with = [](aot::NamedDataStoreOutput data) {
    return refusal([&](ProgramData& program) { program.named_data = std::move(data); });
  };
  const std::vector<SharedBytes> one{SharedBytes::copy_of("1")};
  REQUIRE(with({one, {{"k", {0}}, {"k", {0}}}, {}}) == "named data 'k': the key appears twice");
  REQUIRE(with({one, {{"k", {0}}}, {{"f", {{"k", {0}}}}}}) ==
          "external data 'f': key 'k' is in the program or in another file, too");
  REQUIRE(with({one, {}, {{"f", {{"k", {0}}}}, {"g", {{"k", {0}}}}}}) ==
          "external data 'g': key 'k' is in the program or in another file, too");
  REQUIRE(with({one, {}, {{"f", {{"k", {7}}}}}}) ==
          "external data 'f': named data 'k': buffer index is 7, expected an index of one of 1 "
          "buffers");
}

}  // namespace tenon::test::program_check
