// SPDX-License-Identifier: MIT
#include "programs.hpp"

#include <cstdint>
#include <fstream>
#include <string_view>

#include "harness.hpp"
#include "support/program_builder.hpp"

namespace tenon::bench {
namespace {

constexpr std::int32_t num_elements = 4;
constexpr std::uint64_t slot_bytes = 16;

/// Float tensor number `place` in planned memory.
schema::objects::TensorT planned(std::uint32_t memory, std::uint64_t place, Shapes shapes) {
  auto tensor = test::planned_tensor(ScalarType::Float, {num_elements}, memory, place * slot_bytes);
  if (shapes == Shapes::Bounded) {
    tensor.shape_dynamism = schema::TensorShapeDynamism::DYNAMIC_BOUND;
  }
  return tensor;
}

void write_built(test::ProgramBuilder& builder, const std::string& path) {
  // Without any, it would be a program of a time that the stock runtime does not read.
  builder.constants({});
  const auto built = builder.build();
  const auto bytes = built.bytes();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw Failure("cannot write " + path);
}

}  // namespace

void write_delegate_calls(const std::string& id, int calls, Shapes shapes,
                          const std::string& path) {
  test::ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto memory = plan.buffer(2 * slot_bytes);
  const auto x = plan.input(planned(memory, 0, shapes));
  const auto y = plan.output(planned(memory, 1, shapes));
  const auto segment = builder.segment(test::bytes_of("NOOP"));
  const auto delegate = plan.delegate(id, schema::DataLocation::SEGMENT, segment);
  for (int i = 0; i < calls; ++i) plan.instruction(test::delegate_call(delegate, {x, y}));
  write_built(builder, path);
}

void write_addition(const std::string& path) {
  test::ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto memory = plan.buffer(3 * slot_bytes);
  const auto a = plan.input(planned(memory, 0, Shapes::Fixed));
  const auto b = plan.input(planned(memory, 1, Shapes::Fixed));
  const auto sum = plan.output(planned(memory, 2, Shapes::Fixed));
  // The blob is the rank, in little-endian order.
  const auto segment = builder.segment(test::bytes_of(std::string_view("\1\0\0\0", 4)));
  const auto delegate = plan.delegate("Add", schema::DataLocation::SEGMENT, segment);
  plan.instruction(test::delegate_call(delegate, {a, b, sum}));
  write_built(builder, path);
}

void write_kernel_calls(int calls, Shapes shapes, const std::string& path) {
  test::ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto memory = plan.buffer(3 * slot_bytes);
  const auto a = plan.input(planned(memory, 0, shapes));
  const auto b = plan.input(planned(memory, 1, shapes));
  const auto alpha = plan.value(test::int_value(1));
  const auto sum = plan.output(planned(memory, 2, shapes));
  const auto add = plan.op("aten::add", "out");
  // An operator's result comes after its arguments once more.
  for (int i = 0; i < calls; ++i) {
    plan.instruction(test::kernel_call(add, {a, b, alpha, sum, sum}));
  }
  write_built(builder, path);
}

}  // namespace tenon::bench
