// SPDX-License-Identifier: MIT
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "metal_programs.hpp"
#include "mixed_program.hpp"
#include "stand_in_device.hpp"

/// A model with an argument of more than a page in and out, and pages for them.
namespace metal_test {

[[nodiscard]] inline std::size_t page() {
  return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// Pages of the application.
class Pages {
 public:
  explicit Pages(std::size_t count, void* at = nullptr) : size_(count * page()) {
    const int fixed = at ? MAP_FIXED_NOREPLACE : 0;
    void* const mapped =
        ::mmap(at, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
    REQUIRE(mapped != MAP_FAILED);
    data_ = static_cast<std::byte*>(mapped);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { ::munmap(data_, size_); }

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool has(const std::byte* address) const {
    return address >= data_ && address < data_ + size_;
  }
  [[nodiscard]] ExternalMemory memory() const {
    ExternalMemory out;
    out.kind = MemoryKind::HostMemory;
    out.handle = data_;
    out.nbytes = size_;
    out.is_written = true;
    return out;
  }

 private:
  std::size_t size_;
  std::byte* data_ = nullptr;
};

/// y = x + 11, whose input and output are 6000 bytes each.
struct SumModel {
  static constexpr std::int64_t size = 1500;
  static constexpr std::size_t nbytes = size * sizeof(float);

  SumModel() : program(mixed_program("dd", size)) {}

  void load(host::MethodOptions options = {}) {
    auto loaded = metal_test::load(host, program.bytes(), std::move(options));
    INFO(loaded.text());
    REQUIRE(loaded.ok());
    method = *std::move(loaded);
  }
  host::BackendRef backend() {
    auto found = host.registry().lookup_backend("MetalBackend");
    REQUIRE(found.ok());
    return *std::move(found);
  }
  /// Sets x, at `at`.
  void set_input(std::byte* at, float value) {
    std::ranges::fill(std::span(reinterpret_cast<float*>(at), size), value);
    const std::int64_t sizes[] = {size};
    REQUIRE(method->set_input(0, {ScalarType::Float, sizes, {at, nbytes}}).ok());
  }
  /// Runs it with x at `at`, and returns the addresses that its kernels were given.
  std::vector<const std::byte*> run(std::byte* at, float value) {
    set_input(at, value);
    std::vector<const std::byte*> given;
    metal_stand_in::control().arguments = &given;
    const Status status = method->execute();
    metal_stand_in::control().arguments = nullptr;
    INFO(status.text());
    REQUIRE(status.ok());
    CHECK(has_output(value + 11));
    return given;
  }
  /// Whether all of the output is `value`, without waiting for anything.
  [[nodiscard]] bool has_output(float value) const {
    const std::span found(reinterpret_cast<const float*>(output()), size);
    return std::ranges::all_of(found, [&](float f) { return f == value; });
  }
  [[nodiscard]] const std::byte* output() const {
    return static_cast<const std::byte*>(method->output(0).as.tensor->dl.data);
  }

  Host host;
  AlignedBytes program;
  std::unique_ptr<host::Method> method;
};

}  // namespace metal_test
