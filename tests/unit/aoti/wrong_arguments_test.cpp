// SPDX-License-Identifier: MIT
//
// Real compiled models that get arguments that they were not compiled for, through the C table, as
// a host that breaks the rules would call it.
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "program.hpp"
#include "tenon/host/layers/data/merged_data_map.hpp"
#include "tenon/host/loader/impl/method/arena.hpp"
#include "tenon/host/loader/plugin/calls.hpp"
#include "tenon/host/loader/plugin/last_error.hpp"
#include "unit/core/test_tensor.hpp"

using namespace tenon;
using namespace tenon::test;

namespace {

/// The first delegate of a program.
class FirstDelegate {
 public:
  explicit FirstDelegate(const std::filesystem::path& path) {
    auto program = host::Program::open(path);
    INFO(program.text());
    REQUIRE(program.ok());
    program_ = *std::move(program);
    auto data = host::MergedDataMap::create(program_);
    REQUIRE(data.ok());
    data_ = *std::move(data);
    const auto plan = program_->plan("forward");
    REQUIRE(plan.ok());
    const auto blob = program_->view().delegate_data(*(*plan)->delegates()->Get(0));
    const auto found = aoti_.registry().lookup_backend("CpuAotiBackend");
    REQUIRE(found.ok());
    backend_ = *found;
    tenon_buffer processed{sizeof processed, 0,       blob.data(),
                           blob.size(),      nullptr, [](tenon_buffer*) {}};
    host::detail::InitCall context;
    context.host = backend_->host();
    context.method_name = "forward";
    context.processed = &processed;
    context.runtime_allocator = arena_.table();
    context.named_data_map = data_->abi();
    const tenon_status status = backend_->api().init(backend_->raw(), &context, &delegate_);
    INFO(host::take_last_error(backend_->host(), status).text());
    REQUIRE(status == TENON_STATUS_OK);
  }
  FirstDelegate(const FirstDelegate&) = delete;
  FirstDelegate& operator=(const FirstDelegate&) = delete;
  ~FirstDelegate() { backend_->api().destroy(backend_->raw(), delegate_); }

  template <class... Tensors>
  [[nodiscard]] Status run(Tensors&... tensors) const {
    host::Arena arena;
    const host::detail::CallContext context(backend_->host(), "forward", arena.table(), nullptr);
    const TestArgs args({tensors.value()...});
    const tenon_status status =
        backend_->api().execute(backend_->raw(), delegate_, &context, args.data(), args.size());
    return status == TENON_STATUS_OK ? ok() : host::take_last_error(backend_->host(), status);
  }

 private:
  AotiHost aoti_;
  host::BackendRef backend_;
  std::shared_ptr<const host::Program> program_;
  std::shared_ptr<const host::MergedDataMap> data_;
  host::Arena arena_;
  tenon_delegate* delegate_ = nullptr;
};

/// Captures the output to the standard streams during its lifetime.
class Written {
 public:
  explicit Written(int stream)
      : stream_(stream), before_(::dup(stream)), file_(std::tmpfile(), &std::fclose) {
    REQUIRE(file_);
    ::dup2(::fileno(file_.get()), stream_);
  }
  Written(const Written&) = delete;
  Written& operator=(const Written&) = delete;
  ~Written() {
    ::dup2(before_, stream_);
    ::close(before_);
  }
  [[nodiscard]] long nbytes() const { return ::lseek(::fileno(file_.get()), 0, SEEK_END); }

 private:
  int stream_;
  int before_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

/// One argument that the model was not compiled for, and the expected message.
struct Wrong {
  ScalarType type;
  std::vector<std::int64_t> sizes;
  std::vector<std::uint8_t> dim_order;
  std::string_view said;
};

const std::filesystem::path fixtures = TENON_TEST_FIXTURES;
const std::filesystem::path cases = TENON_TEST_AOTI_CASES;

}  // namespace

TEST_CASE("a compiled model refuses arguments that it was not compiled for",
          "[aoti][TN-EXE-5][TN-EXE-3][TN-PRC-5]") {
  const FirstDelegate delegate(fixtures / "cpu_addmul/model.pte");
  const Wrong wrongs[] = {
      {ScalarType::Half, {2, 3}, {}, "expected"},
      {ScalarType::Int, {2, 3}, {}, "expected"},
      {ScalarType::Double, {2, 3}, {}, "expected"},
      {ScalarType::Float, {6}, {}, "expected"},
      {ScalarType::Float, {}, {}, "expected"},
      {ScalarType::Float, {2, 3, 1}, {}, "expected"},
      {ScalarType::Float, {3, 2}, {}, "expected: 2, but got: 3"},
      {ScalarType::Float, {2, 4}, {}, "expected: 3, but got: 4"},
      {ScalarType::Float, {0, 3}, {}, "expected: 2, but got: 0"},
      {ScalarType::Float, {2, 3}, {1, 0}, "unmatched stride value"},
  };
  TestTensor a({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
  TestTensor b({2, 3}, {0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f});
  TestTensor y(ScalarType::Float, {2, 3});
  // First before any good run, then between good ones.
  for (const bool has_run : {false, true}) {
    for (const Wrong& wrong : wrongs) {
      TestTensor x(wrong.type, wrong.sizes, wrong.dim_order);
      for (const bool is_second : {false, true}) {
        INFO(wrong.said << ", argument " << is_second << ", rank " << wrong.sizes.size());
        std::string text;
        {
          const Written out(STDOUT_FILENO);
          const Written err(STDERR_FILENO);
          const Status status = is_second ? delegate.run(a, x, y) : delegate.run(x, b, y);
          CHECK(status.error() == Error::InvalidArgument);
          text = status.text();
          CHECK(out.nbytes() == 0);
          CHECK(err.nbytes() == 0);
        }
        CHECK_THAT(text, ContainsSubstring(std::string(wrong.said)));
      }
      if (!has_run) continue;
      const Status status = delegate.run(a, b, y);
      INFO(status.text());
      REQUIRE(status.ok());
      CHECK(y.elements<float>() == std::vector{3.0f, 5.0f, 7.0f, 9.0f, 11.0f, 13.0f});
    }
  }
}

TEST_CASE("an output that does not fit what a compiled model makes is refused",
          "[aoti][TN-EXE-5][TN-EXE-3]") {
  const FirstDelegate delegate(fixtures / "cpu_addmul/model.pte");
  TestTensor a({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
  TestTensor y(ScalarType::Float, {2, 3});
  TestTensor whole(ScalarType::Int, {2, 3});
  CHECK_FALSE(delegate.run(a, a, whole).ok());
  REQUIRE(delegate.run(a, a, y).ok());
  CHECK(y.elements<float>() == std::vector{4.0f, 8.0f, 12.0f, 16.0f, 20.0f, 24.0f});
  CHECK_FALSE(delegate.run(a, a, whole).ok());
  CHECK(whole.elements<std::int32_t>() == std::vector<std::int32_t>(6));
}

TEST_CASE("a model of dynamic shape takes every size up to its bound and no other one",
          "[aoti][TN-EXE-5][TN-EXE-10]") {
  const FirstDelegate delegate(cases / "dynamic_shapes/model.pte");
  TestTensor first(ScalarType::Float, {3, 6});
  TestTensor first_out(ScalarType::Float, {3, 3});
  for (const std::int64_t size : {0, 1, 2, 16, 1, 5, 0, 3}) {
    INFO("size " << size);
    TestTensor x(ScalarType::Float, {size, 6});
    TestTensor y(ScalarType::Float, {size, 3});
    for (int i = 0; i < 2; ++i) {
      const Status status = delegate.run(x, y);
      INFO(status.text());
      REQUIRE(status.ok());
    }
    // Each row is the same: all of its inputs are 0.
    REQUIRE(delegate.run(first, first_out).ok());
    if (size == 0) continue;
    const auto last = static_cast<std::size_t>(size * 3 - 1);
    CHECK(std::abs(y.elements<float>()[0] - first_out.elements<float>()[0]) < 1e-6f);
    CHECK(std::abs(y.elements<float>()[last] - first_out.elements<float>()[2]) < 1e-6f);
  }
  const Wrong wrongs[] = {
      {ScalarType::Float, {17, 6}, {}, "too large at 0, expected to be <= 16, but got: 17"},
      {ScalarType::Float, {1, 5}, {}, "expected: 6, but got: 5"},
      {ScalarType::Float, {1, 0}, {}, "expected: 6, but got: 0"},
      {ScalarType::Half, {1, 6}, {}, "expected Float of rank 2, found Half [1, 6]"},
      {ScalarType::Float, {6}, {}, "expected Float of rank 2, found Float [6]"},
      {ScalarType::Float, {5, 6}, {1, 0}, "unmatched stride value"},
  };
  TestTensor y(ScalarType::Float, {1, 3});
  for (const Wrong& wrong : wrongs) {
    INFO(wrong.said);
    TestTensor x(wrong.type, wrong.sizes, wrong.dim_order);
    const Status status = delegate.run(x, y);
    CHECK(status.error() == Error::InvalidArgument);
    CHECK_THAT(std::string(status.text()), ContainsSubstring(std::string(wrong.said)));
    CHECK(delegate.run(first, first_out).ok());
  }
}
