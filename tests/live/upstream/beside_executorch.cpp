// SPDX-License-Identifier: MIT
//
// Runs programs in the stock ExecuTorch runtime and in our host with plugins, in turns in this one
// process, and compares every output bit for bit: first the runs of a case, then the same shapes
// with other numbers. Both use the same backends and kernels of the wheel, so nothing may differ.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <tenon/host.hpp>
#include <utility>
#include <vector>

#include "kit/fixtures/case_method.hpp"
#include "stock_method.hpp"
#include "tenon/conformance/case.hpp"
#include "tenon/conformance/compare.hpp"
#include "tenon/host/arrays.hpp"

namespace {

namespace fs = std::filesystem;
namespace kit = tenon::conformance;
using namespace tenon;
using namespace tenon::live;

struct Arguments {
  std::vector<std::string> plugins;
  std::vector<std::string> cases;
  int rounds = 3;
};

/// The result of the runs of one case.
struct Outcome {
  std::size_t num_runs = 0;
  std::size_t num_bytes = 0;  ///< Compared and found the same.
  double largest = 0;         ///< Difference from what the case expects.
};

/// One method on both sides.
struct Pair {
  StockMethod stock;
  std::unique_ptr<kit::CaseMethod> ours;
};

std::string text_of(std::span<const std::int64_t> sizes) {
  std::string out = "[";
  for (const std::int64_t size : sizes) out += concat(out.size() > 1 ? ", " : "", size);
  return out + "]";
}

Result<MemoryTensor> read_input(const kit::CaseValue& value, const tenon_value& target) {
  if (target.kind != TENON_VALUE_TENSOR) {
    return tenon::error(Error::NotSupported, "an input is not a tensor");
  }
  const tenon_tensor& tensor = *target.as.tensor;
  const auto rank = static_cast<std::size_t>(tensor.dl.ndim);
  TENON_TRY(auto array, kit::read_array(value, static_cast<ScalarType>(tensor.scalar_type)));
  MemoryTensor out{array.type, array.shape, {tensor.dim_order, tensor.dim_order + rank}, {}};
  const auto bytes = tenon::host::to_layout(std::move(array), out.dim_order);
  out.bytes.assign(bytes.data(), bytes.data() + bytes.size());
  return out;
}

Result<std::vector<MemoryTensor>> read_inputs(const kit::CaseRun& run,
                                              const tenon::host::Method& method) {
  std::vector<MemoryTensor> out;
  if (run.inputs.size() != method.num_inputs()) {
    return tenon::error(Error::InvalidArgument, "the method has ", method.num_inputs(),
                        " inputs, the case ", run.inputs.size());
  }
  for (std::size_t i = 0; i < run.inputs.size(); ++i) {
    TENON_TRY(out.emplace_back(), read_input(run.inputs[i], method.input(i)));
  }
  return out;
}

/// Puts other numbers into float32 tensors; other tensors, which may be indices, stay.
void fill_with_noise(std::vector<MemoryTensor>& inputs, std::mt19937& generator) {
  std::normal_distribution<float> normal;
  for (MemoryTensor& input : inputs) {
    if (input.type != ScalarType::Float) continue;
    for (std::size_t at = 0; at < input.bytes.size(); at += sizeof(float)) {
      const float number = normal(generator);
      std::memcpy(input.bytes.data() + at, &number, sizeof number);
    }
  }
}

Result<std::vector<MemoryTensor>> run_ours(tenon::host::Method& method,
                                           const std::vector<MemoryTensor>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    TENON_RETURN_IF_ERROR(method.set_input(i, {inputs[i].type, inputs[i].sizes, inputs[i].bytes}));
  }
  TENON_RETURN_IF_ERROR(method.execute());
  std::vector<MemoryTensor> out;
  for (std::size_t i = 0; i < method.num_outputs(); ++i) {
    const tenon_value& value = method.output(i);
    if (value.kind != TENON_VALUE_TENSOR) {
      return tenon::error(Error::NotSupported, "output ", i, " is not a tensor");
    }
    const tenon_tensor& tensor = *value.as.tensor;
    const auto rank = static_cast<std::size_t>(tensor.dl.ndim);
    const auto* const data = static_cast<const std::byte*>(tensor.dl.data);
    out.push_back({static_cast<ScalarType>(tensor.scalar_type),
                   {tensor.dl.shape, tensor.dl.shape + rank},
                   {tensor.dim_order, tensor.dim_order + rank},
                   {data, data + tensor.nbytes}});
  }
  return out;
}

Status compare(const std::vector<MemoryTensor>& stock, const std::vector<MemoryTensor>& ours,
               Outcome& outcome) {
  if (stock.size() != ours.size()) {
    return tenon::error(Error::Internal, "the stock runtime gives ", stock.size(),
                        " outputs, our host ", ours.size());
  }
  for (std::size_t i = 0; i < stock.size(); ++i) {
    const MemoryTensor& expected = stock[i];
    const MemoryTensor& found = ours[i];
    if (expected.type != found.type || expected.sizes != found.sizes ||
        expected.dim_order != found.dim_order || expected.bytes.size() != found.bytes.size()) {
      return tenon::error(Error::Internal, "output ", i, ": the stock runtime gives ",
                          name_of(expected.type), " ", text_of(expected.sizes), ", our host ",
                          name_of(found.type), " ", text_of(found.sizes));
    }
    const auto [there, here] = std::ranges::mismatch(expected.bytes, found.bytes);
    if (there != expected.bytes.end()) {
      return tenon::error(Error::Internal, "output ", i, ": byte ", there - expected.bytes.begin(),
                          " of ", expected.bytes.size(), " is ", std::to_integer<int>(*there),
                          " in the stock runtime and ", std::to_integer<int>(*here),
                          " in our host");
    }
    outcome.num_bytes += expected.bytes.size();
  }
  ++outcome.num_runs;
  return tenon::ok();
}

Result<Pair> load(const kit::CaseProgram& program, const tenon::host::BackendRegistry& registry) {
  const kit::Case& of_case = program.of_case();
  std::vector<std::string> data_files;
  for (const fs::path& path : of_case.data_files) data_files.push_back(path.string());
  TENON_TRY(auto stock, StockMethod::load(of_case.program.string(), data_files, of_case.method));
  tenon::host::MethodOptions options;
  options.registry = &registry;
  TENON_TRY(auto ours, kit::CaseMethod::load(program, std::move(options)));
  return Pair{std::move(stock), std::move(ours)};
}

Status run_both(Pair& pair, const std::vector<MemoryTensor>& inputs, Outcome& outcome) {
  TENON_TRY(const auto stock, pair.stock.execute(inputs));
  TENON_TRY(const auto ours, run_ours(pair.ours->method(), inputs));
  return compare(stock, ours, outcome);
}

/// Whether our outputs are also what the case expects of any runtime.
Status check_expected(const kit::Case& of_case, const kit::CaseRun& run, kit::CaseMethod& method,
                      Outcome& outcome) {
  for (std::size_t i = 0; i < run.expected.size(); ++i) {
    TENON_TRY(const tenon_value* found, method.output(i));
    TENON_TRY(const auto result,
              kit::compare_output(i, *found, run.expected[i], of_case.tolerances));
    if (!result.equal) return tenon::error(Error::Internal, result.text);
    if (result.arrays.largest_absolute) {
      outcome.largest = std::max(outcome.largest, result.arrays.largest_absolute->absolute);
    }
  }
  return tenon::ok();
}

/// State continues from run to run on both sides, as the case says; the rounds of other numbers
/// after that go on, too.
Result<Outcome> run_case(const fs::path& directory, const tenon::host::BackendRegistry& registry,
                         int rounds) {
  TENON_TRY(const kit::Case of_case, kit::read_case(directory));
  TENON_TRY(const auto program, kit::CaseProgram::open(of_case));
  TENON_TRY(Pair pair, load(program, registry));
  Outcome outcome;
  std::vector<std::vector<MemoryTensor>> shapes;
  for (std::size_t i = 0; i < of_case.runs.size(); ++i) {
    const kit::CaseRun& run = of_case.runs[i];
    if (run.fresh) {
      TENON_TRY(pair, load(program, registry));
    }
    TENON_TRY(auto inputs, read_inputs(run, pair.ours->method()));
    TENON_RETURN_IF_ERROR(run_both(pair, inputs, outcome).with_context(concat("run ", i)));
    TENON_RETURN_IF_ERROR(
        check_expected(of_case, run, *pair.ours, outcome).with_context(concat("run ", i)));
    shapes.push_back(std::move(inputs));
  }
  std::mt19937 generator(20261121);
  for (int round = 0; round < rounds; ++round) {
    for (auto& inputs : shapes) {
      fill_with_noise(inputs, generator);
      TENON_RETURN_IF_ERROR(run_both(pair, inputs, outcome).with_context(concat("round ", round)));
    }
  }
  return outcome;
}

int run(const Arguments& arguments) {
  tenon::host::BackendRegistry registry;
  for (const std::string& plugin : arguments.plugins) {
    if (const Status status = registry.register_backend(fs::path(plugin)); !status.ok()) {
      std::fprintf(stderr, "beside-executorch: %s\n", tenon::describe(status).c_str());
      return 2;
    }
  }
  int failed = 0;
  for (const std::string& directory : arguments.cases) {
    const std::string name = (fs::path(directory) / "").parent_path().filename();
    auto outcome = run_case(directory, registry, arguments.rounds);
    if (outcome.ok()) {
      std::printf("same    %-24s %3zu runs, %8zu bytes; %.3g from what is expected\n", name.c_str(),
                  outcome->num_runs, outcome->num_bytes, outcome->largest);
    } else {
      ++failed;
      std::printf("FAILED  %-24s %s\n", name.c_str(),
                  tenon::describe(std::move(outcome).status()).c_str());
    }
    std::fflush(stdout);
  }
  std::printf("%zu programs, %d failed\n", arguments.cases.size(), failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Runs cases in the stock ExecuTorch runtime and in our host, and compares bits.",
               "beside-executorch");
  app.add_option("--plugin", arguments.plugins, "plugin for our host; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--rounds", arguments.rounds, "how often each shape is run with other numbers")
      ->capture_default_str();
  app.add_option("CASE", arguments.cases, "directory of a case")->required();
  CLI11_PARSE(app, argc, argv);
  return run(arguments);
}
