// SPDX-License-Identifier: MIT
// Writes a case of the conformance kit for AcmeSmooth into a directory: smooth-case DIRECTORY
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <tenon/conformance/record_program.hpp>
#include <tenon/host/layers/arrays/npy.hpp>

namespace {

using tenon::conformance::RecordedArgument;
using tenon::conformance::RecordedTensor;
using tenon::conformance::write_program;

constexpr float alpha = 0.25F;

/// A method that is one call of AcmeSmooth, of an input and an output with three elements.
std::vector<std::byte> program() {
  std::vector<std::byte> blob(16);
  const std::uint32_t version = 1, count = 3;
  std::memcpy(blob.data(), "ACME", 4);
  std::memcpy(blob.data() + 4, &version, 4);
  std::memcpy(blob.data() + 8, &alpha, 4);
  std::memcpy(blob.data() + 12, &count, 4);
  const RecordedTensor tensor{.bounds = {3}, .dim_order = {0}, .is_planned = true};
  return write_program({.backend_id = "AcmeSmooth",
                        .blob = blob,
                        .arguments = {RecordedArgument{tensor}, RecordedArgument{tensor, true}}});
}

tenon::Status write_array(const std::filesystem::path& path, const std::array<float, 3>& values) {
  constexpr std::array<std::int64_t, 1> sizes{3};
  return tenon::host::write_npy(path, tenon::ScalarType::Float, sizes,
                                std::as_bytes(std::span(values)));
}

tenon::Status write_case(const std::filesystem::path& directory) {
  std::filesystem::create_directories(directory);
  const std::vector<std::byte> bytes = program();
  std::ofstream(directory / "model.pte", std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<long>(bytes.size()));
  std::ofstream(directory / "case.json") << R"({
  "description": "two runs of one state",
  "runs": [
    {"inputs": ["x0.npy"], "expected": ["y0.npy"]},
    {"inputs": ["x1.npy"], "expected": ["y1.npy"]}
  ]
}
)";
  // alpha is a quarter: the state is 0.25 x0, then 0.75 of that and 0.25 x1.
  TENON_RETURN_IF_ERROR(write_array(directory / "x0.npy", {4, 8, -4}));
  TENON_RETURN_IF_ERROR(write_array(directory / "y0.npy", {1, 2, -1}));
  TENON_RETURN_IF_ERROR(write_array(directory / "x1.npy", {1, 2, 3}));
  return write_array(directory / "y1.npy", {1, 2, 0});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const tenon::Status status = write_case(argv[1]);
  if (!status.ok()) std::fprintf(stderr, "smooth-case: %s\n", tenon::describe(status).c_str());
  return status.ok() ? 0 : 1;
}
