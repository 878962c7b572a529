// SPDX-License-Identifier: MIT
#include <sys/mman.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "isolated.hpp"
#include "kernels.hpp"
#include "support/catch.hpp"

using namespace tenon;
using namespace tenon::test;

/// Kernels of a plugin in a worker.
namespace isolated_kernels_test { namespace {

constexpr auto both_places = {Application::Place::here, Application::Place::isolated};

bool has_text(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

TEST_CASE("an isolated plugin has the operators of its plugin, in their order") {
  std::vector<std::vector<std::string>> found;
  for (const auto place : both_places) {
    Kernels kernels(TENON_TEST_CHANGING_KERNELS, "ChangingKernels", place);
    found.push_back(kernels.operators());
  }
  CHECK(found[0].size() == 8);
  CHECK(found[0] == found[1]);
}

TEST_CASE("a kernel in a worker makes views, and what is written through them is seen") {
  for (const auto place : both_places) {
    Kernels kernels(TENON_TEST_CHANGING_KERNELS, "ChangingKernels", place);
    std::array<float, 8> bytes{0, 1, 2, 3, 4, 5, 6, 7};
    Vector x(bytes.data(), 8, 8);
    Vector out(nullptr, 0, 5);
    tenon_value n{sizeof(tenon_value), TENON_VALUE_INT, {}};
    n.as.integer = 3;
    std::vector<tenon_value*> args{&x.value, &n, &out.value, &out.value};
    tenon_kernel* const tail = kernels.make("test::tail", args);
    REQUIRE(kernels.status() == TENON_STATUS_OK);
    REQUIRE(kernels.run(tail) == TENON_STATUS_OK);
    CHECK(out.tensor.dl.data == bytes.data() + 3);
    CHECK(out.elements() == std::vector<float>{3, 4, 5, 6, 7});

    // The view and its base in one call.
    std::vector<tenon_value*> both{&out.value, &out.value, &x.value};
    tenon_kernel* const increase = kernels.make("test::increase", both);
    REQUIRE(kernels.status() == TENON_STATUS_OK);
    for (int i = 0; i < 2; ++i) REQUIRE(kernels.run(increase) == TENON_STATUS_OK);
    CHECK(x.elements() == std::vector<float>{0, 1, 2, 5, 6, 7, 8, 9});

    // Again, now that it is one.
    REQUIRE(kernels.run(tail) == TENON_STATUS_OK);
    CHECK(out.elements() == std::vector<float>{5, 6, 7, 8, 9});
    if (place == Application::Place::isolated) {
      // With the size that its bounds permit it would end after the base.
      n.as.integer = 4;
      CHECK(kernels.run(tail) == TENON_STATUS_INTERNAL);
      CHECK(has_text(Kernels::text(), "it made tensor 1 a view of bytes that no argument has"));
    }
    kernels.destroy(tail);
    kernels.destroy(increase);
  }
}

TEST_CASE(
    "a kernel in a worker makes a view of an output without memory of its own, and no other") {
  struct Case {
    bool has_memory;          ///< Of the tensor that is moved.
    bool was_null;            ///< When the kernel was made.
    std::uint32_t flags;      ///< Of it.
    std::uint32_t of_flags;   ///< Of the tensor that it is moved to.
    std::string_view text{};  ///< Of the failure.
  };
  constexpr std::string_view its_own = "it made tensor 0 a view, which has memory of its own";
  const auto [has_memory, was_null, flags, of_flags, text] = GENERATE_COPY(values<Case>(
      {{false, true, 0, 0},
       {false, true, 0, TENON_TENSOR_MEMORY_PLANNED},
       {false, true, 0, TENON_TENSOR_CONSTANT, "it made tensor 0 a view of a constant"},
       {false, true, TENON_TENSOR_CONSTANT, 0, its_own},
       {true, false, 0, 0, its_own},
       {true, true, 0, 0, its_own},
       {true, false, TENON_TENSOR_MEMORY_PLANNED, 0, its_own},
       {true, false, TENON_TENSOR_CONSTANT, TENON_TENSOR_CONSTANT, its_own}}));
  INFO(has_memory << was_null << flags << of_flags);
  Kernels kernels(TENON_TEST_CHANGING_KERNELS, "ChangingKernels", Application::Place::isolated);
  std::array<float, 4> own{};
  std::array<float, 4> other{1, 2, 3, 4};
  float* const before = has_memory ? own.data() : nullptr;
  Vector x(was_null ? nullptr : before, 4, 4);
  Vector y(other.data(), 4, 4);
  x.tensor.flags = flags;
  y.tensor.flags = of_flags;
  std::vector<tenon_value*> args{&x.value, &y.value};
  tenon_kernel* const move = kernels.make("test::move", args);
  REQUIRE(kernels.status() == TENON_STATUS_OK);
  x.tensor.dl.data = before;
  if (text.empty()) {
    // Once more when it is a view.
    for (int i = 0; i < 2; ++i) CHECK(kernels.run(move) == TENON_STATUS_OK);
    CHECK(x.tensor.dl.data == other.data());
    // Given memory since then.
    x.tensor.dl.data = own.data();
    CHECK(kernels.run(move) == TENON_STATUS_INTERNAL);
    CHECK(x.tensor.dl.data == own.data());
  } else {
    CHECK(kernels.run(move) == TENON_STATUS_INTERNAL);
    CHECK(has_text(Kernels::text(), text));
    CHECK(x.tensor.dl.data == before);
  }
  kernels.destroy(move);
}

TEST_CASE("an argument that a plugin in a worker changes may be read-only in any call") {
  Kernels kernels(TENON_TEST_CHANGING_KERNELS, "ChangingKernels", Application::Place::isolated);
  constexpr std::size_t page = 4096;
  void* const made =
      ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(made != MAP_FAILED);
  auto* const floats = static_cast<float*>(made);
  for (const std::size_t size : {std::size_t{1}, 2 * page / sizeof(float)}) {
    Vector x(floats, static_cast<std::int64_t>(size), static_cast<std::int64_t>(size));
    std::vector<tenon_value*> args{&x.value, &x.value};
    tenon_kernel* const increase = kernels.make("test::increase", args);
    for (int i = 0; i < 2; ++i) {
      floats[0] = 1;
      REQUIRE(kernels.run(increase) == TENON_STATUS_OK);
      CHECK(floats[0] == 2);
      // As if a file were mapped there.
      REQUIRE(::mprotect(made, 2 * page, PROT_READ) == 0);
      CHECK(kernels.run(increase) == TENON_STATUS_INTERNAL);
      CHECK(has_text(Kernels::text(), "it changed tensor 0, which is read-only: an input"));
      CHECK(floats[0] == 2);
      REQUIRE(::mprotect(made, 2 * page, PROT_READ | PROT_WRITE) == 0);
    }
    kernels.destroy(increase);
  }
  ::munmap(made, 2 * page);
}

TEST_CASE("numbers that a kernel in a worker writes, and sizes that it gives, come back") {
  for (const auto place : both_places) {
    Kernels kernels(TENON_TEST_CHANGING_KERNELS, "ChangingKernels", place);
    tenon_value n{sizeof(tenon_value), TENON_VALUE_INT, {}};
    tenon_value b{sizeof(tenon_value), TENON_VALUE_BOOL, {}};
    tenon_value d{sizeof(tenon_value), TENON_VALUE_DOUBLE, {}};
    n.as.integer = -8;
    d.as.real = 3;
    std::vector<tenon_value*> args{&n, &b, &d};
    tenon_kernel* const count = kernels.make("test::count", args);
    for (int i = 0; i < 3; ++i) REQUIRE(kernels.run(count) == TENON_STATUS_OK);
    CHECK(n.as.integer == -5);
    CHECK(b.as.boolean == 1);
    CHECK(d.as.real == 0.375);
    kernels.destroy(count);

    std::array<float, 2> in{1, 2};
    std::array<float, 4> room{};
    Vector x(in.data(), 2, 2);
    Vector out(room.data(), 0, 4);
    std::vector<tenon_value*> sized{&x.value, &out.value, &out.value};
    tenon_kernel* const grow = kernels.make("test::grow", sized);
    REQUIRE(kernels.run(grow) == TENON_STATUS_OK);
    CHECK(out.elements() == std::vector<float>{1, 2, 1, 2});
    kernels.destroy(grow);
  }
}

TEST_CASE("failures of a kernel in a worker have the texts of the kernel, and end nothing") {
  Kernels kernels(TENON_TEST_CHANGING_KERNELS, "ChangingKernels", Application::Place::isolated);
  std::array<float, 4> bytes{};
  Vector x(bytes.data(), 4, 4);
  Vector out(nullptr, 0, 4);
  std::vector<tenon_value*> none;
  CHECK(kernels.make("test::fail", none) == nullptr);
  CHECK(kernels.status() == TENON_STATUS_INVALID_ARGUMENT);
  CHECK(has_text(Kernels::text(), "test::fail: no arguments"));

  std::vector<tenon_value*> one{&x.value};
  tenon_kernel* const fails = kernels.make("test::fail", one);
  for (int i = 0; i < 2; ++i) {
    CHECK(kernels.run(fails) == TENON_STATUS_INVALID_ARGUMENT);
    CHECK(has_text(Kernels::text(), "as it was asked to"));
  }
  std::vector<tenon_value*> two{&x.value, &out.value};
  tenon_kernel* const outside = kernels.make("test::outside", two);
  CHECK(kernels.run(outside) == TENON_STATUS_INTERNAL);
  CHECK(has_text(Kernels::text(), "the data of tensor 1 was moved to bytes that no argument has"));
  CHECK(out.tensor.dl.data == nullptr);

  tenon_kernel* const dies = kernels.make("test::die", one);
  CHECK(kernels.run(dies) == TENON_STATUS_INTERNAL);
  CHECK(has_text(Kernels::text(), "the worker died in run_kernel of backend ChangingKernels"));
  CHECK(has_text(Kernels::text(), "(operator test::die), call 1"));
  CHECK(has_text(Kernels::text(), "SIGABRT"));
  CHECK(kernels.run(fails) == TENON_STATUS_INVALID_STATE);
  // A new worker for what is made now.
  tenon_kernel* const later = kernels.make("test::fail", one);
  CHECK(kernels.status() == TENON_STATUS_OK);
  for (tenon_kernel* each : {fails, outside, dies, later}) kernels.destroy(each);
}

TEST_CASE("a kernel whose worker died is made again as often as isolated.restart says") {
  Kernels kernels(TENON_TEST_CHANGING_KERNELS, "ChangingKernels", Application::Place::isolated);
  kernels.set_restarts(1);
  std::array<float, 4> bytes{0, 1, 2, 3};
  Vector x(bytes.data(), 4, 4);
  std::vector<tenon_value*> one{&x.value};
  std::vector<tenon_value*> two{&x.value, &x.value};
  tenon_kernel* const dies = kernels.make("test::die", one);
  tenon_kernel* const increase = kernels.make("test::increase", two);
  REQUIRE(kernels.run(increase) == TENON_STATUS_OK);
  CHECK(kernels.run(dies) == TENON_STATUS_INTERNAL);
  REQUIRE(kernels.run(increase) == TENON_STATUS_OK);
  CHECK(x.elements() == std::vector<float>{2, 3, 4, 5});
  CHECK(kernels.run(dies) == TENON_STATUS_INTERNAL);
  CHECK(kernels.run(increase) == TENON_STATUS_INVALID_STATE);
  CHECK(x.elements() == std::vector<float>{2, 3, 4, 5});
  for (tenon_kernel* each : {dies, increase}) kernels.destroy(each);
}

TEST_CASE("a program with kernels of a plugin gives the same with the plugin in a worker") {
  const std::string program = TENON_TEST_FIXTURES "/add_dynamic_portable/model.pte";
  std::vector<std::vector<float>> results;
  for (const auto place : both_places) {
    Application application(TENON_TEST_ARITHMETIC_KERNELS, place);
    auto method = application.load(program);
    INFO(method.text());
    REQUIRE(method.ok());
    std::vector<float> all;
    for (int i = 0; i < 3; ++i) {
      std::vector<std::vector<float>> inputs;
      for (std::size_t k = 0; k < (*method)->num_inputs(); ++k) {
        const tenon_tensor& tensor = *(*method)->input(k).as.tensor;
        const std::vector<std::int64_t> sizes(tensor.dl.shape, tensor.dl.shape + tensor.dl.ndim);
        std::vector<float>& values = inputs.emplace_back(tensor.nbytes / sizeof(float));
        std::iota(values.begin(), values.end(), static_cast<float>(i));
        const auto bytes = std::as_bytes(std::span(values));
        REQUIRE((*method)->set_input(k, host::InputTensor{ScalarType::Float, sizes, bytes}).ok());
      }
      const Status run = (*method)->execute();
      INFO(run.text());
      REQUIRE(run.ok());
      const tenon_tensor& out = *(*method)->output(0).as.tensor;
      const auto* data = static_cast<const float*>(out.dl.data);
      all.insert(all.end(), data, data + out.nbytes / sizeof(float));
    }
    results.push_back(all);
  }
  CHECK(results[0].size() > 0);
  CHECK(results[0] == results[1]);
}

}}  // namespace isolated_kernels_test
