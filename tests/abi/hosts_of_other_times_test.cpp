// SPDX-License-Identifier: MIT
//
// Hosts of another minor: their structs are longer or shorter than the ones that a plugin was
// compiled with.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "abi/longer.hpp"
#include "support/catch.hpp"
#include "tenon/host/layers/trust/impl/library.hpp"
#include "unit/backend/fake_host.hpp"
#include "unit/core/test_tensor.hpp"

using namespace tenon;
using namespace tenon::host;
using namespace tenon::test;

namespace {

/// A host table of which only `size` bytes can be read: one byte beyond ends the process.
class CutHost {
 public:
  CutHost(const FakeHost& host, std::uint32_t size) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    size_ = 2 * page;
    memory_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory_ != MAP_FAILED);
    REQUIRE(::mprotect(static_cast<char*>(memory_) + page, page, PROT_NONE) == 0);
    auto* at = static_cast<char*>(memory_) + page - size;
    std::memcpy(at, static_cast<const tenon_host*>(&host), size);
    table_ = reinterpret_cast<tenon_host*>(at);
    table_->struct_size = size;
    table_->set_last_error = [](const tenon_host*, tenon_status, const char*, std::uint64_t) {};
    table_->log = [](const tenon_host*, std::int32_t, const char*, std::uint64_t) {};
    table_->get_extension = [](const tenon_host*, const char*) -> const void* { return nullptr; };
  }
  CutHost(const CutHost&) = delete;
  CutHost& operator=(const CutHost&) = delete;
  ~CutHost() { ::munmap(memory_, size_); }

  [[nodiscard]] const tenon_host* get() const noexcept { return table_; }

 private:
  void* memory_;
  std::size_t size_;
  tenon_host* table_;
};

/// The first table of a plugin file, loaded without a host of this build.
struct RawPlugin {
  explicit RawPlugin(const char* path) : library(Library::load(*open_file(path, Trust::caller))) {
    REQUIRE(library.ok());
    const void* symbol = library->symbol(TENON_PLUGIN_SYMBOL);
    REQUIRE(symbol != nullptr);
    api = &LinkedPlugin(static_cast<const tenon_plugin_head*>(symbol)).api();
  }
  Result<Library> library;
  const tenon_backend_api* api;
};

}  // namespace

TEST_CASE("a plugin reads nothing beyond the table of a host of ABI 1.0", "[abi][TN-HST-1]") {
  const FakeHost full;
  // Up to the last member that the table had in ABI 1.0.
  const CutHost host(full, offsetof(tenon_host, get_extension) + sizeof full.get_extension);
  const RawPlugin hello(TENON_TEST_HELLO);
  tenon_backend* backend = nullptr;
  REQUIRE(hello.api->open(host.get(), &backend) == TENON_STATUS_OK);
  CHECK(hello.api->is_available(backend) == TENON_STATUS_OK);

  FakeAllocator memory;
  FakeBuffer blob(std::string_view("\x01\0\0\0", 4));
  tenon_init_context init{};
  init.struct_size = sizeof init;
  init.host = host.get();
  init.method_name = "forward";
  init.processed = &blob;
  init.runtime_allocator = &memory;
  tenon_delegate* delegate = nullptr;
  REQUIRE(hello.api->init(backend, &init, &delegate) == TENON_STATUS_OK);

  TestTensor a({2}, {1.0f, 2.0f});
  TestTensor b({2}, {3.0f, 4.0f});
  TestTensor out(ScalarType::Float, {2});
  const TestArgs args({a.value(), b.value(), out.value()});
  const tenon_execution_context context = {sizeof context, 0,       host.get(),
                                           "forward",      &memory, nullptr};
  CHECK(hello.api->execute(backend, delegate, &context, args.data(), args.size()) ==
        TENON_STATUS_OK);
  CHECK(out.elements<float>() == std::vector{4.0f, 6.0f});
  CHECK(hello.api->execute(backend, delegate, &context, args.data(), 1) ==
        TENON_STATUS_INVALID_ARGUMENT);
  hello.api->destroy(backend, delegate);
  hello.api->close(backend);
}

TEST_CASE("a plugin runs under a host of a later minor, whose every struct is longer",
          "[abi][TN-NEG-3]") {
  const RawPlugin plugin(TENON_TEST_HELLO);
  Longer<tenon_host> host;
  static_cast<tenon_host&>(host) = FakeHost();
  // The functions of FakeHost take a FakeHost.
  host.get_extension = [](const tenon_host*, const char*) -> const void* { return nullptr; };
  host.struct_size = sizeof host;
  host.abi_minor = TENON_ABI_MINOR + 1;
  host.set_last_error = [](const tenon_host*, tenon_status, const char*, std::uint64_t) {};

  Longer<tenon_compile_spec> specs[2];
  for (auto& spec : specs) {
    spec.struct_size = sizeof spec;
    spec.key = "known";
  }
  FakeAllocator memory;
  const std::string_view blob("\x01\0\0\0", 4);
  Longer<tenon_buffer> processed;
  processed.struct_size = sizeof processed;
  processed.data = blob.data();
  processed.nbytes = blob.size();
  processed.release = [](tenon_buffer*) {};
  Longer<tenon_init_context> init;
  init.struct_size = sizeof init;
  init.host = &host;
  init.method_name = "forward";
  init.processed = &processed;
  init.compile_specs = specs;
  init.num_compile_specs = 2;
  init.runtime_allocator = &memory;

  tenon_backend* backend = nullptr;
  tenon_delegate* delegate = nullptr;
  REQUIRE(plugin.api->open(&host, &backend) == TENON_STATUS_OK);
  REQUIRE(plugin.api->init(backend, &init, &delegate) == TENON_STATUS_OK);

  TestTensor sources[] = {{{2}, {1.0f, 2.0f}}, {{2}, {3.0f, 4.0f}}, {ScalarType::Float, {2}}};
  Longer<tenon_tensor> tensors[3];
  Longer<tenon_value> values[3];
  tenon_value* args[3];
  for (int i = 0; i < 3; ++i) {
    static_cast<tenon_tensor&>(tensors[i]) = sources[i].raw();
    tensors[i].struct_size = sizeof tensors[i];
    static_cast<tenon_value&>(values[i]) = sources[i].value();
    values[i].struct_size = sizeof values[i];
    values[i].as.tensor = &tensors[i];
    args[i] = &values[i];
  }
  Longer<tenon_execution_context> context;
  context.struct_size = sizeof context;
  context.host = &host;
  context.method_name = "forward";
  context.temp_allocator = &memory;
  CHECK(plugin.api->execute(backend, delegate, &context, args, 3) == TENON_STATUS_OK);
  CHECK(sources[2].elements<float>() == std::vector{4.0f, 6.0f});
  plugin.api->destroy(backend, delegate);
  plugin.api->close(backend);
}
