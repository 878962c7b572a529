// SPDX-License-Identifier: MIT
//
// Writes the cases of the zoo: programs for the backend of good.h with inputs and the outputs that
// are expected of them, in the directory format of docs/tools/cases.md.
#include <cstdint>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/program_builder.hpp"

namespace {

using namespace tenon;
using namespace tenon::test;
namespace fs = std::filesystem;

/// A float32 array as it is written to a `.npy` file, row-major.
struct Array {
  std::vector<std::int32_t> sizes;
  std::vector<float> elements;
};

struct Run {
  std::vector<Array> inputs;
  Array expected;
  bool fresh = false;
};

void write_file(const fs::path& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!out.flush()) throw std::runtime_error("cannot write " + path.string());
}

std::string_view text_of(const void* data, std::size_t size) {
  return {static_cast<const char*>(data), size};
}

/// Version 1.0 of the format: a header padded to a multiple of 64, then the elements.
void write_npy(const fs::path& path, const Array& array) {
  std::string shape;
  for (const std::int32_t size : array.sizes) shape += std::to_string(size) + ",";
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + shape + "), }";
  constexpr std::size_t before = 10;
  header.resize((before + header.size() + 1 + 63) / 64 * 64 - before - 1, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  bytes += text_of(array.elements.data(), array.elements.size() * sizeof(float));
  write_file(path, bytes);
}

/// The blob of good.h.
std::string blob(std::uint32_t operation, std::string_view key = {}, std::uint32_t version = 1) {
  const std::uint32_t numbers[] = {version, operation, static_cast<std::uint32_t>(key.size())};
  std::string out = "ZOO1";
  out += text_of(numbers, sizeof numbers);
  return out += key;
}

std::uint64_t nbytes_of(const std::vector<std::int32_t>& sizes) {
  std::uint64_t out = sizeof(float);
  for (const std::int32_t size : sizes) out *= static_cast<std::uint64_t>(size);
  return out;
}

/// A program of one delegate whose tensors all have the same sizes.
class OneCall {
 public:
  explicit OneCall(std::vector<std::int32_t> sizes)
      : plan_(builder.plan("forward")), sizes_(sizes) {
    memory_ = plan_.buffer(0);
  }

  /// A tensor in planned memory.
  schema::objects::TensorT tensor() {
    auto& size = plan_.table().non_const_buffer_sizes[memory_];
    auto out = planned_tensor(ScalarType::Float, sizes_, memory_, static_cast<std::uint64_t>(size));
    size += static_cast<std::int64_t>((nbytes_of(sizes_) + 15) / 16 * 16);
    out.shape_dynamism = dynamism;
    if (!dim_order.empty()) out.dim_order = dim_order;
    return out;
  }
  std::int32_t input() { return plan_.input(tensor()); }
  std::int32_t output() { return plan_.output(tensor()); }
  /// An input of the delegate alone.
  std::int32_t constant(const std::vector<float>& elements) {
    builder.constants({std::string(text_of(elements.data(), elements.size() * sizeof(float)))});
    return plan_.value(constant_tensor(ScalarType::Float, sizes_, 1));
  }
  std::int32_t call(const std::string& blob, std::vector<std::int32_t> args) {
    const auto segment = builder.segment(bytes_of(blob));
    const auto delegate = plan_.delegate("ZooBackend", schema::DataLocation::SEGMENT, segment);
    plan_.instruction(delegate_call(delegate, std::move(args)));
    return delegate;
  }
  PlanBuilder& plan() { return plan_; }

  ProgramBuilder builder;
  schema::TensorShapeDynamism dynamism = schema::TensorShapeDynamism::STATIC;
  std::vector<std::uint8_t> dim_order;

 private:
  PlanBuilder plan_;
  std::vector<std::int32_t> sizes_;
  std::uint32_t memory_ = 0;
};

class Cases {
 public:
  explicit Cases(fs::path directory) : directory_(std::move(directory)) {
    fs::remove_all(directory_);
  }

  void write(const std::string& name, std::string_view description, const OneCall& program,
             const std::vector<Run>& runs) {
    const fs::path directory = directory_ / name;
    fs::create_directories(directory);
    const AlignedBytes bytes = program.builder.build();
    write_file(directory / "model.pte", text_of(bytes.bytes().data(), bytes.bytes().size()));
    nlohmann::ordered_json json = {{"name", name},
                                   {"description", description},
                                   {"made_by", "tests/conformance/zoo/make_programs.cpp"},
                                   {"runs", nlohmann::ordered_json::array()}};
    std::size_t num_inputs = 0;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      nlohmann::ordered_json run = {{"inputs", nlohmann::ordered_json::array()}};
      const auto add = [&](const char* key, const std::string& file, const Array& array) {
        write_npy(directory / file, array);
        run[key].push_back(file);
      };
      for (const Array& input : runs[i].inputs) {
        add("inputs", "input_" + std::to_string(num_inputs++) + ".npy", input);
      }
      add("expected", "expected_" + std::to_string(i) + ".npy", runs[i].expected);
      if (runs[i].fresh) run["fresh"] = true;
      json["runs"].push_back(std::move(run));
    }
    write_file(directory / "case.json", json.dump(2) + "\n");
  }

 private:
  fs::path directory_;
};

const Array a23{{2, 3}, {1, 2, 3, 4, 5, 6}};
const Array b23{{2, 3}, {10, 20, 30, 40, 50, 60}};
const Array sum23{{2, 3}, {11, 22, 33, 44, 55, 66}};

Array filled(std::vector<std::int32_t> sizes, float value) {
  Array out{std::move(sizes), {}};
  std::size_t count = 1;
  for (const std::int32_t size : out.sizes) count *= static_cast<std::size_t>(size);
  out.elements.assign(count, value);
  return out;
}

void write_cases(Cases cases) {
  {
    OneCall add({2, 3});
    add.call(blob(0), {add.input(), add.input(), add.output()});
    cases.write("add", "Adds two tensors of static shape", add, {{{a23, b23}, sum23}});
  }
  {
    // The sizes grow and shrink, by more than the kit leaves out of what it judges of memory, and
    // are never the bounds.
    OneCall add({4, 24000});
    add.dynamism = schema::TensorShapeDynamism::DYNAMIC_BOUND;
    add.call(blob(0), {add.input(), add.input(), add.output()});
    const Array many = filled({4, 22500}, 3.0f);
    cases.write(
        "add_dynamic", "Adds two tensors of up to [4, 24000]", add,
        {{{a23, b23}, sum23}, {{many, many}, filled({4, 22500}, 6.0f)}, {{a23, b23}, sum23}});
  }
  {
    OneCall add({4, 24000});
    add.call(blob(0), {add.input(), add.input(), add.output()});
    const Array many = filled({4, 24000}, 3.0f);
    cases.write("large", "Adds two tensors of 384,000 bytes", add,
                {{{many, many}, filled({4, 24000}, 6.0f)}});
  }
  {
    OneCall add({});
    add.call(blob(0), {add.input(), add.input(), add.output()});
    cases.write("scalar", "Adds two tensors of rank 0", add,
                {{{{{}, {1.5f}}, {{}, {2.25f}}}, {{}, {3.75f}}}});
  }
  {
    OneCall add({0, 3});
    add.call(blob(0), {add.input(), add.input(), add.output()});
    const Array empty{{0, 3}, {}};
    cases.write("empty", "Adds two tensors without elements", add, {{{empty, empty}, empty}});
  }
  {
    OneCall add({1, 2, 2, 3});
    add.dim_order = {0, 2, 3, 1};
    add.call(blob(0), {add.input(), add.input(), add.output()});
    const Array a{{1, 2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};
    const Array b{{1, 2, 2, 3}, {12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}};
    const Array sum{{1, 2, 2, 3}, std::vector<float>(12, 13.0f)};
    cases.write("channels_last", "Adds two tensors with the channels innermost", add,
                {{{a, b}, sum}});
  }
  {
    OneCall add({2, 3});
    const auto in = add.input();
    const auto constant = add.constant(b23.elements);
    add.call(blob(0), {in, constant, add.output()});
    cases.write("constant", "Adds a tensor of the program", add, {{{a23}, sum23}});
  }
  {
    OneCall add({2, 3});
    const auto delegate = add.call(blob(0, "offset"), {add.input(), add.input(), add.output()});
    constexpr float scale = 2.0f, offset = 0.5f;
    add.plan().compile_spec(delegate, "scale", text_of(&scale, sizeof scale));
    const auto data = text_of(&offset, sizeof offset);
    add.builder.named_data("offset", add.builder.segment(bytes_of(data)));
    cases.write("named_data", "Scales a tensor by a compile spec and adds named data", add,
                {{{a23, b23}, {{2, 3}, {12.5f, 24.5f, 36.5f, 48.5f, 60.5f, 72.5f}}}});
  }
  {
    OneCall chain({2, 3});
    const auto a = chain.input(), b = chain.input();
    const auto middle = chain.plan().value(chain.tensor());
    chain.call(blob(0), {a, b, middle});
    chain.call(blob(0), {middle, b, chain.output()});
    cases.write("two_delegates", "Adds a tensor twice, by a delegate each", chain,
                {{{a23, b23}, {{2, 3}, {21, 42, 63, 84, 105, 126}}}});
  }
  {
    OneCall count({3});
    count.call(blob(1), {count.input(), count.output()});
    const Array a{{3}, {10, 20, 30}};
    cases.write("counter", "Adds how many runs there were", count,
                {{{a}, {{3}, {11, 21, 31}}},
                 {{a}, {{3}, {12, 22, 32}}},
                 {{a}, {{3}, {13, 23, 33}}},
                 {{a}, {{3}, {11, 21, 31}}, true}});
  }
}

}  // namespace

/// Arguments: the directory for the cases, and the subject file next to it.
int main(int argc, char** argv) try {
  if (argc != 3) throw std::runtime_error("expected a directory for the cases and a subject file");
  const fs::path directory = argv[1], subject = argv[2];
  write_cases(Cases(directory));
  const nlohmann::ordered_json json = {{"backends",
                                        {{"ZooBackend",
                                          {{"cases", {directory.filename().string()}},
                                           {"fallback_kernels", "fallback_kernels.txt"}}}}}};
  write_file(directory.parent_path() / "fallback_kernels.txt",
             "# For good_aoti.c.\naoti_torch_zoo_add\naoti_torch_zoo_mul\n");
  write_file(subject, json.dump(2) + "\n");
} catch (const std::exception& problem) {
  std::cerr << "make-zoo-programs: " << problem.what() << '\n';
  return 1;
}
