// SPDX-License-Identifier: MIT
//
// The author's half of "tenon.kernels/1", seen through the C boundary.
#include <tenon/abi/static_plugin.h>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <tenon/tenon.hpp>
#include <vector>

#include "support/catch.hpp"
#include "support/idle_backend.hpp"
#include "unit/backend/fake_host.hpp"
#include "unit/core/test_tensor.hpp"

using namespace tenon;
using namespace tenon::test;

namespace {

/// Kernels alone, under names that are known when it is compiled.
class Counting final : public Backend<Counting>, public WithKernels<Counting> {
 public:
  static constexpr std::string_view id = "CountingKernels";
  static constexpr std::array<std::string_view, 3> operators{"test::add_one", "test::throw",
                                                             "test::no_memory"};

  /// Counts how many of it there are.
  class Kernel {
   public:
    explicit Kernel(std::string_view op) : throws_(op == "test::throw") { ++alive; }
    Kernel(Kernel&& other) noexcept : throws_(other.throws_) { ++alive; }
    ~Kernel() { --alive; }

    Status run(ExecutionContext& context, Args args) {
      if (throws_) throw std::runtime_error("thrown by the author");
      last_method = context.method_name();
      TENON_TRY(const auto in, args.tensor<const std::int64_t>(0));
      TENON_TRY(const auto out, args.tensor<std::int64_t>(1));
      for (std::size_t i = 0; i < in.size(); ++i) out[i] = in[i] + 1;
      return ok();
    }

   private:
    bool throws_;
  };

  Result<Kernel> create_kernel(std::string_view op, Args args) {
    if (op == "test::no_memory") throw std::bad_alloc();
    TENON_RETURN_IF_ERROR(args.expect(2));
    TENON_TRY(const TensorView in, args.tensor(0));
    if (in.scalar_type() != ScalarType::Long) {
      return error(Error::OperatorMissing, "expected dtype Long, found ",
                   name_of(in.scalar_type()));
    }
    return Kernel(op);
  }

  static inline int alive = 0;
  static inline std::string last_method;
};

/// Delegates as well, and kernels that are found at run time.
class Finding final : public Backend<Finding>, public IdleDelegates, public WithKernels<Finding> {
 public:
  static constexpr std::string_view id = "FindingBackend";

  struct Kernel {
    Status (*run)(ExecutionContext&, Args);
  };
  Result<std::vector<std::string>> list_operators() {
    if (fail) return error(Error::AccessFailed, "the library of kernels is not there");
    return std::vector<std::string>{"found::first", "found::second.out"};
  }
  Result<Kernel> create_kernel(std::string_view op, Args) {
    if (!op.starts_with("found::")) return error(Error::OperatorMissing, "not found: ", op);
    return Kernel{[](ExecutionContext&, Args) -> Status { return ok(); }};
  }
  static inline bool fail = false;
};

}  // namespace

TENON_PLUGIN(Counting, Finding);

namespace {

const LinkedPlugin plugin(tenon_static_plugin_Counting);

struct Opened {
  explicit Opened(std::size_t index) : backend(plugin.api(index), host) {
    REQUIRE(backend.status == TENON_STATUS_OK);
    table = backend.extension<tenon_kernels_v1>(TENON_EXTENSION_KERNELS);
    REQUIRE(table != nullptr);
  }

  tenon_status create(const char* op, const TestArgs& args) {
    const tenon_kernel_context context{sizeof context, static_cast<std::uint32_t>(args.size()), op,
                                       args.data()};
    return table->create_kernel(backend.backend, &context, &kernel);
  }
  tenon_status run() {
    const tenon_execution_context context = {sizeof context,          0,      &host, "forward",
                                             &backend.temp_allocator, nullptr};
    return table->run_kernel(kernel, &context);
  }
  void destroy() { table->destroy_kernel(backend.backend, std::exchange(kernel, nullptr)); }

  [[nodiscard]] std::vector<std::string> operators() const {
    std::vector<std::string> out;
    const auto sink = [](void* to, const char* op) {
      static_cast<std::vector<std::string>*>(to)->emplace_back(op);
    };
    status = table->list_operators(backend.backend, sink, &out);
    return out;
  }

  FakeHost host;
  OpenedBackend backend;
  const tenon_kernels_v1* table = nullptr;
  tenon_kernel* kernel = nullptr;
  mutable tenon_status status = TENON_STATUS_OK;
};

}  // namespace

TEST_CASE("a backend with the mixin says in its record that it offers kernels",
          "[backend][TN-KRN-1]") {
  CHECK(plugin.record(0).flags == TENON_BACKEND_OFFERS_KERNELS);
  CHECK(plugin.record(1).flags == TENON_BACKEND_OFFERS_KERNELS);
  const Opened opened(0);
  CHECK(opened.table->struct_size == sizeof(tenon_kernels_v1));
}

TEST_CASE("operators are listed as they are declared, or as they are found",
          "[backend][TN-KRN-6]") {
  CHECK(Opened(0).operators() ==
        std::vector<std::string>{"test::add_one", "test::throw", "test::no_memory"});
  const Opened finding(1);
  CHECK(finding.operators() == std::vector<std::string>{"found::first", "found::second.out"});
  Finding::fail = true;
  CHECK(finding.operators().empty());
  Finding::fail = false;
  CHECK(finding.status == TENON_STATUS_ACCESS_FAILED);
  CHECK(finding.host.last_text == "the library of kernels is not there");
}

TEST_CASE("a kernel runs with the arguments that it was made for as they are now",
          "[backend][TN-KRN-4]") {
  Opened opened(0);
  TestTensor in({2}, {std::int64_t{1}, std::int64_t{2}}), out(ScalarType::Long, {2});
  const TestArgs args({in.value(), out.value()});
  REQUIRE(opened.create("test::add_one", args) == TENON_STATUS_OK);
  REQUIRE(opened.kernel != nullptr);
  REQUIRE(opened.run() == TENON_STATUS_OK);
  CHECK(out.elements<std::int64_t>() == std::vector<std::int64_t>{2, 3});
  CHECK(Counting::last_method == "forward");
  std::array<std::int64_t, 2> other = {10, 20};
  in.raw().dl.data = other.data();
  REQUIRE(opened.run() == TENON_STATUS_OK);
  CHECK(out.elements<std::int64_t>() == std::vector<std::int64_t>{11, 21});

  // A run that fails leaves the next one as it was.
  in.raw().dl.data = nullptr;
  CHECK(opened.run() == TENON_STATUS_INVALID_ARGUMENT);
  in.raw().dl.data = other.data();
  CHECK(opened.run() == TENON_STATUS_OK);
  opened.destroy();
}

TEST_CASE("each kernel is destroyed once, and null is not destroyed",
          "[backend][TN-KRN-7][TN-KRN-8]") {
  Counting::alive = 0;
  Opened opened(0);
  TestTensor in(ScalarType::Long, {2}), out(ScalarType::Long, {2});
  const TestArgs args({in.value(), out.value()});
  const TestArgs one({in.value()});
  REQUIRE(opened.create("test::add_one", args) == TENON_STATUS_OK);
  tenon_kernel* first = std::exchange(opened.kernel, nullptr);
  REQUIRE(opened.create("test::throw", args) == TENON_STATUS_OK);
  CHECK(Counting::alive == 2);
  opened.table->destroy_kernel(opened.backend.backend, first);
  CHECK(Counting::alive == 1);
  opened.destroy();
  CHECK(Counting::alive == 0);
  opened.table->destroy_kernel(opened.backend.backend, nullptr);

  CHECK(opened.create("test::add_one", one) == TENON_STATUS_INVALID_ARGUMENT);
  CHECK(opened.kernel == nullptr);
  CHECK(Counting::alive == 0);
}

TEST_CASE("an operator or a dtype without a kernel is missing by name", "[backend][TN-KRN-2]") {
  Opened opened(0);
  TestTensor floats(ScalarType::Float, {2}), longs(ScalarType::Long, {2});
  const TestArgs good({longs.value(), longs.value()});
  const TestArgs wrong_dtype({floats.value(), floats.value()});
  for (const char* op : {"", "test::add_on", "test::add_one_", "test::add_one.out"}) {
    CHECK(opened.create(op, good) == TENON_STATUS_OPERATOR_MISSING);
    CHECK(opened.host.last_text ==
          concat("backend CountingKernels has no kernel for ", std::string_view(op)));
  }
  CHECK(opened.create("test::add_one", wrong_dtype) == TENON_STATUS_OPERATOR_MISSING);
  CHECK(opened.host.last_text == "test::add_one: expected dtype Long, found Float");

  Opened finding(1);
  CHECK(finding.create("lost::first", good) == TENON_STATUS_OPERATOR_MISSING);
  CHECK(finding.host.last_text == "not found: lost::first");
  REQUIRE(finding.create("found::first", good) == TENON_STATUS_OK);
  CHECK(finding.run() == TENON_STATUS_OK);
  finding.destroy();
}

TEST_CASE("wrong arguments are refused with their number and kind", "[backend][TN-KRN-3]") {
  Opened opened(0);
  TestTensor longs(ScalarType::Long, {2});
  CHECK(opened.create("test::add_one", TestArgs({})) == TENON_STATUS_INVALID_ARGUMENT);
  CHECK(opened.host.last_text == "number of arguments: expected 2, found 0");
  CHECK(opened.create("test::add_one", TestArgs({integer_value(7), longs.value()})) ==
        TENON_STATUS_INVALID_ARGUMENT);
  CHECK(opened.host.last_text == "argument 0: expected Tensor, found Int");
}

TEST_CASE("exceptions of kernels do not cross the boundary", "[backend][TN-BCK-1]") {
  Counting::alive = 0;
  Opened opened(0);
  TestTensor longs(ScalarType::Long, {2});
  const TestArgs args({longs.value(), longs.value()});
  CHECK(opened.create("test::no_memory", args) == TENON_STATUS_MEMORY_ALLOCATION_FAILED);
  REQUIRE(opened.create("test::throw", args) == TENON_STATUS_OK);
  CHECK(opened.run() == TENON_STATUS_INTERNAL);
  CHECK(opened.host.last_text == "thrown by the author");
  opened.destroy();
  CHECK(Counting::alive == 0);
}

TEST_CASE("a backend of kernels alone loads no blob", "[backend]") {
  Opened opened(0);
  CHECK(opened.backend.init("blob") == TENON_STATUS_NOT_SUPPORTED);
  CHECK(opened.host.last_text == "backend CountingKernels has kernels alone, no delegates");
  Opened both(1);
  CHECK(both.backend.init("blob") == TENON_STATUS_OK);
  both.backend.destroy();
}
