// SPDX-License-Identifier: MIT
//
// The GPU of the cases, on the CPU: its memory is the heap, and it runs a launch when it is made,
// or when a capture is replayed.
#include <array>
#include <cstdlib>

#include "device_code.hpp"
#include "gpu.hpp"

namespace gpu_test {
namespace {

bool is_capturing = false;
std::vector<std::function<tenon::Status()>> captured;

/// The bytes behind a launch's parameters, which are valid during the call only.
std::vector<std::vector<unsigned char>> copy_parameters(const kernels::Launch& what) {
  std::vector<std::size_t> sizes;
  const std::string_view name = what.function;
  if (name == "tenon_random_advance") {
    sizes = {sizeof(void*), sizeof(std::uint64_t)};
  } else if (name.starts_with("tenon_sort")) {
    sizes = {sizeof(kernels::SortArguments)};
  } else if (name.starts_with("tenon_copy")) {
    sizes = {sizeof(kernels::CopyArguments)};
  } else if (name.starts_with("tenon_rand")) {
    sizes = {sizeof(kernels::RandomArguments)};
  } else {
    sizes = {sizeof(kernels::MatmulArguments)};
  }
  if (sizes.size() != what.parameters.size()) give_up("parameters of " + std::string(name));
  std::vector<std::vector<unsigned char>> out;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto* const from = static_cast<const unsigned char*>(what.parameters[i]);
    out.emplace_back(from, from + sizes[i]);
  }
  return out;
}

void* pointer(std::uint64_t address) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

}  // namespace

Gpu& gpu() {
  static Gpu one;
  return one;
}

std::string Gpu::open() {
  name_ = "none, kernels are compiled for the CPU";
  return {};
}

std::optional<std::string> Gpu::cublaslt() const { return std::nullopt; }

// As the driver aligns it.
std::uint64_t Gpu::allocate(std::size_t nbytes) const {
  return reinterpret_cast<std::uintptr_t>(std::aligned_alloc(256, (nbytes + 255) / 256 * 256));
}
void Gpu::free(std::uint64_t address) const { std::free(pointer(address)); }
void Gpu::upload(std::uint64_t to, const void* from, std::size_t nbytes) const {
  std::memcpy(pointer(to), from, nbytes);
}
void Gpu::download(void* to, std::uint64_t from, std::size_t nbytes) const {
  std::memcpy(to, pointer(from), nbytes);
}
void Gpu::synchronize() const {}

kernels::Launcher Gpu::launcher() {
  return {[](void* context, const kernels::Launch& what) {
            return static_cast<Gpu*>(context)->launch(what);
          },
          this};
}

tenon::Status Gpu::launch(const kernels::Launch& what) {
  auto work = [function = std::string(what.function), grid = what.grid, block = what.block,
               bytes = copy_parameters(what)]() mutable {
    std::vector<void*> parameters;
    for (auto& each : bytes) parameters.push_back(each.data());
    return run_kernel(function, grid, block, parameters.data());
  };
  if (!is_capturing) return work();
  captured.emplace_back(std::move(work));
  return tenon::ok();
}

tenon::Status Gpu::copy(std::uint64_t to, std::uint64_t from, std::size_t nbytes) const {
  std::memcpy(pointer(to), pointer(from), nbytes);
  return tenon::ok();
}

tenon::Status Gpu::copy_rows(std::uint64_t to, std::size_t to_pitch, std::uint64_t from,
                             std::size_t from_pitch, std::size_t width, std::size_t height) const {
  for (std::size_t row = 0; row < height; ++row) {
    std::memcpy(pointer(to + row * to_pitch), pointer(from + row * from_pitch), width);
  }
  return tenon::ok();
}

tenon::Result<double> Gpu::time(const std::function<tenon::Status()>&) const {
  return tenon::error(tenon::Error::NotSupported, "only a device has times");
}

void Gpu::begin_capture() { is_capturing = true; }

void Gpu::end_capture(int times) {
  is_capturing = false;
  for (int i = 0; i < times; ++i) {
    for (const auto& each : captured) {
      const tenon::Status status = each();
      if (!status.ok()) give_up(std::string(status.text()));
    }
  }
  captured.clear();
}

}  // namespace gpu_test
