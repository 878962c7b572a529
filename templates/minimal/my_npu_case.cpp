// SPDX-License-Identifier: MIT
//
// my_npu_case DIRECTORY: writes DIRECTORY/scale, a test case for tenon-conformance: a program with
// one delegate of MyNpuBackend, an input, and the expected output.
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <tenon/conformance/record_program.hpp>
#include <tenon/host/layers/arrays/npy.hpp>

namespace {

constexpr float factor = 1.5F;
constexpr std::array<float, 6> input{-2.0F, -1.0F, 0.0F, 0.25F, 3.0F, 1e6F};

std::vector<std::byte> blob() {
  const std::uint32_t version = 1;
  std::vector<std::byte> out(8);
  std::memcpy(out.data(), &version, sizeof version);
  std::memcpy(out.data() + 4, &factor, sizeof factor);
  return out;
}

tenon::Status write_array(const std::filesystem::path& file, const std::array<float, 6>& values) {
  const std::array<std::int64_t, 2> sizes{2, 3};
  return tenon::host::write_npy(file.string(), tenon::ScalarType::Float, sizes,
                                std::as_bytes(std::span(values)));
}

tenon::Status write_case(const std::filesystem::path& directory) {
  tenon::conformance::RecordedTensor tensor;
  tensor.bounds = {2, 3};
  tensor.dim_order = {0, 1};
  tenon::conformance::RecordedProgram program;
  program.backend_id = "MyNpuBackend";
  program.blob = blob();
  program.arguments = {{tensor, false}, {tensor, true}};
  const auto bytes = tenon::conformance::write_program(program);

  std::array<float, 6> expected{};
  for (std::size_t i = 0; i < input.size(); ++i) expected[i] = input[i] * factor;
  std::filesystem::create_directories(directory);
  std::ofstream file(directory / "model.pte", std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  if (!file.flush())
    return tenon::error(tenon::Error::AccessFailed, "model.pte: cannot be written");
  TENON_RETURN_IF_ERROR(write_array(directory / "input_0.npy", input));
  return write_array(directory / "expected_0.npy", expected);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: my_npu_case DIRECTORY\n", stderr), 2;
  const tenon::Status written = write_case(std::filesystem::path(argv[1]) / "scale");
  if (written.ok()) return 0;
  return std::fprintf(stderr, "my_npu_case: %s\n", tenon::describe(written).c_str()), 1;
}
