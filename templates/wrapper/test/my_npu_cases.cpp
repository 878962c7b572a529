// SPDX-License-Identifier: MIT
//
// my_npu_cases DIRECTORY: writes cases for tenon-conformance and a subject file,
// DIRECTORY/subject.json, which declares them for this backend.
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <tenon/host/arrays/npy.hpp>

#include "test/programs.hpp"

namespace {

namespace fs = std::filesystem;
using my_npu::test::model;
using my_npu::test::program_file;
using tenon::ScalarType;
using tenon::Status;

constexpr std::int32_t factor = 3;

Status write_text(const fs::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (file.flush()) return tenon::ok();
  return tenon::error(tenon::Error::AccessFailed, path.native(), ": cannot be written");
}

/// One run on `count` elements: a counts up from -2, b is 10.
template <class T>
Status write_run(const fs::path& directory, const std::string& run, std::int64_t count) {
  std::vector<T> a, b, expected;
  for (std::int64_t i = 0; i < count; ++i) {
    a.push_back(static_cast<T>(i - 2));
    b.push_back(T{10});
    expected.push_back(static_cast<T>(a.back() * factor + b.back()));
  }
  const std::array sizes{count, std::int64_t{1}};
  const auto write = [&](const char* name, const std::vector<T>& values) {
    return tenon::host::write_npy((directory / (name + run + ".npy")).string(),
                                  *tenon::scalar_type_of<T>, sizes,
                                  std::as_bytes(std::span(values)));
  };
  TENON_RETURN_IF_ERROR(write("a", a));
  TENON_RETURN_IF_ERROR(write("b", b));
  return write("expected", expected);
}

template <class T>
Status write_case(const fs::path& directory, npu_type type, bool is_dynamic) {
  fs::create_directories(directory);
  const auto blob = model(type, factor, {is_dynamic ? -1 : 4, 1});
  const auto file = program_file(blob, *tenon::scalar_type_of<T>, {4, 1}, is_dynamic);
  TENON_RETURN_IF_ERROR(write_text(directory / "model.pte",
                                   {reinterpret_cast<const char*>(file.data()), file.size()}));
  std::string runs;
  for (const int count : {4, 2, 0}) {
    if (count != 4 && !is_dynamic) break;
    const std::string run = std::to_string(count);
    TENON_RETURN_IF_ERROR(write_run<T>(directory, run, count));
    runs += tenon::concat(runs.empty() ? "" : ",\n", R"(  {"inputs": ["a)", run, R"(.npy", "b)",
                          run, R"(.npy"], "expected": ["expected)", run, R"(.npy"]})");
  }
  return write_text(directory / "case.json", tenon::concat("{\"runs\": [\n", runs, "\n]}\n"));
}

Status write_all(const fs::path& directory) {
  TENON_RETURN_IF_ERROR(write_case<float>(directory / "float", NPU_FLOAT32, false));
  TENON_RETURN_IF_ERROR(write_case<std::int32_t>(directory / "int", NPU_INT32, false));
  TENON_RETURN_IF_ERROR(write_case<std::int64_t>(directory / "long_dynamic", NPU_INT64, true));
  // The stand-in computes on the caller's thread. Declare what your runtime does.
  return write_text(directory / "subject.json",
                    tenon::concat(R"({"backends": {")", my_npu::backend_id,
                                  R"(": {"cases": ["*"], "max_threads": 0, )",
                                  R"("steady_allocations": 0}}})", "\n"));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: my_npu_cases DIRECTORY\n", stderr), 2;
  const Status written = write_all(argv[1]);
  if (written.ok()) return 0;
  return std::fprintf(stderr, "my_npu_cases: %s\n", tenon::describe(written).c_str()), 1;
}
