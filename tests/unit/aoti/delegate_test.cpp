// SPDX-License-Identifier: MIT
//
// One delegate through the C table, as only a host that breaks the rule of one call at a time would
// use it, and the extensions of the backend.
#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "common/instruction_decoder.hpp"
#include "program.hpp"
#include "tenon/abi/extensions/check_blob.h"
#include "tenon/abi/extensions/memory_info.h"
#include "tenon/host/loader/impl/method/arena.hpp"
#include "tenon/host/loader/plugin/calls.hpp"
#include "tenon/host/loader/plugin/last_error.hpp"
#include "unit/core/test_tensor.hpp"

using namespace tenon;
using namespace tenon::test;

namespace {

/// Named data from a map in memory.
class MapOfBytes : private tenon_named_data_map {
 public:
  explicit MapOfBytes(std::map<std::string, std::vector<std::byte>> data)
      : tenon_named_data_map{sizeof(tenon_named_data_map), static_cast<std::uint32_t>(data.size()),
                             &get, nullptr, &get_key_at},
        data_(std::move(data)) {}

  [[nodiscard]] const tenon_named_data_map* table() const noexcept { return this; }
  /// As another process does that writes to a mapped file.
  void overwrite(const std::string& key) { std::ranges::fill(data_.at(key), std::byte{0}); }
  std::atomic<int> num_lent = 0;

 private:
  static tenon_status get(const tenon_named_data_map* map, const char* key, std::uint64_t size,
                          tenon_buffer* out) {
    auto* self = const_cast<MapOfBytes*>(static_cast<const MapOfBytes*>(map));
    const auto found = self->data_.find(std::string(key, size));
    if (found == self->data_.end()) return TENON_STATUS_NOT_FOUND;
    out->data = found->second.data();
    out->nbytes = found->second.size();
    out->owner = &self->num_lent;
    out->release = [](tenon_buffer* buffer) {
      --*static_cast<std::atomic<int>*>(buffer->owner);
      buffer->release = nullptr;
    };
    ++self->num_lent;
    return TENON_STATUS_OK;
  }

  static tenon_status get_key_at(const tenon_named_data_map* map, std::uint32_t index,
                                 const char** key, std::uint64_t* size) {
    const auto* self = static_cast<const MapOfBytes*>(map);
    if (index >= self->data_.size()) return TENON_STATUS_INVALID_ARGUMENT;
    const auto found = std::next(self->data_.begin(), index);
    *key = found->first.data();
    *size = found->first.size();
    return TENON_STATUS_OK;
  }

  std::map<std::string, std::vector<std::byte>> data_;
};

std::vector<std::byte> file_bytes(const std::string& model) {
  const AlignedBytes file = read_file(TENON_TEST_AOTI_MODELS "/" + model + ".so");
  return {file.bytes().begin(), file.bytes().end()};
}

/// One delegate of the plugin and what it was loaded from.
class Delegate {
 public:
  Delegate(const std::string& model, std::int64_t model_copies)
      : data_({{"forward_so_blob", file_bytes(model)},
               {"forward_weights_blob", std::vector<std::byte>(128)}}) {
    const auto found = aoti_.registry().lookup_backend("CpuAotiBackend");
    REQUIRE(found.ok());
    backend_ = *found;
    const OptionValue copies = model_copies;
    const tenon_option option = write_option("model_copies", copies);
    fill(option);
    const tenon_status status = api().init(raw(), &context_, &delegate_);
    INFO(host::take_last_error(backend_->host(), status).text());
    REQUIRE(status == TENON_STATUS_OK);
  }
  ~Delegate() {
    api().destroy(raw(), delegate_);
    CHECK(data_.num_lent == 0);
  }

  [[nodiscard]] const tenon_backend_api& api() const { return backend_->api(); }
  [[nodiscard]] tenon_backend* raw() const { return backend_->raw(); }
  [[nodiscard]] tenon_delegate* get() const { return delegate_; }
  [[nodiscard]] tenon_init_context& context() { return context_; }

  [[nodiscard]] Status run(TestTensor& x, TestTensor& y) const {
    host::Arena arena;
    const host::detail::CallContext context(backend_->host(), "forward", arena.table(), nullptr);
    const TestArgs args({x.value(), y.value()});
    const tenon_status status = api().execute(raw(), delegate_, &context, args.data(), args.size());
    return status == TENON_STATUS_OK ? ok() : host::take_last_error(backend_->host(), status);
  }

 private:
  void fill(const tenon_option& option) {
    processed_ = {sizeof processed_, 0, nullptr, 0, nullptr, [](tenon_buffer*) {}};
    option_ = option;
    context_.host = backend_->host();
    context_.method_name = "forward";
    context_.processed = &processed_;
    context_.runtime_allocator = arena_.table();
    context_.named_data_map = data_.table();
    context_.runtime_specs = &option_;
    context_.num_runtime_specs = 1;
  }

  AotiHost aoti_;
  host::BackendRef backend_;
  MapOfBytes data_;
  host::Arena arena_;
  tenon_buffer processed_{};
  tenon_option option_{};
  host::detail::InitCall context_;
  tenon_delegate* delegate_ = nullptr;
};

}  // namespace

TEST_CASE("one delegate in two threads is refused and never wrong", "[aoti][D13]") {
  const Delegate delegate("has_no_state", 1);
  std::atomic<int> num_good = 0;
  std::atomic<int> num_refused = 0;
  std::atomic<int> num_wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      TestTensor x({1}, {1.0f});
      TestTensor y(ScalarType::Float, {1});
      for (int round = 0; round < 2000; ++round) {
        const Status status = delegate.run(x, y);
        num_good += status.ok();
        num_refused += status.error() == Error::InvalidState;
        num_wrong += status.ok() && y.elements<float>()[0] != 0.0f;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(num_good + num_refused == 4000);
  CHECK(num_good > 0);
  CHECK(num_wrong == 0);
}

TEST_CASE("a delegate with two copies runs in two threads", "[aoti][D13]") {
  const Delegate delegate("has_no_state", 2);
  std::atomic<int> num_bad = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      TestTensor x({1}, {1.0f});
      TestTensor y(ScalarType::Float, {1});
      for (int round = 0; round < 2000; ++round) num_bad += !delegate.run(x, y).ok();
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(num_bad == 0);
}

TEST_CASE("a backend reports the memory of its delegates", "[aoti]") {
  const Delegate delegate("good", 1);
  const auto* table = static_cast<const tenon_memory_info_v1*>(
      delegate.api().get_extension(delegate.raw(), TENON_EXTENSION_MEMORY_INFO));
  REQUIRE(table);
  TestTensor x({1}, {1.0f});
  TestTensor y(ScalarType::Float, {1});
  REQUIRE(delegate.run(x, y).ok());
  std::map<std::string, std::uint64_t> held;
  const auto sink = [](void* to, const tenon_memory_use* use) {
    CHECK(use->device.device_type == TENON_DL_CPU);
    (*static_cast<std::map<std::string, std::uint64_t>*>(to))[use->kind] += use->nbytes;
  };
  REQUIRE(table->memory_info(delegate.raw(), delegate.get(), sink, &held) == TENON_STATUS_OK);
  CHECK(held["weights"] >= 64);  // The state, at least.
  CHECK(held["weights"] <= 64 + 128);
  CHECK(held["workspace"] > 0);
}

TEST_CASE("a blob is judged without loading it", "[aoti][TN-BLB-2]") {
  Delegate delegate("good", 1);
  const auto* table = static_cast<const tenon_check_blob_v1*>(
      delegate.api().get_extension(delegate.raw(), TENON_EXTENSION_CHECK_BLOB));
  REQUIRE(table);
  const auto verdict = [&](const std::string& model, const char* cpu_features = nullptr) {
    std::map<std::string, std::vector<std::byte>> named{{"forward_so_blob", file_bytes(model)}};
    if (cpu_features) {
      const auto bytes = bytes_of(std::string_view(cpu_features));
      named["forward_cpu_features"] = {bytes.begin(), bytes.end()};
    }
    MapOfBytes data(std::move(named));
    tenon_init_context context = delegate.context();
    context.named_data_map = data.table();
    std::uint32_t out = 99;
    REQUIRE(table->check_blob(delegate.raw(), &context, &out) == TENON_STATUS_OK);
    CHECK(data.num_lent == 0);
    return out;
  };
  // Without a decoder the instructions are unknown.
  const bool decodes = aoti_common::instruction_decoder() != nullptr;
  CHECK(verdict("good") == (decodes ? TENON_BLOB_OPTIMAL : TENON_BLOB_USABLE));
  CHECK(verdict("good", "") == TENON_BLOB_OPTIMAL);
  CHECK(verdict("good", "no_such_feature") == TENON_BLOB_INCOMPATIBLE);
  CHECK(verdict("good", "no names") == TENON_BLOB_INCOMPATIBLE);
  CHECK(verdict("asks_for_nothing") == TENON_BLOB_INCOMPATIBLE);
}

TEST_CASE("code that is changed after it was permitted is not what is loaded", "[aoti][TN-COD-2]") {
  Delegate opened("good", 1);
  MapOfBytes data({{"forward_so_blob", file_bytes("good")},
                   {"forward_weights_blob", std::vector<std::byte>(128)}});
  struct Context : host::detail::InitCall {
    MapOfBytes* data = nullptr;
  };
  Context context;
  static_cast<tenon_init_context&>(context) = opened.context();
  context.data = &data;
  context.named_data_map = data.table();
  context.permit_code = [](const tenon_init_context* asked, const void*, std::uint64_t) {
    static_cast<const Context*>(asked)->data->overwrite("forward_so_blob");
    return tenon_status{TENON_STATUS_OK};
  };
  tenon_delegate* delegate = nullptr;
  REQUIRE(opened.api().init(opened.raw(), &context, &delegate) == TENON_STATUS_OK);
  opened.api().destroy(opened.raw(), delegate);
  CHECK(data.num_lent == 0);
}

TEST_CASE("a run and a load are events of a trace", "[aoti][D21]") {
  AotiHost aoti;
  host::Trace trace;
  host::MethodOptions options;
  options.layers.add(trace);
  const auto method = aoti.load_ok({}, std::move(options));
  REQUIRE(run(*method, 1.0f).ok());
  for (const char* name : {"load library", "load weights", "AOTInductorModelContainerRun"}) {
    INFO(name);
    CHECK(trace.total_ns(name) > 0);
  }
}
