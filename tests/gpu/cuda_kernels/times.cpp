// SPDX-License-Identifier: MIT
//
// What kernels cost, by events of the device. Weights are copies that the device's cache does not
// hold all of, so that each product reads its weight from memory.
#include "gpu.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "large_product.hpp"

namespace gpu_test {
namespace {

using kernel_test::tensor_at;
using tenon::Result;
using tenon::ScalarType;
using tenon::Status;
using tenon::aoti::ModelTensor;

/// Of copies of a weight together: several times the cache of any device.
constexpr std::size_t bytes_of_copies = std::size_t{256} << 20;
/// Of the groups of all weights.
constexpr std::int64_t group_size = 64;

void* pointer(const Memory& memory) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(memory.address()));
}

/// Bytes that are small numbers in every format.
Memory memory_of(std::int64_t nbytes) {
  return Memory(std::vector<unsigned char>(static_cast<std::size_t>(nbytes), 0x21));
}

/// A weight of any numbers.
struct AnyWeight {
  std::int64_t columns, depth;
  Memory low, high, scale, scale_step, zero, zero_step;

  AnyWeight(std::int64_t n, std::int64_t k, int bits)
      : columns(n),
        depth(k),
        low(memory_of(bits == 8 ? n * k : n * k / 2)),
        high(memory_of(bits == 5   ? n * k / 8
                       : bits == 6 ? n * k / 4
                                   : 0)),
        scale(memory_of(n * k / group_size * (bits == 8 ? 2 : 1))),
        scale_step(memory_of(bits == 8 ? 0 : n * k / 256 * 2)),
        zero(memory_of(bits == 6 ? 0 : n * k / group_size)),
        zero_step(memory_of(bits == 8 || bits == 6 ? 0 : n * k / 256 * 2)) {}

  std::size_t nbytes() const {
    return low.nbytes() + high.nbytes() + scale.nbytes() + scale_step.nbytes() + zero.nbytes() +
           zero_step.nbytes();
  }

  Result<kernels::MatmulPlan> plan(const ModelTensor& self, int bits) const {
    const std::int64_t n = columns, k = depth;
    const auto part = [](const Memory& memory, ScalarType type,
                         const std::vector<std::int64_t>& sizes) {
      return tensor_at(memory.address(), type, sizes);
    };
    const auto byte = ScalarType::Byte, half = ScalarType::Half;
    const ModelTensor codes = part(scale, byte, {n, k / group_size});
    const ModelTensor steps = part(scale_step, half, {n, k / 256});
    const ModelTensor zeros = part(zero, byte, {n, k / group_size});
    const ModelTensor zero_steps = part(zero_step, half, {n, k / 256});
    const ModelTensor halves = part(low, byte, {n, k / 2});
    switch (bits) {
      case 4:
        return kernels::plan_int4_plain_mm(self, halves, codes, steps, zeros, zero_steps,
                                           group_size);
      case 5:
        return kernels::plan_int5_plain_mm(self, halves, part(high, byte, {n, k / 8}), codes, steps,
                                           zeros, zero_steps, group_size);
      case 6:
        return kernels::plan_int6_plain_mm(self, halves, part(high, byte, {n, k / 4}), codes, steps,
                                           group_size);
      default:
        return kernels::plan_int8_plain_mm(self, part(low, ScalarType::Char, {n, k}),
                                           part(scale, ScalarType::BFloat16, {n, k / group_size}),
                                           part(zero, ScalarType::Char, {n, k / group_size}),
                                           group_size);
    }
  }
};

/// Prints a line; `members` of a JSON object come first.
void print(const std::string& members, double seconds, double nbytes) {
  std::printf("{%s, \"microseconds\": %.2f, \"bytes\": %.0f, \"bytes_per_second\": %.4g}\n",
              members.c_str(), seconds * 1e6, nbytes, seconds > 0 ? nbytes / seconds : 0.0);
  std::fflush(stdout);
}

/// Products of a shape by all weights, one after the other, in each way in which they can be
/// computed.
class Products {
 public:
  Products(std::int64_t columns, std::int64_t depth, int bits,
           const kernels::CublasLtHandle* handle)
      : columns_(columns), depth_(depth), bits_(bits), handle_(handle) {
    do {
      weights_.push_back(std::make_unique<AnyWeight>(columns, depth, bits));
    } while (weights_.size() * weights_.front()->nbytes() < bytes_of_copies);
  }

  Status run(std::int64_t rows) {
    const Memory self = memory_of(rows * depth_ * 2);
    const Memory out = memory_of(rows * columns_ * 2);
    const ModelTensor result = tensor_at(out.address(), ScalarType::BFloat16, {rows, columns_});
    const ModelTensor input = tensor_at(self.address(), ScalarType::BFloat16, {rows, depth_});
    std::vector<kernels::MatmulPlan> plans;
    for (const auto& weight : weights_) {
      TENON_TRY(plans.emplace_back(), weight->plan(input, bits_));
    }
    const kernels::MatmulPlan& first = plans.front();
    const double nbytes =
        static_cast<double>(weights_.front()->nbytes() + self.nbytes() + out.nbytes());
    const auto time = [&](const std::string& way, bool is_chosen, auto launch) -> Status {
      const std::string members = "\"what\": \"int" + std::to_string(bits_) +
                                  "_plain_mm\", \"rows\": " + std::to_string(rows) +
                                  ", \"columns\": " + std::to_string(columns_) +
                                  ", \"depth\": " + std::to_string(depth_) + ", \"way\": \"" + way +
                                  "\", \"chosen\": " + (is_chosen ? "true" : "false");
      TENON_TRY(const double seconds, gpu().time([&]() -> Status {
        for (const auto& plan : plans) TENON_RETURN_IF_ERROR(launch(plan));
        return tenon::ok();
      }));
      print(members, seconds / static_cast<double>(plans.size()), nbytes);
      return tenon::ok();
    };
    const bool is_large = handle_ && kernels::large_product(first).has_value();
    const std::int64_t chosen = kernels::num_parts(first, gpu().tiles_at_once());
    if (rows <= kernels::few_rows_limit) {
      TENON_RETURN_IF_ERROR(time("rows", true, [&](const kernels::MatmulPlan& plan) {
        return kernels::run(plan, result, gpu().launcher());
      }));
    } else {
      TENON_RETURN_IF_ERROR(
          time("tiles", chosen == 1 && !is_large, [&](const kernels::MatmulPlan& plan) {
            return kernels::run(plan, result, gpu().launcher());
          }));
    }
    std::set<std::int64_t> all_parts = {2, 4, 8, 16};
    if (chosen != 1) all_parts.insert(chosen);
    for (const std::int64_t parts : all_parts) {
      const Memory partial =
          memory_of(static_cast<std::int64_t>(kernels::partial_bytes(first, parts)));
      TENON_RETURN_IF_ERROR(time(
          "tiles, " + std::to_string(parts) + " parts", parts == chosen && !is_large,
          [&](const kernels::MatmulPlan& plan) {
            return kernels::run_in_parts(plan, result, parts, pointer(partial), gpu().launcher());
          }));
    }
    if (!is_large) return tenon::ok();
    TENON_TRY(const auto product,
              kernels::LargeProduct::create(*handle_, {rows, columns_, depth_, depth_}));
    const Memory weight = memory_of(static_cast<std::int64_t>(product.weight_bytes()));
    const Memory workspace = memory_of(static_cast<std::int64_t>(product.workspace_bytes()));
    return time("cublaslt", true, [&](const kernels::MatmulPlan& plan) {
      return product.run(*handle_, plan, result, pointer(weight), pointer(workspace),
                         gpu().stream(), gpu().launcher());
    });
  }

 private:
  std::int64_t columns_, depth_;
  int bits_;
  const kernels::CublasLtHandle* handle_;
  std::vector<std::unique_ptr<AnyWeight>> weights_;
};

using Lengths = std::vector<std::int64_t>;

/// A copy between layouts of bfloat16, beside the driver's of as many adjacent bytes.
Status time_copy(const char* name, const Lengths& sizes, const Lengths& from_strides,
                 const Lengths& to_strides) {
  std::int64_t nbytes = 2;
  std::int64_t read = 2;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    nbytes *= sizes[d];
    if (from_strides[d] != 0) read *= sizes[d];
  }
  // Also with the gaps of `from_strides`.
  std::int64_t extent = 2;
  for (std::size_t d = 0; d < sizes.size(); ++d) extent += 2 * (sizes[d] - 1) * from_strides[d];
  const Memory from = memory_of(std::max(nbytes, extent));
  const Memory to = memory_of(nbytes);
  TENON_TRY(const auto plan, kernels::plan_copy_strided(
                                 {static_cast<std::byte*>(pointer(to)), to_strides,
                                  static_cast<std::byte*>(pointer(from)), from_strides, sizes, 2}));
  const std::string members =
      std::string("\"what\": \"copy\", \"layout\": \"") + name + "\", \"way\": ";
  TENON_TRY(const double ours, gpu().time([&] { return run(plan, gpu().launcher()); }));
  print(members + "\"kernel\"", ours, static_cast<double>(read + nbytes));
  TENON_TRY(const double drivers, gpu().time([&] {
    return gpu().copy(to.address(), from.address(), static_cast<std::size_t>(nbytes));
  }));
  print(members + "\"driver, adjacent bytes\"", drivers, static_cast<double>(2 * nbytes));
  if (sizes.size() != 2 || from_strides[1] != 1 || from_strides[0] < sizes[1]) return tenon::ok();
  const auto bytes_of = [](std::int64_t count) { return static_cast<std::size_t>(2 * count); };
  TENON_TRY(const double rows, gpu().time([&] {
    return gpu().copy_rows(to.address(), bytes_of(to_strides[0]), from.address(),
                           bytes_of(from_strides[0]), bytes_of(sizes[1]),
                           static_cast<std::size_t>(sizes[0]));
  }));
  print(members + "\"driver, rows\"", rows, static_cast<double>(2 * nbytes));
  return tenon::ok();
}

Status time_all() {
  std::printf("{\"device\": \"%s\", \"tiles_at_once\": %lld}\n", gpu().name().c_str(),
              static_cast<long long>(gpu().tiles_at_once()));
  std::unique_ptr<kernels::CublasLtHandle> handle;
  if (const auto path = gpu().cublaslt()) {
    const auto library = kernels::load_cublaslt(*path);
    if (library.ok()) {
      auto made = kernels::CublasLtHandle::create(*library);
      if (made.ok()) handle = *std::move(made);
    }
  }
  const struct {
    std::int64_t columns, depth;
    int bits;
    std::vector<std::int64_t> rows;
  } products[] = {{4096, 4096, 4, {1, 2, 4, 5, 8, 12, 16, 17, 32, 64, 128, 255, 256, 512}},
                  {14336, 4096, 4, {1, 4, 16, 17, 32, 64, 128, 255, 256, 512}},
                  {4096, 14336, 4, {1, 4, 16, 17, 32, 64, 128, 255, 256, 512}},
                  {4096, 4096, 5, {1, 4, 17, 64}},
                  {4096, 4096, 6, {1, 4, 17, 64}},
                  {4096, 4096, 8, {1, 4, 17, 64, 255}}};
  for (const auto& each : products) {
    Products of_shape(each.columns, each.depth, each.bits, handle.get());
    for (const std::int64_t rows : each.rows) TENON_RETURN_IF_ERROR(of_shape.run(rows));
  }
  TENON_RETURN_IF_ERROR(time_copy("transpose, 8192 by 8192", {8192, 8192}, {1, 8192}, {8192, 1}));
  TENON_RETURN_IF_ERROR(time_copy("heads before positions, 32 by 4096 by 128", {4096, 32, 128},
                                  {128, 4096 * 128, 1}, {32 * 128, 128, 1}));
  TENON_RETURN_IF_ERROR(
      time_copy("rows with gaps, 8192 of 4096", {8192, 4096}, {4104, 1}, {4096, 1}));
  TENON_RETURN_IF_ERROR(time_copy("rows with gaps, 65536 of 64", {65536, 64}, {128, 1}, {64, 1}));
  TENON_RETURN_IF_ERROR(time_copy("rows with gaps, 65536 of 4", {65536, 4}, {8, 1}, {4, 1}));
  return time_copy("one row repeated, 8192 of 4096", {8192, 4096}, {0, 1}, {4096, 1});
}

}  // namespace

bool print_times() {
  const Status status = time_all();
  if (!status.ok()) fail(std::string(status.text()));
  return status.ok();
}

}  // namespace gpu_test
