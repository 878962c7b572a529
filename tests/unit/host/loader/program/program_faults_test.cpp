// SPDX-License-Identifier: MIT
#include <algorithm>
#include <numeric>

#include "rich_program.hpp"

using namespace tenon;
using namespace tenon::test;

namespace program_faults_test { namespace {

constexpr auto invalid = Error::InvalidProgram;

Fault in_program(std::string name, std::string text,
                 std::function<void(schema::objects::ProgramT&)> edit) {
  return {std::move(name), invalid, "faulty.pte: " + std::move(text),
          [=](ProgramBuilder& builder) { edit(builder.program); }};
}

TEST_CASE("a program of a later version is refused") {
  check_refused(in_program("version 1", "version is 1, this host reads version 0",
                           [](auto& program) { program.version = 1; }));
}

TEST_CASE("a program without plans or with nameless plans is refused") {
  check_refused({"no plans", invalid, "execution_plan is missing", {}, [](AlignedBytes& file) {
                   remove_field(program_in(file), schema::Program::VT_EXECUTION_PLAN);
                 }});
  check_refused({"no name", invalid, "plan 0: name is missing", {}, [](AlignedBytes& file) {
                   remove_field(forward(file), schema::ExecutionPlan::VT_NAME);
                 }});
  check_refused(in_program(
      "a name with a NUL byte", "plan 1: name 'for\\x00ward' holds a NUL byte",
      [](auto& program) { program.execution_plan[1]->name = std::string("for\0ward", 8); }));
  check_refused(in_program("two methods of one name",
                           "execution_plan[1]: 'forward' is also execution_plan[0]",
                           [](auto& program) { program.execution_plan[1]->name = "forward"; }));
}

TEST_CASE("a segment outside the file is refused") {
  check_refused(in_program("a segment that is too long",
                           "segments[3]: 11 bytes at offset 384, but the segments of the file have "
                           "394 bytes",
                           [](auto& program) { program.segments[3]->size += 1; }));
  check_refused(in_program("a segment behind the file", "segments[0]: 0 bytes at offset 395, but",
                           [](auto& program) {
                             program.segments[0]->offset = 395;
                             program.segments[0]->size = 0;
                           }));
  check_refused(in_program("a segment whose end overflows",
                           "segments[0]: 18446744073709551615 bytes at offset 1, but",
                           [](auto& program) {
                             program.segments[0]->offset = 1;
                             program.segments[0]->size = UINT64_MAX;
                           }));
  check_refused(
      {"no segments",
       invalid,
       "constant_segment: segment_index is 0, expected an index",
       {},
       [](AlignedBytes& file) { remove_field(program_in(file), schema::Program::VT_SEGMENTS); }});
}

TEST_CASE("lying constants are refused") {
  const std::vector<Fault> faults = {
      in_program("constants in two places",
                 "constant_buffer has 1 entries and constant_segment has 2, expected only one",
                 [](auto& program) {
                   program.constant_buffer.push_back(std::make_unique<schema::objects::BufferT>());
                 }),
      in_program("constants in a segment above the end",
                 "constant_segment: segment_index is 4, expected an index of one of 4 segments",
                 [](auto& program) { program.constant_segment->segment_index = 4; }),
      in_program("a constant behind its segment",
                 "constant_segment: offsets[1] is 17, but segment 0 has 16 bytes",
                 [](auto& program) { program.constant_segment->offsets[1] = 17; }),
      in_program("initial state in a segment above the end",
                 "mutable_data_segments[0]: segment_index is 4, expected an index of one of 4",
                 [](auto& program) { program.mutable_data_segments[0]->segment_index = 4; }),
      in_program("initial state behind its segment",
                 "mutable_data_segments[0]: offsets[1] is 18446744073709551615, but segment 1 has",
                 [](auto& program) { program.mutable_data_segments[0]->offsets[1] = UINT64_MAX; }),
      {"mutable data without offsets",
       invalid,
       "mutable_data_segments[0]: offsets is missing",
       {},
       [](AlignedBytes& file) {
         remove_field(*program_in(file).mutable_data_segments()->Get(0),
                      schema::SubsegmentOffsets::VT_OFFSETS);
       }},
      {"unaligned offsets", invalid, "mutable_data_segments[0]: offsets is not aligned to 8 bytes",
       [](ProgramBuilder& builder) { builder.program.mutable_data_segments[0]->offsets = {1, 1}; },
       [](AlignedBytes& file) {
         misalign(file, *program_in(file).mutable_data_segments()->Get(0),
                  schema::SubsegmentOffsets::VT_OFFSETS);
       }},
      {"no mutable data",
       invalid,
       "data_buffer_idx: mutable_data_segments[0] does not exist: the program has 0",
       {},
       [](AlignedBytes& file) {
         remove_field(program_in(file), schema::Program::VT_MUTABLE_DATA_SEGMENTS);
       }},
      in_program("no constants",
                 "plan 0 'forward': value 12 (Tensor): data_buffer_idx: constant 1 does not exist: "
                 "the program has 0",
                 [](auto& program) { program.constant_segment.reset(); }),
      in_program("a constant in a flatbuffer that is too short",
                 "plan 0 'forward': value 12 (Tensor): data_buffer_idx: constant_buffer[1] has 15 "
                 "bytes, expected at least 16",
                 [](auto& program) {
                   program.constant_segment.reset();
                   program.constant_buffer.push_back(std::make_unique<schema::objects::BufferT>());
                   program.constant_buffer.push_back(std::make_unique<schema::objects::BufferT>());
                   program.constant_buffer[1]->storage.assign(15, 'c');
                 }),
  };
  for (const auto& fault : faults) check_refused(fault);
}

TEST_CASE("constants of old files inside the flatbuffer are read") {
  auto builder = rich_program();
  builder.program.constant_segment.reset();
  builder.program.constant_buffer.push_back(std::make_unique<schema::objects::BufferT>());
  builder.program.constant_buffer.push_back(std::make_unique<schema::objects::BufferT>());
  builder.program.constant_buffer[1]->storage.assign(16, 'c');
  const auto file = builder.build();
  const auto program = host::Program::from_bytes(file.bytes(), nullptr, "old.pte");
  INFO(program.text());
  REQUIRE(program.ok());
  const auto data = (*program)->view().constant_data(1, 16);
  REQUIRE(data.ok());
  CHECK(data->size() == 16);
  CHECK(std::to_integer<char>((*data)[15]) == 'c');
  CHECK((*program)->view().constant_data(1, 17).error() == Error::InvalidArgument);
  CHECK((*program)->view().constant_data(2, 0).error() == Error::InvalidArgument);
}

TEST_CASE("lying named data is refused") {
  check_refused(in_program("a segment above the end",
                           "named_data[1]: segment_index is 4, expected an index of one of 4",
                           [](auto& program) { program.named_data[1]->segment_index = 4; }));
  check_refused(in_program("a repeated key", "named_data[1]: 'weights' is also named_data[0]",
                           [](auto& program) { program.named_data[1]->key = "weights"; }));
  check_refused({"no key", invalid, "named_data[0]: key is missing", {}, [](AlignedBytes& file) {
                   remove_field(*program_in(file).named_data()->Get(0), schema::NamedData::VT_KEY);
                 }});
}

TEST_CASE("a repeated key among many is refused") {
  auto builder = rich_program();
  for (int i = 0; i < 1000; ++i) builder.named_data("key " + std::to_string(i), 0);
  builder.named_data("key 500", 0);
  const auto file = builder.build();
  const auto program = host::Program::from_bytes(file.bytes(), nullptr, "x");
  REQUIRE_FALSE(program.ok());
  CHECK(program.error() == invalid);
  CHECK(program.text() == "x: named_data[1002]: 'key 500' is also named_data[502]");
}

TEST_CASE("text from a file cannot break or flood an error message") {
  check_refused(in_program(
      "control characters", "plan 0: name 'new\\nline\\x00[31m' holds a NUL byte",
      [](auto& program) { program.execution_plan[0]->name = std::string("new\nline\0[31m", 13); }));
  auto builder = rich_program();
  builder.program.execution_plan[0]->name = std::string(100'000, 'x');
  builder.program.execution_plan[1]->name = std::string(100'000, 'x');
  const auto file = builder.build();
  const auto program = host::Program::from_bytes(file.bytes(), nullptr, "x");
  REQUIRE_FALSE(program.ok());
  CHECK(program.text().size() < 300);
}

/// A flatbuffer in which many tables share what they point to.
class Sharing {
 public:
  Sharing() { builder_.DedupVtables(true); }

  flatbuffers::FlatBufferBuilder& builder() { return builder_; }

  Result<std::shared_ptr<const host::Program>> open(
      const std::vector<flatbuffers::Offset<schema::ExecutionPlan>>& plans) {
    schema::FinishProgramBuffer(builder_,
                                schema::CreateProgram(builder_, 0, builder_.CreateVector(plans)));
    file_ = std::make_unique<AlignedBytes>(
        std::as_bytes(std::span(builder_.GetBufferPointer(), builder_.GetSize())));
    return host::Program::from_bytes(file_->bytes(), nullptr, "shared.pte");
  }

  /// A program of so many calls of a kernel, which share one list of arguments.
  Result<std::shared_ptr<const host::Program>> open_calls(std::size_t num_calls,
                                                          std::size_t num_args) {
    const auto args = builder_.CreateVector(std::vector<std::int32_t>(num_args, 0));
    std::vector<flatbuffers::Offset<schema::Instruction>> instructions;
    for (std::size_t i = 0; i < num_calls; ++i) {
      const auto call = schema::CreateKernelCall(builder_, 0, args).Union();
      instructions.push_back(
          schema::CreateInstruction(builder_, schema::InstructionArguments::KernelCall, call));
    }
    return open({plan(instructions)});
  }

  /// A plan with one chain of `instructions` and `num_values` empty values.
  flatbuffers::Offset<schema::ExecutionPlan> plan(
      const std::vector<flatbuffers::Offset<schema::Instruction>>& instructions) {
    const auto none = schema::CreateNull(builder_).Union();
    std::vector values{schema::CreateEValue(builder_, schema::KernelTypes::Null, none)};
    std::vector operators{schema::CreateOperator(builder_, builder_.CreateString("op"))};
    std::vector chains{schema::CreateChain(builder_, 0, 0, builder_.CreateVector(instructions))};
    const std::vector<std::int32_t> no_indices;
    const std::vector<std::int64_t> sizes{0};
    const std::vector<flatbuffers::Offset<schema::BackendDelegate>> no_delegates;
    return schema::CreateExecutionPlan(
        builder_, builder_.CreateString("forward"), 0, builder_.CreateVector(values),
        builder_.CreateVector(no_indices), builder_.CreateVector(no_indices),
        builder_.CreateVector(chains), builder_.CreateVector(operators),
        builder_.CreateVector(no_delegates), builder_.CreateVector(sizes));
  }

 private:
  flatbuffers::FlatBufferBuilder builder_;
  std::unique_ptr<AlignedBytes> file_;
};

TEST_CASE("a program whose tables multiply by sharing is refused before it takes long") {
  Sharing sharing;
  auto& builder = sharing.builder();
  const std::vector<std::int32_t> no_args;
  const auto call = schema::CreateKernelCall(builder, 0, builder.CreateVector(no_args)).Union();
  const auto instruction =
      schema::CreateInstruction(builder, schema::InstructionArguments::KernelCall, call);
  const auto plan = sharing.plan(std::vector(20'000, instruction));
  const auto program = sharing.open(std::vector(20'000, plan));
  REQUIRE_FALSE(program.ok());
  CHECK(program.error() == invalid);
  CHECK_THAT(std::string(program.text()), ContainsSubstring("the flatbuffer of"));
}

TEST_CASE("a program whose lists are shared too often is refused before it takes long") {
  Sharing sharing;
  const auto program = sharing.open_calls(5'000, 50'000);
  REQUIRE_FALSE(program.ok());
  CHECK(program.error() == invalid);
  CHECK_THAT(std::string(program.text()), ContainsSubstring("shared so often"));
}

TEST_CASE("moderate sharing of lists is valid") {
  Sharing sharing;
  const auto program = sharing.open_calls(1'000, 3);
  INFO(program.text());
  CHECK(program.ok());
}

}}  // namespace program_faults_test
