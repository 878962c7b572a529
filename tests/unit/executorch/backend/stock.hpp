// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tenon::test {

/// A tensor that both runtimes get.
struct Input {
  std::vector<std::int64_t> sizes;
  std::vector<float> values;
};

/// A program in the stock runtime, which is linked with this test. In a translation unit of its
/// own: what ExecuTorch's headers declare of flatbuffers does not go with the system's.
class Stock {
 public:
  explicit Stock(const std::string& path);
  Stock(const Stock&) = delete;
  Stock& operator=(const Stock&) = delete;
  ~Stock();

  /// The bytes of output 0.
  std::vector<std::byte> run(const std::vector<Input>& inputs);

 private:
  struct Module;
  std::unique_ptr<Module> module_;
};

/// A tensor of those sizes whose elements follow from `seed`.
inline Input input_of(std::vector<std::int64_t> sizes, unsigned seed = 1) {
  std::size_t count = 1;
  for (const std::int64_t size : sizes) count *= static_cast<std::size_t>(size);
  Input out{std::move(sizes), std::vector<float>(count)};
  for (float& value : out.values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(seed >> 8) / static_cast<float>(1u << 23) - 1;
  }
  return out;
}

/// A program of the fixtures.
inline std::string fixture(const std::string& name) {
  return TENON_TEST_FIXTURES "/" + name + "/model.pte";
}

}  // namespace tenon::test
