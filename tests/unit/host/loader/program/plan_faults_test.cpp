// SPDX-License-Identifier: MIT
#include "rich_program.hpp"
#include "tenon/host/layers/inspect/method_meta.hpp"

using namespace tenon;
using namespace tenon::test;

namespace plan_faults_test { namespace {

constexpr auto invalid = Error::InvalidProgram;

/// A fault in the table of method "forward".
Fault in_plan(std::string name, std::string text,
              std::function<void(schema::objects::ExecutionPlanT&)> edit) {
  return {std::move(name), invalid, "plan 0 'forward': " + std::move(text),
          [=](ProgramBuilder& builder) { edit(forward(builder)); }};
}

/// A fault made by leaving a field of the plan out.
Fault without(std::string field, flatbuffers::voffset_t number) {
  return {"no " + field,
          invalid,
          "plan 0 'forward': " + field + " is missing",
          {},
          [=](AlignedBytes& file) { remove_field(forward(file), number); }};
}

/// A fault made by replacing one instruction.
template <class Payload>
Fault in_instruction(std::size_t index, std::string name, std::string text, Payload payload) {
  return in_plan(std::move(name),
                 "chain 0: instruction " + std::to_string(index) + " (" + std::move(text),
                 [=](schema::objects::ExecutionPlanT& plan) {
                   plan.chains[0]->instructions[index]->instr_args.Set(Payload(payload));
                 });
}

const schema::Instruction& instruction_at(const AlignedBytes& file, std::uint32_t index) {
  return *forward(file).chains()->Get(0)->instructions()->Get(index);
}

const schema::BackendDelegate& delegate_at(const AlignedBytes& file, std::uint32_t index) {
  return *forward(file).delegates()->Get(index);
}

TEST_CASE("a plan without a required list is refused") {
  using schema::ExecutionPlan;
  check_refused(without("values", ExecutionPlan::VT_VALUES));
  check_refused(without("inputs", ExecutionPlan::VT_INPUTS));
  check_refused(without("outputs", ExecutionPlan::VT_OUTPUTS));
  check_refused(without("delegates", ExecutionPlan::VT_DELEGATES));
  check_refused(without("chains", ExecutionPlan::VT_CHAINS));
  check_refused(without("non_const_buffer_sizes", ExecutionPlan::VT_NON_CONST_BUFFER_SIZES));
  check_refused(in_plan("an empty list of chains", "chains is missing or empty",
                        [](auto& plan) { plan.chains.clear(); }));
  check_refused({"no instructions",
                 invalid,
                 "plan 0 'forward': chain 0: instructions is missing",
                 {},
                 [](AlignedBytes& file) {
                   remove_field(*forward(file).chains()->Get(0), schema::Chain::VT_INSTRUCTIONS);
                 }});
}

TEST_CASE("a plan without operators is refused only when an instruction needs one") {
  check_refused(
      {"a kernel call without operators",
       invalid,
       "instruction 0 (KernelCall): op_index is 0, expected an index of one of 0 operators",
       {},
       [](AlignedBytes& file) {
         remove_field(forward(file), schema::ExecutionPlan::VT_OPERATORS);
       }});
  auto file = delegate_program("Add", "blob").build();
  remove_field(forward(file), schema::ExecutionPlan::VT_OPERATORS);
  CHECK(host::Program::from_bytes(file.bytes(), nullptr, "x").ok());
}

TEST_CASE("optional parts of a plan may be absent") {
  auto file = rich_program().build();
  const auto& plan = forward(file);
  remove_field(plan, schema::ExecutionPlan::VT_CONTAINER_META_TYPE);
  remove_field(plan, schema::ExecutionPlan::VT_NON_CONST_BUFFER_DEVICE);
  remove_field(*plan.chains()->Get(0), schema::Chain::VT_INPUTS);
  remove_field(*plan.chains()->Get(0), schema::Chain::VT_OUTPUTS);
  remove_field(*plan.chains()->Get(0), schema::Chain::VT_STACKTRACE);
  remove_field(*plan.operators()->Get(0), schema::Operator::VT_OVERLOAD);
  const auto program = host::Program::from_bytes(file.bytes(), nullptr, "x");
  INFO(program.text());
  REQUIRE(program.ok());
  CHECK(*host::MethodMeta::of(**program, "forward")->operator_name(0) == "aten::add");
}

TEST_CASE("a plan with an index out of range is refused") {
  const std::vector<Fault> faults = {
      in_plan("an input above the end", "inputs[0] is 15, expected an index of one of 15 values",
              [](auto& plan) { plan.inputs[0] = rich::count; }),
      in_plan("a negative input", "inputs[0] is -1, expected an index",
              [](auto& plan) { plan.inputs[0] = -1; }),
      in_plan("an output above the end", "outputs[1] is 99, expected an index of one of 15 values",
              [](auto& plan) { plan.outputs.push_back(99); }),
      in_plan("a negative output", "outputs[0] is -2147483648, expected an index",
              [](auto& plan) { plan.outputs[0] = INT32_MIN; }),
      in_plan("a chain's input above the end", "chain 0: inputs[0] is 15, expected an index",
              [](auto& plan) { plan.chains[0]->inputs = {rich::count}; }),
      in_plan("a chain's negative output", "chain 0: outputs[0] is -1, expected an index",
              [](auto& plan) { plan.chains[0]->outputs = {-1}; }),
      in_instruction(0, "a kernel's argument above the end",
                     "KernelCall): args[1] is 15, expected an index of one of 15 values",
                     kernel_call(0, {0, rich::count})),
      in_instruction(0, "a kernel's negative argument",
                     "KernelCall): args[0] is -1, expected an index", kernel_call(0, {-1})),
      in_instruction(0, "an operator above the end",
                     "KernelCall): op_index is 1, expected an index of one of 1 operators",
                     kernel_call(1, {})),
      in_instruction(0, "a negative operator", "KernelCall): op_index is -1, expected an index",
                     kernel_call(-1, {})),
      in_instruction(1, "a delegate's argument above the end",
                     "DelegateCall): args[0] is 15, expected an index of one of 15 values",
                     delegate_call(0, {rich::count})),
      in_instruction(1, "a delegate's negative argument",
                     "DelegateCall): args[2] is -5, expected an index",
                     delegate_call(0, {0, 1, -5})),
      in_instruction(1, "a delegate above the end",
                     "DelegateCall): delegate_index is 2, expected an index of one of 2 delegates",
                     delegate_call(2, {})),
      in_instruction(1, "a negative delegate", "DelegateCall): delegate_index is -1, expected",
                     delegate_call(-1, {})),
      in_instruction(3, "a move from above the end",
                     "MoveCall): move_from is 15, expected an index of one of 15 values",
                     move_call(rich::count, 0)),
      in_instruction(3, "a move from a negative index", "MoveCall): move_from is -1, expected",
                     move_call(-1, 0)),
      in_instruction(3, "a move to above the end", "MoveCall): move_to is 15, expected an index",
                     move_call(0, rich::count)),
      in_instruction(3, "a move to a negative index", "MoveCall): move_to is -1, expected",
                     move_call(0, -1)),
      in_instruction(4, "a condition above the end",
                     "JumpFalseCall): cond_value_index is 15, expected an index",
                     jump_false_call(rich::count, 0)),
      in_instruction(4, "a negative condition",
                     "JumpFalseCall): cond_value_index is -1, expected an index",
                     jump_false_call(-1, 0)),
      in_instruction(4, "a jump behind the end",
                     "JumpFalseCall): destination_instruction is 7, expected 0 to 6, the end of "
                     "the chain",
                     jump_false_call(rich::boolean, 7)),
      in_instruction(4, "a jump before the start",
                     "JumpFalseCall): destination_instruction is -1, expected 0 to 6",
                     jump_false_call(rich::boolean, -1)),
      in_instruction(5, "a freed value above the end",
                     "FreeCall): value_index is 15, expected an index", free_call(rich::count)),
      in_instruction(5, "a negative freed value", "FreeCall): value_index is -1, expected",
                     free_call(-1)),
  };
  for (const auto& fault : faults) check_refused(fault);
}

TEST_CASE("an instruction of an unknown type is refused") {
  const auto with_type = [](int type, std::string text) {
    return in_plan("type " + std::to_string(type), "chain 0: instruction 5 (" + std::move(text),
                   [=](auto& plan) {
                     plan.chains[0]->instructions[5]->instr_args.Reset();
                     plan.chains[0]->instructions[5]->instr_args.type =
                         static_cast<schema::objects::InstructionArguments>(type);
                   });
  };
  check_refused(with_type(0, "NONE): type is 0, expected 1 to 5"));
  check_refused(with_type(6, "): type is 6, expected 1 to 5"));
  check_refused(with_type(200, "): type is 200, expected 1 to 5"));
}

TEST_CASE("an instruction without its table or arguments is refused") {
  for (std::uint32_t index = 0; index < 6; ++index) {
    check_refused({"instruction " + std::to_string(index),
                   invalid,
                   "chain 0: instruction " + std::to_string(index) + " (",
                   {},
                   [=](AlignedBytes& file) {
                     remove_field(instruction_at(file, index), schema::Instruction::VT_INSTR_ARGS);
                   }});
  }
  check_refused({"a kernel call",
                 invalid,
                 "instruction 0 (KernelCall): args is missing",
                 {},
                 [](AlignedBytes& file) {
                   remove_field(*instruction_at(file, 0).instr_args_as_KernelCall(),
                                schema::KernelCall::VT_ARGS);
                 }});
  check_refused({"a delegate call",
                 invalid,
                 "instruction 1 (DelegateCall): args is missing",
                 {},
                 [](AlignedBytes& file) {
                   remove_field(*instruction_at(file, 1).instr_args_as_DelegateCall(),
                                schema::DelegateCall::VT_ARGS);
                 }});
}

TEST_CASE("a jump to the end of its chain is valid") {
  auto builder = rich_program();
  forward(builder).chains[0]->instructions[4]->instr_args.Set(jump_false_call(rich::boolean, 6));
  const auto file = builder.build();
  CHECK(host::Program::from_bytes(file.bytes(), nullptr, "x").ok());
}

TEST_CASE("a program with lying planned buffers is refused") {
  const auto device = [](std::int32_t buffer, int type, std::int8_t index) {
    return [=](schema::objects::ExecutionPlanT& plan) {
      auto& entry = *plan.non_const_buffer_device.emplace_back(
          std::make_unique<schema::objects::NonConstBufferDeviceT>());
      entry.buffer_idx = buffer;
      entry.device_type = static_cast<schema::DeviceType>(type);
      entry.device_index = index;
    };
  };
  const std::vector<Fault> faults = {
      in_plan("a negative size", "non_const_buffer_sizes[2] is -16, expected 0 or more",
              [](auto& plan) { plan.non_const_buffer_sizes[2] = -16; }),
      in_plan("a device for the reserved buffer",
              "non_const_buffer_device[1]: buffer_idx is 0, expected 1 or more and below 3",
              device(0, 0, 0)),
      in_plan("a device for a buffer above the end",
              "non_const_buffer_device[1]: buffer_idx is 3, expected 1 or more and below 3",
              device(3, 0, 0)),
      in_plan("a device for a negative buffer", "non_const_buffer_device[1]: buffer_idx is -1",
              device(-1, 0, 0)),
      in_plan("two devices for one buffer",
              "non_const_buffer_device[1]: buffer_idx is 2, which has a device already",
              device(2, 0, 0)),
      in_plan("an unknown device", "non_const_buffer_device[1]: device_type is 9, expected",
              device(1, 9, 0)),
      in_plan("a negative device index", "non_const_buffer_device[1]: device_index is -2, expected",
              device(1, 1, -2)),
  };
  for (const auto& fault : faults) check_refused(fault);
  check_refused({"unaligned sizes", invalid,
                 "plan 0 'forward': non_const_buffer_sizes is not aligned to 8 bytes",
                 [](ProgramBuilder& builder) { forward(builder).non_const_buffer_sizes = {1, 1}; },
                 [](AlignedBytes& file) {
                   misalign(file, forward(file), schema::ExecutionPlan::VT_NON_CONST_BUFFER_SIZES);
                 }});
}

TEST_CASE("the size of the reserved planned buffer means nothing") {
  auto builder = rich_program();
  forward(builder).non_const_buffer_sizes[0] = -1;
  const auto file = builder.build();
  CHECK(host::Program::from_bytes(file.bytes(), nullptr, "x").ok());
}

TEST_CASE("a program with a lying delegate is refused") {
  const std::vector<Fault> faults = {
      in_plan("a segment above the end",
              "delegate 0: processed: index is 4, expected an index of one of 4 segments",
              [](auto& plan) { plan.delegates[0]->processed->index = 4; }),
      in_plan("inline data above the end",
              "delegate 1: processed: index is 1, expected an index of one of 1 "
              "backend_delegate_data",
              [](auto& plan) { plan.delegates[1]->processed->index = 1; }),
      in_plan("a huge index", "delegate 1: processed: index is 4294967295, expected an index",
              [](auto& plan) { plan.delegates[1]->processed->index = UINT32_MAX; }),
      in_plan("an unknown location",
              "delegate 0: processed: location is 2, expected 0 (INLINE) or 1 (SEGMENT)",
              [](auto& plan) {
                plan.delegates[0]->processed->location = static_cast<schema::DataLocation>(2);
              }),
      in_plan("no reference", "delegate 0: processed is missing",
              [](auto& plan) { plan.delegates[0]->processed.reset(); }),
      in_plan("an id with a NUL byte", "delegate 0: id 'Out\\x00side' holds a NUL byte",
              [](auto& plan) { plan.delegates[0]->id = std::string("Out\0side", 8); }),
      in_plan("a key with a NUL byte",
              "delegate 0: compile_specs[1]: key 'a\\x00' holds a NUL byte",
              [](auto& plan) { plan.delegates[0]->compile_specs[1]->key = std::string("a\0", 2); }),
      {"no id",
       invalid,
       "plan 0 'forward': delegate 1: id is missing",
       {},
       [](AlignedBytes& file) {
         remove_field(delegate_at(file, 1), schema::BackendDelegate::VT_ID);
       }},
      {"no compile specs",
       invalid,
       "plan 0 'forward': delegate 0: compile_specs is missing",
       {},
       [](AlignedBytes& file) {
         remove_field(delegate_at(file, 0), schema::BackendDelegate::VT_COMPILE_SPECS);
       }},
      {"a compile spec without a key",
       invalid,
       "delegate 0: compile_specs[0]: key is missing",
       {},
       [](AlignedBytes& file) {
         remove_field(*delegate_at(file, 0).compile_specs()->Get(0), schema::CompileSpec::VT_KEY);
       }},
      {"a compile spec without a value",
       invalid,
       "delegate 0: compile_specs[1]: value is missing",
       {},
       [](AlignedBytes& file) {
         remove_field(*delegate_at(file, 0).compile_specs()->Get(1), schema::CompileSpec::VT_VALUE);
       }},
      {"inline data without data",
       invalid,
       "delegate 1: processed: backend_delegate_data[0] has no data",
       {},
       [](AlignedBytes& file) {
         remove_field(*program_in(file).backend_delegate_data()->Get(0),
                      schema::BackendDelegateInlineData::VT_DATA);
       }},
      {"no inline data at all",
       invalid,
       "delegate 1: processed: index is 0, expected an index of one of 0 backend_delegate_data",
       {},
       [](AlignedBytes& file) {
         remove_field(program_in(file), schema::Program::VT_BACKEND_DELEGATE_DATA);
       }},
      {"an operator without a name",
       invalid,
       "plan 0 'forward': operator 0: name is missing",
       {},
       [](AlignedBytes& file) {
         remove_field(*forward(file).operators()->Get(0), schema::Operator::VT_NAME);
       }},
  };
  for (const auto& fault : faults) check_refused(fault);
}

TEST_CASE("a fault in a later plan names that plan") {
  check_refused({"an input of the second method", invalid,
                 "plan 1 'backward': inputs[0] is 0, expected an index of one of 0 values",
                 [](ProgramBuilder& builder) { builder.program.execution_plan[1]->inputs = {0}; }});
}

}}  // namespace plan_faults_test
