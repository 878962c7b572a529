// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "kernel_support.hpp"
#include "kernels/products/in_parts.hpp"
#include "kernels/quantized/dot_products.hpp"
#include "kernels/quantized/weight_products.hpp"
#include "openmp.hpp"
#include "parallel.hpp"
#include "support/catch.hpp"

#include "tenon/core/hex.hpp"

// What GCC makes of a parallel region (libgomp/parallel.c).
extern "C" void GOMP_parallel(void (*body)(void*), void* data, unsigned num_threads,
                              unsigned flags);

using namespace kernel_test;
using namespace tenon::cpu_aoti;

// Products of weights of 8 and 4 bits, with the code for each kind of processor that this one can
// run.
namespace quantized_test {
namespace {

std::vector<VectorLevel> levels() {
  std::vector<VectorLevel> out;
  for (int level = 0; level <= static_cast<int>(vector_level()); ++level) {
    out.push_back(static_cast<VectorLevel>(level));
  }
  return out;
}

template <class T>
std::vector<T> random_bytes(Random& source, std::int64_t count) {
  std::vector<T> out;
  for (std::int64_t i = 0; i < count; ++i) out.push_back(static_cast<T>(source.next() >> 33));
  return out;
}

std::vector<float> random_floats(Random& source, std::int64_t count) {
  std::vector<float> out;
  for (std::int64_t i = 0; i < count; ++i) out.push_back(static_cast<float>(source.uniform()));
  return out;
}

/// The columns that byte `i` of a row of a block of `width` columns has.
std::pair<std::int64_t, std::int64_t> columns_of(std::int64_t i, std::int64_t width,
                                                 Int4Layout layout) {
  const bool full = width == (layout == Int4Layout::halves64 ? 64 : 32);
  if (full && layout != Int4Layout::pairs32) return {i, i + width / 2};
  return {2 * i, 2 * i + 1};
}

/// Numbers [columns, inner] below 16 in one of PyTorch's layouts.
std::vector<std::uint8_t> pack(const std::vector<int>& q, std::int64_t columns, std::int64_t inner,
                               Int4Layout layout) {
  const std::int64_t block = layout == Int4Layout::halves64 ? 64 : 32;
  std::vector<std::uint8_t> out;
  for (std::int64_t first = 0; first < columns; first += block) {
    const std::int64_t width = std::min(block, columns - first);
    for (std::int64_t k = 0; k < inner; ++k) {
      for (std::int64_t i = 0; i < width / 2; ++i) {
        const auto [low, high] = columns_of(i, width, layout);
        const auto at = [&](std::int64_t column) {
          return q[static_cast<std::size_t>((first + column) * inner + k)];
        };
        out.push_back(static_cast<std::uint8_t>(at(low) | at(high) << 4));
      }
    }
  }
  return out;
}

std::string hex(const std::uint8_t* bytes, std::size_t count) {
  return tenon::to_hex(std::as_bytes(std::span(bytes, count)));
}

/// An application's pool that makes a thread for each number below `n`.
struct SpawningPool {
  explicit SpawningPool(std::uint32_t num_threads) {
    static_cast<tenon_thread_pool&>(table) = {
        sizeof(tenon_thread_pool), num_threads, nullptr, 0, 0, &parallel_for};
    table.owner = this;
  }

  static tenon_status parallel_for(const tenon_thread_pool* pool, std::uint64_t n, std::uint64_t,
                                   tenon_range_function f, void* data) {
    SpawningPool& self = *static_cast<const Table*>(pool)->owner;
    if (self.fails) return TENON_STATUS_OUT_OF_RESOURCES;
    ++self.calls;
    std::atomic<tenon_status> status = TENON_STATUS_OK;
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < n; ++i) {
      threads.emplace_back([&, i] {
        const auto worker = static_cast<std::uint32_t>(i);
        if (const tenon_status failed = f(data, worker, i, i + 1)) status = failed;
      });
    }
    for (std::thread& thread : threads) thread.join();
    return status;
  }

  struct Table : tenon_thread_pool {
    SpawningPool* owner = nullptr;
  } table;
  bool fails = false;
  int calls = 0;
};

std::set<std::string> thread_ids() {
  std::set<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    out.insert(entry.path().filename());
  }
  return out;
}

}  // namespace

TEST_CASE("a product is as large as its weights, read once for four rows", "[cpu_aoti]") {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(bytes_read(0, 5) == 0);
  CHECK(bytes_read(100, 0) == 100);
  CHECK(bytes_read(100, 3) == 100);
  CHECK(bytes_read(100, 9) == 200);
  CHECK(bytes_read(256 * 256, 4096) == std::int64_t{1} << 26);
  CHECK(bytes_read(most / 2, 12) == most);
}

TEST_CASE("products and attention of alternating sizes keep the threads of the first ones",
          "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  const int before = ::omp_get_max_threads();
  ::omp_set_num_threads(4);
  const std::int64_t inner = 1024;
  const auto x = random_floats(source, inner);
  const auto weights = random_bytes<std::int8_t>(source, 1024 * inner);
  const auto multiply_by = [&](std::int64_t columns) {
    std::vector<float> out(static_cast<std::size_t>(columns));
    multiply({weights.data(), columns, inner, inner}, x.data(), 1, out.data(), vector_level());
  };
  const auto attend = [&](std::int64_t heads) {
    const Handle q = random(source, {1, heads, 1, 8});
    Handle out, logsumexp;
    return aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu(
        q.get(), q.get(), q.get(), 0, 0, nullptr, nullptr, out.out(), logsumexp.out());
  };
  multiply_by(1024);
  const std::set<std::string> first = thread_ids();
  for (int run = 0; run < 3; ++run) {
    multiply_by(300);
    multiply_by(1024);
    CHECK(thread_ids() == first);
    REQUIRE(attend(2) == 0);
    REQUIRE(attend(5) == 0);
    CHECK(thread_ids() == first);
  }
  ::omp_set_num_threads(before);
}

TEST_CASE("a run uses the OpenMP threads that its thread has already", "[cpu_aoti]") {
  Random source;
  const std::int64_t inner = 1024;
  const auto x = random_floats(source, inner);
  const auto weights = random_bytes<std::int8_t>(source, 1024 * inner);
  std::vector<float> out(1024);
  std::set<std::string> first, later;
  std::thread application([&] {
    ::omp_set_num_threads(3);
    GOMP_parallel([](void*) {}, nullptr, 0, 0);
    first = thread_ids();
    multiply({weights.data(), 1024, inner, inner}, x.data(), 1, out.data(), vector_level());
    later = thread_ids();
  });
  application.join();
  CHECK(first.size() >= 3);
  CHECK(later == first);
}

TEST_CASE("kernels on the application's pool compute the same, and use no thread of OpenMP",
          "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  const std::int64_t inner = 1024, columns = 1024;
  const auto x = random_floats(source, inner);
  const auto weights = random_bytes<std::int8_t>(source, columns * inner);
  const Handle q = random(source, {2, 4, 100, 16});
  const auto compute = [&] {
    std::vector<float> product(static_cast<std::size_t>(columns));
    multiply({weights.data(), columns, inner, inner}, x.data(), 1, product.data(), vector_level());
    Handle out, logsumexp;
    REQUIRE(aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu(
                q.get(), q.get(), q.get(), 0, 0, nullptr, nullptr, out.out(), logsumexp.out()) ==
            0);
    return std::pair(product, out.values());
  };
  const NumThreads one(1);
  const auto expected = compute();
  for (const std::uint32_t num_threads : {1U, 2U, 5U}) {
    SpawningPool pool(num_threads);
    CallPool call(tenon::ThreadPool(&pool.table));
    CHECK(num_threads == static_cast<std::uint32_t>(tenon::cpu_aoti::num_threads()));
    CHECK(compute() == expected);
    CHECK(pool.calls == (num_threads == 1 ? 0 : 2));
    std::atomic<int> with_more = 0;
    in_parallel(3, [&](std::int64_t) {
      if (omp_get_max_threads() != 1 || omp_get_max_active_levels() != 0) ++with_more;
    });
    CHECK(with_more == 0);
    CHECK(call.end(tenon::ok()).ok());
  }
  const NumThreads before(2);
  {
    const CallPool call((tenon::ThreadPool()));
  }
  CHECK(omp_get_max_threads() == 2);
  CHECK(omp_get_max_active_levels() > 0);
}

TEST_CASE("a kernel whose pool fails makes the call fail", "[cpu_aoti]") {
  Random source;
  const std::int64_t inner = 1024, columns = 1024;
  const auto x = random_floats(source, inner);
  const auto weights = random_bytes<std::int8_t>(source, columns * inner);
  std::vector<float> product(static_cast<std::size_t>(columns));
  SpawningPool pool(2);
  pool.fails = true;
  CallPool call(tenon::ThreadPool(&pool.table));
  multiply({weights.data(), columns, inner, inner}, x.data(), 1, product.data(), vector_level());
  const tenon::Status outcome = call.end(tenon::ok());
  CHECK(outcome.error() == tenon::Error::OutOfResources);
}

TEST_CASE("sums of 8-bit products are exact on each kind of processor", "[cpu_aoti]") {
  Random source;
  for (const VectorLevel level : levels()) {
    for (const std::int64_t inner : {0, 1, 15, 16, 33, 63, 64, 65, 130}) {
      for (const std::int64_t rows : {1, 3, 4, 9}) {
        for (const std::int64_t columns : {1, 4, 5, 67}) {
          const std::int64_t gap = 3;
          auto a = random_bytes<std::uint8_t>(source, rows * (inner + gap));
          const auto b = random_bytes<std::int8_t>(source, columns * (inner + gap));
          // The largest numbers show sums of 16 bits that saturate.
          std::fill_n(a.begin(), inner, source.below(2) == 0 ? 255 : 128);
          for (const bool a_is_byte : {false, true}) {
            std::vector<std::uint32_t> found(static_cast<std::size_t>(rows * columns), 7);
            const bool transposed = source.below(2) == 0;
            multiply(
                {a.data(), b.data(), found.data(), rows, columns, inner, inner + gap, inner + gap,
                 transposed ? 1 : columns, transposed ? rows : 1, a_is_byte, false},
                level);
            bool right = true;
            for (std::int64_t i = 0; i < rows; ++i) {
              for (std::int64_t j = 0; j < columns; ++j) {
                std::int64_t sum = 0;
                for (std::int64_t k = 0; k < inner; ++k) {
                  const int left = a[static_cast<std::size_t>(i * (inner + gap) + k)];
                  sum += (a_is_byte || left < 128 ? left : left - 256) *
                         b[static_cast<std::size_t>(j * (inner + gap) + k)];
                }
                const std::int64_t at = transposed ? j * rows + i : i * columns + j;
                right =
                    right && found[static_cast<std::size_t>(at)] == static_cast<std::uint32_t>(sum);
              }
            }
            INFO("level " << static_cast<int>(level) << ", " << rows << " by " << inner << " by "
                          << columns << ", Byte " << a_is_byte);
            CHECK(right);
          }
        }
      }
    }
  }
}

TEST_CASE("_int_mm_out: every layout of the operands, without memory after the first call",
          "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  // Few rows, many, and sums above 2^24.
  using Three = std::array<std::int64_t, 3>;
  for (const auto& [rows, inner, columns] :
       {Three{5, 70, 33}, Three{18, 70, 33}, Three{9, 1100, 20}}) {
    for (const ScalarType type : {ScalarType::Char, ScalarType::Byte}) {
      for (const auto& [a_strides, b_strides] :
           {std::pair{Shape{inner, 1}, Shape{columns, 1}},
            std::pair{Shape{inner, 1}, Shape{1, inner}},
            std::pair{Shape{1, rows}, Shape{columns + 7, 1}},
            std::pair{Shape{2 * inner, 2}, Shape{2 * columns, 2}}}) {
        Handle a = make({rows, inner}, type, a_strides);
        Handle b = make({inner, columns}, ScalarType::Char, b_strides);
        Handle out = make({rows, columns}, ScalarType::Int);
        const int least = type == ScalarType::Char ? -128 : 0;
        // Most are the largest or the smallest number.
        const auto some = [&](int smallest) -> double {
          const std::int64_t kind = source.below(3);
          return static_cast<double>(smallest + (kind == 0   ? 0
                                                 : kind == 1 ? 255
                                                             : source.below(256)));
        };
        for (std::int64_t i = 0; i < a->numel; ++i) a.set(i, some(least));
        for (std::int64_t i = 0; i < b->numel; ++i) b.set(i, some(-128));
        REQUIRE(aoti_torch_cpu__int_mm_out(out.get(), a.get(), b.get()) == 0);
        const std::size_t before = allocations();
        REQUIRE(aoti_torch_cpu__int_mm_out(out.get(), a.get(), b.get()) == 0);
        CHECK(allocations() == before);
        std::vector<double> expected;
        for (std::int64_t i = 0; i < rows; ++i) {
          for (std::int64_t j = 0; j < columns; ++j) {
            double sum = 0;
            for (std::int64_t k = 0; k < inner; ++k) {
              sum += a.at(i * inner + k) * b.at(k * columns + j);
            }
            expected.push_back(sum);
          }
        }
        CHECK(difference(out.values(), expected, 0) == "");
      }
    }
  }
}

TEST_CASE("_int_mm_out: Byte times Byte is refused, as by PyTorch", "[cpu_aoti]") {
  Fixture fixture;
  Handle a = make({2, 3}, ScalarType::Byte), b = make({3, 2}, ScalarType::Byte);
  Handle out = make({2, 2}, ScalarType::Int);
  CHECK(aoti_torch_cpu__int_mm_out(out.get(), a.get(), b.get()) == 1);
  CHECK_THAT(fixture.pool.take_failure(),
             ContainsSubstring("a product of Byte and Byte in Int: expected Char or Byte, Char for "
                               "the second, and Int for the result"));
}

TEST_CASE("products with weights of 8 bits on each kind of processor", "[cpu_aoti]") {
  Random source;
  for (const VectorLevel level : levels()) {
    for (const std::int64_t inner : {1, 16, 47, 64, 301}) {
      for (const std::int64_t rows : {1, 2, 3, 4, 9, 17}) {
        for (const std::int64_t columns : {1, 4, 7, 75}) {
          const auto x = random_floats(source, rows * inner);
          const auto weights = random_bytes<std::int8_t>(source, columns * (inner + 5));
          std::vector<float> found(static_cast<std::size_t>(rows * columns), NAN);
          multiply({weights.data(), columns, inner, inner + 5}, x.data(), rows, found.data(),
                   level);
          double worst = 0;
          for (std::int64_t i = 0; i < rows; ++i) {
            for (std::int64_t j = 0; j < columns; ++j) {
              double sum = 0;
              for (std::int64_t k = 0; k < inner; ++k) {
                sum += double{x[static_cast<std::size_t>(i * inner + k)]} *
                       weights[static_cast<std::size_t>(j * (inner + 5) + k)];
              }
              const double off =
                  std::abs(sum - double{found[static_cast<std::size_t>(i * columns + j)]});
              worst = off <= worst ? worst : off;
            }
          }
          INFO("level " << static_cast<int>(level) << ", " << rows << " by " << inner << " by "
                        << columns);
          CHECK(worst <= 128 * tolerance(ScalarType::Float, static_cast<double>(inner)));
        }
      }
    }
  }
}

TEST_CASE("few rows by more weights of 8 bits than the caches hold", "[cpu_aoti]") {
  const std::int64_t inner = 4096, columns = 259;
  Random source;
  const auto weights = random_bytes<std::int8_t>(source, columns * inner);
  for (const VectorLevel level : levels()) {
    for (const std::int64_t rows : {1, 2, 3, 4, 5}) {
      // Small whole numbers, so that the sums are exact in each order.
      std::vector<float> x;
      for (std::int64_t i = 0; i < rows * inner; ++i) x.push_back(static_cast<float>(i % 11 - 5));
      std::vector<float> found(static_cast<std::size_t>(rows * columns), NAN);
      multiply({weights.data(), columns, inner, inner}, x.data(), rows, found.data(), level);
      std::vector<float> expected;
      for (std::int64_t i = 0; i < rows * columns; ++i) {
        std::int64_t sum = 0;
        for (std::int64_t k = 0; k < inner; ++k) {
          sum += ((i / columns * inner + k) % 11 - 5) *
                 weights[static_cast<std::size_t>(i % columns * inner + k)];
        }
        expected.push_back(static_cast<float>(sum));
      }
      CAPTURE(static_cast<int>(level), rows);
      CHECK(found == expected);
    }
  }
}

TEST_CASE("weights of 4 bits are packed as PyTorch packs them", "[cpu_aoti]") {
  // torch 2.15.0, _convert_weight_to_int4pack_for_cpu, with ATEN_CPU_CAPABILITY for each layout:
  // the first 32 and the last 16 bytes.
  std::vector<int> q;
  for (int n = 0; n < 80; ++n) {
    for (int k = 0; k < 32; ++k) q.push_back((n * 7 + k * 3) % 16);
  }
  const auto ends = [&](Int4Layout layout) {
    const auto bytes = pack(q, 80, 32, layout);
    return hex(bytes.data(), 32) + " " + hex(bytes.data() + bytes.size() - 16, 16);
  };
  CHECK(ends(Int4Layout::pairs32) ==
        "705e3c1af8d6b492705e3c1af8d6b492a3816f4d2b09e7c5a3816f4d2b09e7c5 "
        "1af8d6b492705e3c4d2b09e7c5a3816f");
  CHECK(ends(Int4Layout::halves32) ==
        "0077ee55cc33aa1188ff66dd44bb229933aa1188ff66dd44bb22990077ee55cc "
        "1af8d6b492705e3c4d2b09e7c5a3816f");
  CHECK(ends(Int4Layout::halves64) ==
        "0077ee55cc33aa1188ff66dd44bb22990077ee55cc33aa1188ff66dd44bb2299 "
        "1af8d6b492705e3c4d2b09e7c5a3816f");
  CHECK(int4_layout(VectorLevel::baseline) == Int4Layout::pairs32);
  CHECK(int4_layout(VectorLevel::avx2) == Int4Layout::halves32);
  CHECK(int4_layout(VectorLevel::avx512) == Int4Layout::halves64);
  CHECK(int4_layout(VectorLevel::vnni) == Int4Layout::halves64);
}

TEST_CASE("products with weights of 4 bits, in every layout on each kind of processor",
          "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  const std::int64_t most_rows = 17, inner = 256;
  for (const ScalarType type : {ScalarType::Float, ScalarType::BFloat16, ScalarType::Half}) {
    for (const std::int64_t columns : {16, 32, 48, 64, 112, 192}) {
      const std::int64_t group = std::int64_t{32} << source.below(4);
      const std::int64_t groups = inner / group;
      std::vector<int> q;
      for (std::int64_t i = 0; i < columns * inner; ++i) {
        q.push_back(static_cast<int>(source.below(16)));
      }
      const auto x = random_floats(source, most_rows * inner);
      const Handle scales = random(source, {groups, columns, 2}, type);
      std::vector<float> sums;
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (i % static_cast<std::size_t>(group) == 0) sums.push_back(0);
        sums.back() += x[i];
      }
      std::vector<double> expected;
      for (std::int64_t i = 0; i < most_rows * columns; ++i) {
        const std::int64_t column = i % columns;
        double sum = 0;
        for (std::int64_t k = 0; k < inner; ++k) {
          const std::int64_t about = (k / group * columns + column) * 2;
          sum += double{x[static_cast<std::size_t>(i / columns * inner + k)]} *
                 ((q[static_cast<std::size_t>(column * inner + k)] - 8) * scales.at(about) +
                  scales.at(about + 1));
        }
        expected.push_back(sum);
      }
      for (const Int4Layout layout :
           {Int4Layout::pairs32, Int4Layout::halves32, Int4Layout::halves64}) {
        const auto packed = pack(q, columns, inner, layout);
        for (const VectorLevel level : levels()) {
          for (const std::int64_t rows : {1, 2, 3, 5, 7, 14, 17}) {
            std::vector<float> found(static_cast<std::size_t>(rows * columns), NAN);
            multiply({packed.data(), columns, inner, group, scales->data, type}, x.data(),
                     sums.data(), rows, found.data(), layout, level);
            INFO("level " << static_cast<int>(level) << ", layout " << static_cast<int>(layout)
                          << ", " << rows << " rows, columns " << columns << ", groups of "
                          << group);
            const std::vector<double> wanted(expected.begin(), expected.begin() + rows * columns);
            CHECK(difference({found.begin(), found.end()}, wanted,
                             8 * tolerance(ScalarType::Float, inner)) == "");
          }
        }
      }
    }
  }
}

TEST_CASE("sums of 4-bit weights are infinite or NaN only where PyTorch's formula is",
          "[cpu_aoti]") {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::int64_t inner = 64, columns = 112;
  const struct {
    float first, others, scale, zero;
    int q;
    float expected;
  } cases[] = {{infinity, 0, 1, 0, 9, infinity}, {infinity, 0, 1, 1, 8, infinity},
               {infinity, 0, 1, 0, 8, NAN},      {2e37f, 2e37f, 1, 0, 8, 0},
               {1e38f, 1e38f, 0, 0, 15, 0},      {NAN, 0, 1, 0, 9, NAN},
               {1, 1, 1, infinity, 9, infinity}, {3e38f, 3e38f, 1, 0, 9, infinity}};
  for (const auto& each : cases) {
    for (const std::int64_t rows : {1, 5}) {
      // The last row alone has these numbers.
      std::vector<float> x(static_cast<std::size_t>(rows * inner), 0), sums;
      std::fill(x.end() - inner, x.end(), each.others);
      x[x.size() - static_cast<std::size_t>(inner)] = each.first;
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (i % 32 == 0) sums.push_back(0);
        sums.back() += x[i];
      }
      std::vector<float> scales;
      for (std::int64_t i = 0; i < inner / 32 * columns; ++i) {
        scales.insert(scales.end(), {each.scale, each.zero});
      }
      const std::vector<int> q(static_cast<std::size_t>(columns * inner), each.q);
      for (const Int4Layout layout :
           {Int4Layout::pairs32, Int4Layout::halves32, Int4Layout::halves64}) {
        const auto packed = pack(q, columns, inner, layout);
        for (const VectorLevel level : levels()) {
          std::vector<float> found(static_cast<std::size_t>(rows * columns), 7);
          multiply({packed.data(), columns, inner, 32, scales.data(), ScalarType::Float}, x.data(),
                   sums.data(), rows, found.data(), layout, level);
          CAPTURE(static_cast<int>(level), static_cast<int>(layout), rows, each.first, each.zero,
                  each.q);
          CHECK(std::all_of(found.end() - columns, found.end(), [&](float value) {
            return std::isnan(each.expected) ? std::isnan(value) : value == each.expected;
          }));
        }
      }
    }
  }
}

TEST_CASE("_weight_int4pack_mm_cpu_tensor: the layout of this processor, and what it refuses",
          "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  const std::int64_t columns = 80, inner = 64;
  std::vector<int> q;
  for (std::int64_t i = 0; i < columns * inner; ++i)
    q.push_back(static_cast<int>(source.below(16)));
  const auto packed = pack(q, columns, inner, int4_layout(vector_level()));
  Handle weights = make({columns, inner / 2}, ScalarType::Byte);
  std::copy(packed.begin(), packed.end(), weights->as<std::uint8_t>());
  Handle group = make({}, ScalarType::Long);
  group.set(0, 32);
  for (const ScalarType type : {ScalarType::Float, ScalarType::BFloat16, ScalarType::Half}) {
    const Handle x = random(source, {3, inner}, type, {2 * inner, 2});
    const Handle scales = random(source, {2, columns, 2}, type);
    const auto run = [&](Handle& out) {
      return aoti_torch_cpu__weight_int4pack_mm_cpu_tensor(x.get(), weights.get(), group.get(),
                                                           scales.get(), out.out());
    };
    {
      Handle first;
      REQUIRE(run(first) == 0);
    }
    const std::size_t before = allocations();
    Handle out;
    REQUIRE(run(out) == 0);
    CHECK(allocations() == before);
    std::vector<double> expected;
    for (std::int64_t i = 0; i < 3 * columns; ++i) {
      double sum = 0;
      for (std::int64_t k = 0; k < inner; ++k) {
        const std::int64_t about = (k / 32 * columns + i % columns) * 2;
        sum += x.at(i / columns * inner + k) *
               ((q[static_cast<std::size_t>(i % columns * inner + k)] - 8) * scales.at(about) +
                scales.at(about + 1));
      }
      expected.push_back(sum);
    }
    CHECK(out->scalar_type == type);
    CHECK(difference(out.values(), expected, 8 * tolerance(type, inner)) == "");
  }
  const auto refusal = [&](const Handle& x, const Handle& scales) {
    Handle out;
    CHECK(aoti_torch_cpu__weight_int4pack_mm_cpu_tensor(x.get(), weights.get(), group.get(),
                                                        scales.get(), out.out()) == 1);
    return fixture.pool.take_failure();
  };
  const Handle x = make({3, inner}), scales = make({2, columns, 2});
  CHECK_THAT(refusal(make({3, inner}, ScalarType::Double), scales),
             ContainsSubstring("an input of Double: expected Float, BFloat16 or Half"));
  CHECK_THAT(refusal(x, make({2, columns, 2}, ScalarType::Half)),
             ContainsSubstring("weights of Byte, scales of Half and a group size of Long"));
  CHECK_THAT(refusal(make({3, inner + 32}), scales),
             ContainsSubstring("an input [3, 96], weights [80, 32] and scales [2, 80, 2]"));
  CHECK_THAT(refusal(x, make({1, columns, 2})), ContainsSubstring("scales [1, 80, 2]: expected"));
  CHECK_THAT(refusal(x, make({2, columns, 2}, ScalarType::Float, {2 * columns, 1, columns})),
             ContainsSubstring("expected contiguous ones"));
  group.set(0, 0);
  CHECK_THAT(refusal(x, scales), ContainsSubstring("groups of 0: expected 32, 64, 128 or 256"));
  group.set(0, 16);
  CHECK_THAT(refusal(x, scales), ContainsSubstring("groups of 16"));
  group = make({2}, ScalarType::Long);
  CHECK_THAT(refusal(x, scales), ContainsSubstring("a group size [2]: expected one number"));
}

}  // namespace quantized_test
