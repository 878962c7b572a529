// SPDX-License-Identifier: MIT
#include <thread>
#include <vector>

#include "fuzz/program_walk.hpp"
#include "rich_program.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/host/layers/inspect/method_meta.hpp"

using namespace tenon;
using namespace tenon::test;
using tenon::host::Program;

namespace program_test { namespace {

std::filesystem::path write(const TemporaryDirectory& directory, const AlignedBytes& file) {
  return directory.write("rich.pte", text_of(file.bytes()));
}

TEST_CASE("a program opened from a file and one opened from bytes are the same") {
  const TemporaryDirectory directory;
  const auto file = rich_program().build();
  const auto path = write(directory, file);
  const auto mapped = Program::open(path);
  const auto in_memory = Program::from_bytes(file.bytes(), nullptr, "memory");
  INFO(mapped.text());
  REQUIRE(mapped.ok());
  REQUIRE(in_memory.ok());
  CHECK((*mapped)->name() == path.string());
  CHECK((*in_memory)->name() == "memory");
  CHECK(Walk::program(*mapped) == Walk::program(*in_memory));
}

TEST_CASE("a file that cannot be opened is an error with its path") {
  const TemporaryDirectory directory;
  const auto program = Program::open(directory.path() / "missing.pte");
  REQUIRE_FALSE(program.ok());
  CHECK(program.error() == Error::AccessFailed);
  CHECK_THAT(std::string(program.text()), ContainsSubstring("missing.pte: No such file"));
}

TEST_CASE("a broken file is an error with its path") {
  const TemporaryDirectory directory;
  const auto program = Program::open(directory.write("broken.pte", "this is not a program"));
  REQUIRE_FALSE(program.ok());
  CHECK(program.error() == Error::InvalidProgram);
  CHECK_THAT(std::string(program.text()), ContainsSubstring("broken.pte: not a program"));
}

TEST_CASE("a program knows whether a tensor or a planned buffer of it names a device") {
  const auto names_devices = [](schema::DeviceType of_tensor, schema::DeviceType of_buffer) {
    ProgramBuilder builder = rich_program();
    auto& plan = *builder.program.execution_plan[0];
    plan.values[rich::state]->val.AsTensor()->extra_tensor_info->device_type = of_tensor;
    plan.non_const_buffer_device[0]->device_type = of_buffer;
    const auto file = builder.build();
    const auto program = Program::from_bytes(file.bytes(), nullptr, "x");
    INFO(program.text());
    REQUIRE(program.ok());
    return (*program)->names_devices();
  };
  using schema::DeviceType;
  CHECK(names_devices(DeviceType::CUDA, DeviceType::CPU));
  CHECK(names_devices(DeviceType::CPU, DeviceType::CUDA));
  CHECK_FALSE(names_devices(DeviceType::CPU, DeviceType::CPU));
}

TEST_CASE("a program keeps what owns its bytes alive") {
  auto file = std::make_shared<AlignedBytes>(rich_program().build());
  const std::weak_ptr<AlignedBytes> watch = file;
  const auto bytes = std::as_const(*file).bytes();
  auto program = Program::from_bytes(bytes, std::move(file), "x");
  REQUIRE(program.ok());
  file.reset();
  CHECK_FALSE(watch.expired());
  *program = nullptr;
  CHECK(watch.expired());
}

TEST_CASE("a refused program does not keep its bytes alive") {
  auto file = std::make_shared<AlignedBytes>(bytes_of("0123456789abcdef"));
  const auto bytes = std::as_const(*file).bytes();
  CHECK_FALSE(Program::from_bytes(bytes, file, "x").ok());
  CHECK(file.use_count() == 1);
}

TEST_CASE("methods are found by name") {
  const auto file = rich_program().build();
  const auto program = *Program::from_bytes(file.bytes(), nullptr, "rich.pte");
  CHECK(program->num_methods() == 2);
  CHECK(program->method_name(1) == "backward");
  CHECK(program->method_names() == std::vector<std::string_view>{"forward", "backward"});
  REQUIRE(program->plan("backward").ok());
  CHECK(*program->plan("backward") == program->flatbuffer().execution_plan()->Get(1));
  CHECK(host::MethodMeta::of(*program, "forward")->name() == "forward");

  const auto missing = program->plan("sideways");
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error() == Error::InvalidArgument);
  CHECK(missing.text() ==
        "rich.pte: no method named 'sideways'; the program has: forward, backward");
  CHECK(host::MethodMeta::of(*program, "").error() == Error::InvalidArgument);
}

TEST_CASE("methods are found among many") {
  ProgramBuilder builder;
  for (int i = 0; i < 300; ++i) builder.plan("method " + std::to_string(i));
  const auto file = builder.build();
  const auto program = *Program::from_bytes(file.bytes(), nullptr, "many.pte");
  for (int i = 0; i < 300; ++i) {
    const auto name = "method " + std::to_string(i);
    REQUIRE(program->plan(name).ok());
    CHECK((*program->plan(name))->name()->string_view() == name);
  }
  const auto missing = program->plan("method 300");
  REQUIRE_FALSE(missing.ok());
  CHECK_THAT(std::string(missing.text()), ContainsSubstring("method 15, ..."));
}

TEST_CASE("a program without methods says so") {
  const auto file = ProgramBuilder().build();
  const auto program = Program::from_bytes(file.bytes(), nullptr, "empty.pte");
  REQUIRE(program.ok());
  CHECK((*program)->num_methods() == 0);
  CHECK((*program)->plan("forward").text() ==
        "empty.pte: no method named 'forward'; the program has no methods");
}

TEST_CASE("data of a program is found where the file says") {
  const auto file = rich_program().build();
  const auto program = *Program::from_bytes(file.bytes(), nullptr, "rich.pte");
  const auto& plan = **program->plan("forward");
  REQUIRE(program->view().num_segments() == 4);
  CHECK(text_of(program->view().segment(2)) == "blob in a segment");
  CHECK(text_of(program->view().delegate_data(*plan.delegates()->Get(0))) == "blob in a segment");
  CHECK(text_of(program->view().delegate_data(*plan.delegates()->Get(1))) == "blob inside");
  CHECK(text_of(*program->view().constant_data(1, 16)) == std::string(16, 'c'));
  CHECK(text_of(*program->view().constant_data(1, 3)) == "ccc");
  CHECK(text_of(*program->view().mutable_data(0, 1, 16)) == std::string(16, 'm'));
  CHECK(program->num_keys() == 2);
  CHECK(program->key(1) == "same weights");
  REQUIRE(program->find_key("weights").has_value());
  CHECK(text_of(program->key_data(*program->find_key("weights"))) == "named data");
  CHECK_FALSE(program->find_key("weight").has_value());
}

TEST_CASE("data that a program does not have is an error") {
  const auto file = rich_program().build();
  const auto program = *Program::from_bytes(file.bytes(), nullptr, "rich.pte");
  const auto check = [](const auto& result, const std::string& text) {
    REQUIRE_FALSE(result.ok());
    CHECK(result.error() == Error::InvalidArgument);
    CHECK(result.text() == text);
  };
  check(program->view().constant_data(2, 0),
        "constant_segment.offsets[2] does not exist: it has 2");
  check(program->view().constant_data(SIZE_MAX, 0),
        "constant_segment.offsets[18446744073709551615] does not exist: it has 2");
  check(program->view().constant_data(1, 17),
        "constant_segment.offsets[1]: 17 bytes at 0 are expected in segment 0, which has 16");
  check(program->view().constant_data(1, UINT64_MAX),
        "constant_segment.offsets[1]: 18446744073709551615 bytes at 0 are expected in segment 0, "
        "which has 16");
  check(program->view().mutable_data(1, 0, 0),
        "mutable_data_segments[1] does not exist: the program has 1");
  check(program->view().mutable_data(std::uint64_t{1} << 32, 0, 0),
        "mutable_data_segments[4294967296] does not exist: the program has 1");
  check(program->view().mutable_data(0, 2, 0),
        "mutable_data_segments.offsets[2] does not exist: it has 2");
  check(program->view().mutable_data(0, 1, 17),
        "mutable_data_segments.offsets[1]: 17 bytes at 0 are expected in segment 1, which has 16");
}

TEST_CASE("dropped data of a program can be read again") {
  ProgramBuilder builder;
  builder.plan("forward");
  builder.segment(bytes_of(std::string(100'000, 's')));
  const TemporaryDirectory directory;
  const auto file = builder.build();
  const auto mapped = Program::open(write(directory, file));
  REQUIRE(mapped.ok());
  (*mapped)->drop((*mapped)->view().segment(0));
  CHECK(text_of((*mapped)->view().segment(0)) == std::string(100'000, 's'));
  const auto in_memory = Program::from_bytes(file.bytes(), nullptr, "memory");
  REQUIRE(in_memory.ok());
  (*in_memory)->drop((*in_memory)->view().segment(0));
  CHECK(text_of((*in_memory)->view().segment(0)) == std::string(100'000, 's'));
}

TEST_CASE("threads may share a program") {
  const auto file = rich_program().build();
  const auto program = *Program::from_bytes(file.bytes(), nullptr, "rich.pte");
  const auto expected = Walk::program(program);
  std::vector<std::uint64_t> found(4);
  std::vector<std::thread> threads;
  for (auto& sum : found) threads.emplace_back([&] { sum = Walk::program(program); });
  for (auto& thread : threads) thread.join();
  CHECK(found == std::vector<std::uint64_t>(4, expected));
}

}}  // namespace program_test
