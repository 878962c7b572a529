// SPDX-License-Identifier: MIT
#include "onednn/packed_weights.hpp"

#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "file_pages.hpp"
#include "kernel_support.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

using namespace kernel_test;
using namespace tenon::cpu_aoti;
using onednn::PackedWeights;
using tenon::test::TemporaryDirectory;

namespace packed_weights_test {
namespace {

const Shape image = {1, 32, 12, 12};
const Shape kernel = {48, 32, 3, 3};

/// A 3 x 3 convolution, for which oneDNN reads weights in blocks.
Handle convolve(const Handle& input, const Handle& weight) {
  const std::int64_t one[] = {1, 1}, none[] = {0, 0};
  Handle out;
  // Not a REQUIRE, which would record something in each thread.
  if (aoti_torch_cpu_convolution(input.get(), weight.get(), nullptr, one, 2, one, 2, one, 2, 0,
                                 none, 2, 1, out.out()) != 0) {
    FAIL(tenon::aoti::current_pool().take_failure());
  }
  return out;
}

/// A weight that a model loaded as a constant that it never writes to.
Handle fixed_weight(std::uint64_t seed = 7) {
  Random source{seed};
  Handle out = random(source, kernel);
  out->storage->is_fixed = true;
  return out;
}

PackedWeights& packed(Fixture& fixture) { return fixture.pool.cache<PackedWeights>(); }

}  // namespace

TEST_CASE("a fixed weight is packed at the first run and not read again", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  const Handle input = random(source, image);
  Handle weight = fixed_weight();
  Handle changing = fixed_weight();
  changing->storage->is_fixed = false;
  const std::vector<double> expected = convolve(input, changing).values();
  CHECK(packed(fixture).nbytes() == 0);
  CHECK(convolve(input, weight).values() == expected);
  CHECK(packed(fixture).nbytes() == weight->nbytes());
  const std::size_t before = allocations();
  for (Handle* each : {&weight, &changing}) {
    for (std::int64_t i = 0; i < (*each)->numel; ++i) each->set(i, 0);
  }
  CHECK(convolve(input, weight).values() == expected);
  CHECK(allocations() == before);
  // What a model may write to is read in each run.
  CHECK(convolve(input, changing).values() == std::vector<double>(expected.size(), 0.0));
  CHECK(packed(fixture).nbytes() == weight->nbytes());
}

TEST_CASE("a view of a fixed weight is packed as itself", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  const Handle input = random(source, image);
  const Handle both = fixed_weight();
  const Shape half = {24, 32, 3, 3};
  const Handle first(fixture.pool.view(*both, half, nullptr, 0));
  const Handle second(fixture.pool.view(*both, half, nullptr, both->numel / 2));
  const auto all = convolve(input, both).values();
  auto parts = convolve(input, first).values();
  const auto rest = convolve(input, second).values();
  parts.insert(parts.end(), rest.begin(), rest.end());
  CHECK(difference(parts, all, 1e-5) == "");
}

TEST_CASE("with packing off a fixed weight is reordered in each run", "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  packed(fixture).enable(false);
  const Handle input = random(source, image);
  Handle weight = fixed_weight();
  convolve(input, weight);
  for (std::int64_t i = 0; i < weight->numel; ++i) weight.set(i, 0);
  const auto zeros = convolve(input, weight).values();
  CHECK(zeros == std::vector<double>(zeros.size(), 0.0));
  CHECK(packed(fixture).nbytes() == 0);
}

TEST_CASE("a fixed matrix is packed for products of several rows", "[cpu_aoti]") {
  Random source;
  for (const ScalarType type : {ScalarType::Float, ScalarType::BFloat16, ScalarType::Half}) {
    for (const bool transposed : {false, true}) {
      Fixture fixture;
      const Handle changing =
          random(source, {128, 160}, type, transposed ? Shape{1, 128} : Shape{160, 1});
      Handle fixed = make({128, 160}, type, changing.strides());
      for (std::int64_t i = 0; i < fixed->numel; ++i) fixed.set(i, changing.at(i));
      fixed->storage->is_fixed = true;
      const Handle bias = random(source, {160}, type);
      const auto multiply = [&](const Handle& b, const Handle& a, double beta) {
        Handle out = make({a->sizes[0], 160}, type);
        const auto failed =
            aoti_torch_cpu_addmm_out(out.get(), bias.get(), a.get(), b.get(), beta, 0.5);
        INFO(fixture.pool.failure());
        REQUIRE(failed == 0);
        return out.values();
      };
      for (const std::int64_t rows : {7, 1, 64, 200, 7}) {
        INFO(tenon::name_of(type) << " transposed " << transposed << " rows " << rows);
        const Handle a = random(source, {rows, 128}, type);
        for (const double beta : {0.0, 2.0}) {
          CHECK(difference(multiply(fixed, a, beta), multiply(changing, a, beta),
                           2 * tolerance(type, 128)) == "");
        }
      }
      CHECK(packed(fixture).nbytes() <= 2 * std::size_t{160} * 160 * sizeof(float));
      const Handle a = random(source, {7, 128}, type);
      const auto expected = multiply(fixed, a, 2);
      const std::size_t before = allocations();
      for (std::int64_t i = 0; i < fixed->numel; ++i) fixed.set(i, 0);
      const auto again = multiply(fixed, a, 2);
      CHECK(allocations() == before);
      // Half is converted in each run.
      CHECK((again == expected) == (packed(fixture).nbytes() != 0));
    }
  }
}

TEST_CASE("instances share a packed weight, and the last one frees it", "[cpu_aoti]") {
  Random source;
  Fixture outer;
  const Handle input = random(source, image);
  const Handle weight = fixed_weight();
  const auto expected = convolve(input, weight).values();
  const std::size_t one = packed(outer).nbytes();
  REQUIRE(one != 0);
  CHECK(PackedWeights::nbytes_of_process() == one);
  {
    Fixture inner;
    const Handle same = fixed_weight();
    CHECK(convolve(input, same).values() == expected);
    CHECK(packed(inner).nbytes() == one);
    CHECK(PackedWeights::nbytes_of_process() == one);
    const Handle other = fixed_weight(8);
    CHECK(convolve(input, other).values() != expected);
    CHECK(PackedWeights::nbytes_of_process() == 2 * one);
    // As a delegate with several copies of its model reports them.
    CHECK(packed(inner).nbytes() == 2 * one);
    const PackedWeights* const instances[] = {&packed(outer), &packed(inner)};
    CHECK(PackedWeights::nbytes_of(instances) == 2 * one);
  }
  CHECK(PackedWeights::nbytes_of_process() == one);
}

TEST_CASE("weights that differ in one element are not shared", "[cpu_aoti]") {
  Fixture outer;
  Random source;
  const Handle input = random(source, image);
  for (const std::int64_t at :
       {std::int64_t{0}, std::int64_t{4711}, std::int64_t{48 * 32 * 9 - 1}}) {
    Fixture first, second;
    const Handle weight = fixed_weight();
    Handle other = fixed_weight();
    other.set(at, 3);
    const auto expected = convolve(input, weight).values();
    CHECK(convolve(input, other).values() != expected);
  }
}

TEST_CASE("a weight is kept in two formats at most", "[cpu_aoti]") {
  Fixture fixture;
  PackedWeights& weights = packed(fixture);
  const std::vector<float> source(120, 1.0f);
  const auto* bytes = reinterpret_cast<const std::byte*>(source.data());
  const std::int64_t sizes[] = {2, 3, 4, 5};
  const auto desc = [&](const Shape& strides) {
    return *onednn::Format::with_strides(sizes, strides.data(), dnnl_f32);
  };
  const auto from = desc({60, 20, 5, 1});
  const auto first = weights.get(bytes, from, desc({60, 1, 15, 3}));
  const auto second = weights.get(bytes, from, desc({1, 2, 6, 24}));
  REQUIRE((first.ok() && second.ok()));
  CHECK(*first != nullptr);
  CHECK((*second != nullptr && *second != *first));
  CHECK(*weights.get(bytes, from, desc({60, 1, 15, 3})) == *first);
  CHECK(*weights.get(bytes, from, desc({12, 4, 1, 24})) == nullptr);
  CHECK(weights.nbytes() == 960);
}

TEST_CASE("a weight without memory for its packed form is reordered in each run", "[cpu_aoti]") {
  Fixture fixture;
  PackedWeights& weights = packed(fixture);
  const std::vector<float> source(4, 1.0f);
  const std::int64_t sizes[] = {2, 2};
  const std::int64_t plain[] = {2, 1}, far_apart[] = {std::int64_t{1} << 58, 1};
  const auto packed_form = weights.get(reinterpret_cast<const std::byte*>(source.data()),
                                       *onednn::Format::with_strides(sizes, plain, dnnl_f32),
                                       *onednn::Format::with_strides(sizes, far_apart, dnnl_f32));
  INFO(packed_form.text());
  REQUIRE(packed_form.ok());
  CHECK(*packed_form == nullptr);
  CHECK(weights.nbytes() == 0);
}

TEST_CASE("weights of one shape share a primitive, and each keeps its own packed form",
          "[cpu_aoti]") {
  Fixture fixture;
  Random source;
  const Handle input = random(source, image);
  const Handle first = fixed_weight(), second = fixed_weight(8), changing = fixed_weight(9);
  changing->storage->is_fixed = false;
  const auto of_first = convolve(input, first).values();
  const auto of_second = convolve(input, second).values();
  const auto of_changing = convolve(input, changing).values();
  CHECK((of_first != of_second && of_second != of_changing));
  CHECK(packed(fixture).nbytes() == 2 * first->nbytes());
  CHECK(convolve(input, first).values() == of_first);
  CHECK(convolve(input, second).values() == of_second);
  CHECK(convolve(input, changing).values() == of_changing);
  for (const Handle* each : {&first, &second}) (*each)->storage->is_fixed = false;
  CHECK(convolve(input, first).values() == of_first);
  CHECK(convolve(input, second).values() == of_second);
}

TEST_CASE("a full cache of primitives drops the oldest one alone", "[cpu_aoti]") {
  using Cache = onednn::Cache<std::int64_t>;
  Cache cache;
  std::int64_t num_made = 0;
  const auto get = [&](std::int64_t number) {
    onednn::Key key;
    key.add(number);
    const auto made = cache.get(key, [&](std::int64_t& value) {
      ++num_made;
      value = number;
      return tenon::ok();
    });
    REQUIRE(made.ok());
    CHECK(**made == number);
  };
  const auto most = static_cast<std::int64_t>(Cache::max_keys);
  for (std::int64_t i = 0; i < most + 2; ++i) get(i);
  CHECK(num_made == most + 2);
  for (std::int64_t i = 2; i < most + 2; ++i) get(i);
  CHECK(num_made == most + 2);
  get(0);  // Replaces 2, the oldest.
  CHECK(num_made == most + 3);
  get(3);
  CHECK(num_made == most + 3);
  get(2);
  CHECK(num_made == most + 4);
}

TEST_CASE("threads that pack the same weight share it", "[cpu_aoti]") {
  std::vector<std::thread> threads;
  std::vector<std::vector<double>> results(4);
  for (auto& result : results) {
    threads.emplace_back([&result] {
      Fixture fixture;
      Random source;
      const Handle input = random(source, image);
      const Handle weight = fixed_weight();
      for (int i = 0; i < 3; ++i) result = convolve(input, weight).values();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) CHECK(result == results.front());
  CHECK(PackedWeights::nbytes_of_process() == 0);
}

TEST_CASE("a thousand instances with packed weights leave the heap as it was", "[cpu_aoti]") {
  const auto once = [] {
    Fixture fixture;
    const Handle input = make(image);
    const Handle weight = fixed_weight();
    convolve(input, weight);
  };
  const auto heap = [] {
    const auto info = ::mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  for (int i = 0; i < 20; ++i) once();
  const std::size_t before = heap();
  for (int i = 0; i < 1000; ++i) once();
  CHECK(heap() < before + 65'536);
  CHECK(PackedWeights::nbytes_of_process() == 0);
}

}  // namespace packed_weights_test

namespace file_pages_test {
namespace {

constexpr std::size_t num_pages = 40;

/// A file of pages, mapped privately.
class Mapped {
 public:
  explicit Mapped(int protection) : page_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) {
    const auto path = (directory_.path() / "pages").native();
    std::ofstream(path) << std::string(num_pages * page_, 'x');
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    REQUIRE(file >= 0);
    void* data = ::mmap(nullptr, size(), protection, MAP_PRIVATE, file, 0);
    ::close(file);
    REQUIRE(data != MAP_FAILED);
    data_ = static_cast<char*>(data);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  ~Mapped() { ::munmap(data_, size()); }

  [[nodiscard]] std::size_t size() const { return num_pages * page_; }
  [[nodiscard]] std::size_t page() const { return page_; }
  [[nodiscard]] char* data() const { return data_; }
  [[nodiscard]] const std::byte* bytes() const { return reinterpret_cast<std::byte*>(data_); }

  /// Reads all pages, so that they are in memory.
  [[nodiscard]] std::string text() const { return {data_, size()}; }

  /// Kilobytes of this mapping in memory.
  [[nodiscard]] std::size_t resident() const {
    std::ostringstream start;
    start << std::hex << reinterpret_cast<std::uintptr_t>(data_) << '-';
    std::ifstream file("/proc/self/smaps");
    bool found = false;
    for (std::string line; std::getline(file, line);) {
      found = found || line.starts_with(start.str());
      if (found && line.starts_with("Rss:")) return std::stoul(line.substr(4));
    }
    FAIL("the mapping is not in smaps");
    return 0;
  }

 private:
  TemporaryDirectory directory_;
  std::size_t page_;
  char* data_ = nullptr;
};

}  // namespace

TEST_CASE("pages of a mapped file leave memory, and only those inside", "[cpu_aoti]") {
  const Mapped mapped(PROT_READ);
  const std::string before = mapped.text();
  REQUIRE(mapped.resident() == mapped.size() / 1024);
  release_file_pages(mapped.bytes() + 1, 2 * mapped.page());  // One whole page.
  CHECK(mapped.resident() == (mapped.size() - mapped.page()) / 1024);
  release_file_pages(mapped.bytes() + 100, 200);
  CHECK(mapped.resident() == (mapped.size() - mapped.page()) / 1024);
  release_file_pages(mapped.bytes(), mapped.size());
  CHECK(mapped.resident() == 0);
  CHECK(mapped.text() == before);
}

TEST_CASE("a page that the process wrote to keeps its contents", "[cpu_aoti]") {
  const Mapped mapped(PROT_READ | PROT_WRITE);
  REQUIRE(mapped.text().size() == mapped.size());
  mapped.data()[5 * mapped.page()] = 'y';
  release_file_pages(mapped.bytes(), mapped.size());
  CHECK(mapped.resident() == mapped.page() / 1024);
  CHECK(mapped.data()[5 * mapped.page()] == 'y');
}

TEST_CASE("memory that is of no file keeps its contents", "[cpu_aoti]") {
  const std::vector<char> memory(1 << 20, 'z');
  release_file_pages(reinterpret_cast<const std::byte*>(memory.data()), memory.size());
  CHECK(memory == std::vector<char>(1 << 20, 'z'));
}

}  // namespace file_pages_test
