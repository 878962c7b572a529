// SPDX-License-Identifier: MIT
//
// Writes the cases of the examples hello and demo_backend into a directory: their blobs are short,
// so no exporter is needed. A test compares the directories next to this file with its output.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "support/program_builder.hpp"
#include "tenon/host/layers/arrays/npy.hpp"
#include "tenon/host/schema/program_generated.h"

namespace {

namespace fs = std::filesystem;
using tenon::ScalarType;
using Shape = std::vector<std::int32_t>;

std::size_t count(const Shape& shape) {
  std::size_t out = 1;
  for (const std::int32_t size : shape) out *= static_cast<std::size_t>(size);
  return out;
}

void write(const fs::path& path, std::span<const std::byte> bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

void write_array(const fs::path& path, const Shape& shape, const std::vector<float>& values) {
  const std::vector<std::int64_t> sizes(shape.begin(), shape.end());
  const auto written = tenon::host::write_npy(path.string(), ScalarType::Float, sizes,
                                              std::as_bytes(std::span(values)));
  if (!written.ok()) std::fprintf(stderr, "%s\n", tenon::describe(written).c_str());
}

/// The function of a program on two arrays, element by element.
using Binary = std::function<float(float, float)>;

struct Program {
  std::string backend;
  std::string blob;
  Shape bounds;
  bool is_dynamic = false;
};

/// A method that takes two float32 tensors and gives one, all of one shape, by one delegate.
tenon::test::AlignedBytes build(const Program& program) {
  tenon::test::ProgramBuilder builder;
  auto plan = builder.plan("forward");
  // Room for three tensors, each at an address that suits vectors.
  const std::size_t step = count(program.bounds) * sizeof(float) / 64 * 64 + 64;
  const auto memory = plan.buffer(static_cast<std::int64_t>(3 * step));
  const auto tensor = [&](std::size_t place) {
    auto out = tenon::test::planned_tensor(ScalarType::Float, program.bounds, memory, place * step);
    if (program.is_dynamic) {
      out.shape_dynamism = tenon::schema::TensorShapeDynamism::DYNAMIC_BOUND;
    }
    return out;
  };
  const auto a = plan.input(tensor(0));
  const auto b = plan.input(tensor(1));
  const auto out = plan.output(tensor(2));
  const auto segment = builder.segment(tenon::test::bytes_of(program.blob));
  const auto delegate =
      plan.delegate(program.backend, tenon::schema::DataLocation::SEGMENT, segment);
  plan.instruction(tenon::test::delegate_call(delegate, {a, b, out}));
  return builder.build();
}

/// Writes a case that runs once with each of `shapes`.
void write_case(const fs::path& directory, std::string_view description, const Program& program,
                const std::vector<Shape>& shapes, const Binary& compute) {
  fs::create_directories(directory);
  write(directory / "model.pte", build(program).bytes());
  std::string runs;
  for (std::size_t run = 0; run < shapes.size(); ++run) {
    const std::size_t size = count(shapes[run]);
    std::vector<float> a(size), b(size), out(size);
    for (std::size_t i = 0; i < size; ++i) {
      a[i] = static_cast<float>(i) * 0.75F - 2.0F;
      b[i] = 1.5F - static_cast<float>(i * i % 7);
      out[i] = compute(a[i], b[i]);
    }
    const std::string number = std::to_string(run);
    write_array(directory / ("a" + number + ".npy"), shapes[run], a);
    write_array(directory / ("b" + number + ".npy"), shapes[run], b);
    write_array(directory / ("expected" + number + ".npy"), shapes[run], out);
    runs += tenon::concat(run == 0 ? "" : ",", "\n    {\"inputs\": [\"a", number, ".npy\", \"b",
                          number, ".npy\"], \"expected\": [\"expected", number, ".npy\"]}");
  }
  std::ofstream(directory / "case.json")
      << "{\n  \"description\": \"" << description << "\",\n  \"runs\": [" << runs
      << "\n  ],\n  \"made_by\": {\"program\": \"tests/conformance/cases/make_cases.cpp\"}\n}\n";
}

/// hello's blob: the rank as 32 bits.
std::string rank_blob(std::size_t rank) {
  std::string out(4, '\0');
  out[0] = static_cast<char>(rank);
  return out;
}

void write_hello(const fs::path& directory) {
  const auto add = [&](const char* name, std::string_view description, const Shape& bounds,
                       const std::vector<Shape>& shapes) {
    write_case(directory / name, description,
               {"Add", rank_blob(bounds.size()), bounds, shapes.size() > 1}, shapes, std::plus{});
  };
  add("add", "two matrices", {2, 3}, {{2, 3}});
  add("dynamic_shapes", "rows from none to four", {4, 3}, {{4, 3}, {1, 3}, {0, 3}, {3, 3}});
  add("scalar", "tensors without dimensions", {}, {{}});
  add("no_elements", "tensors without elements", {2, 0, 3}, {{2, 0, 3}});
}

/// demo_backend's blob: instructions, each with its operator, number of elements and debug handle.
void write_demo(const fs::path& directory) {
  const auto program = [](std::string_view op, const Shape& shape) {
    return Program{"BackendWithCompilerDemo",
                   tenon::concat("1version:0#op:demo::", op, ", numel:", count(shape),
                                 ", dtype:torch.float32<debug_handle>1#"),
                   shape, false};
  };
  write_case(directory / "add", "two matrices", program("aten.add.Tensor", {3, 5}), {{3, 5}},
             std::plus{});
  write_case(directory / "mul", "two vectors", program("aten.mul.Tensor", {7}), {{7}},
             std::multiplies{});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make-cases DIR\n");
    return 2;
  }
  write_hello(fs::path(argv[1]) / "hello");
  write_demo(fs::path(argv[1]) / "demo_backend");
  return 0;
}
