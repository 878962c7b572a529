// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "isolated.hpp"
#include "support/catch.hpp"
#include "support/program_builder.hpp"
#include "support/sanitizer.hpp"
#include "tenon/abi/draft/external_memory.h"
#include "tenon/core/application/external_memory.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/layers/external_memory/external_memory.hpp"
#include "tenon/host/platform/file_descriptor.hpp"

using namespace tenon;
using namespace tenon::test;

/// Planned tensors that a worker has where they are (`WorkerSettings::share_memory`).
namespace isolated_shared_memory_test { namespace {

constexpr std::size_t count = 1500;
constexpr std::size_t nbytes = count * sizeof(float);

/// out = (a + b) + b, each of 6000 bytes: the inputs are the application's, the two sums are in one
/// buffer of the plan.
std::shared_ptr<const host::Program> large_program() {
  ProgramBuilder builder;
  PlanBuilder plan = builder.plan("forward");
  const auto tensor = [](std::size_t place) {
    return planned_tensor(ScalarType::Float, {static_cast<std::int32_t>(count)}, 1, place * nbytes);
  };
  const std::int32_t a = plan.input(tensor(0));
  const std::int32_t b = plan.input(tensor(1));
  const std::int32_t between = plan.value(tensor(2));
  const std::int32_t out = plan.output(tensor(3));
  plan.buffer(static_cast<std::int64_t>(4 * nbytes));
  for (const auto& args : {std::vector{a, b, between}, std::vector{between, b, out}}) {
    const std::int32_t delegate =
        plan.delegate("Add", schema::DataLocation::INLINE, builder.inline_blob(""));
    plan.instruction(delegate_call(delegate, args));
  }
  const auto bytes = std::make_shared<AlignedBytes>(builder.build());
  auto opened = host::Program::from_bytes(bytes->bytes(), bytes, "a large sum");
  REQUIRE(opened.ok());
  return *std::move(opened);
}

/// The inputs of that program, in memory of their own.
struct Inputs {
  explicit Inputs(float* a_floats, float* b_floats) : a(a_floats, count), b(b_floats, count) {
    for (std::size_t i = 0; i < count; ++i) {
      a[i] = static_cast<float>(i) + 0.5F;  // Never 666, at which the plugin dies.
      b[i] = static_cast<float>(10 * i);
    }
  }
  Status set(host::Method& method) const {
    const std::vector<std::int64_t> sizes{count};
    const auto input = [&](std::size_t index, std::span<float> from) {
      return method.set_input(index, {ScalarType::Float, sizes, std::as_bytes(from)});
    };
    TENON_RETURN_IF_ERROR(input(0, a));
    return input(1, b);
  }

  std::span<float> a;
  std::span<float> b;
};
struct OwnInputs {
  std::vector<float> memory = std::vector<float>(2 * count);
  Inputs inputs{memory.data(), memory.data() + count};
};

/// Runs it with another first element of `a`; the output, or the failure as text.
std::string run(host::Method& method, const Inputs& inputs, float first = 0) {
  inputs.a[0] = first;
  if (const Status set = inputs.set(method); !set.ok()) return std::string(set.text());
  if (const Status ran = method.execute(); !ran.ok()) return std::string(ran.text());
  const auto out = method.output<float>(0);
  if (!out.ok()) return std::string(out.text());
  for (std::size_t i = 0; i < count; ++i) {
    const float expected = i == 0 ? first : static_cast<float>(21 * i) + 0.5F;
    if ((*out)[i] != expected) return concat("element ", i, " is ", (*out)[i]);
  }
  return "";
}

/// Bytes that the plugin's process of each worker has mapped of files of this name.
std::uint64_t mapped_in_workers(std::string_view name) {
  std::uint64_t sum = 0;
  for (const pid_t each : worker_processes()) {
    std::ifstream maps("/proc/" + std::to_string(each) + "/maps");
    for (std::string line; std::getline(maps, line);) {
      if (line.find(name) == std::string::npos) continue;
      std::uint64_t begin = 0, end = 0;
      char dash = 0;
      std::istringstream(line) >> std::hex >> begin >> dash >> end;
      sum += end - begin;
    }
  }
  return sum;
}

Application sharing(host::WorkerProfile profile = host::WorkerProfile::none) {
  return Application(TENON_TEST_DIES, Application::Place::isolated,
                     host::WorkerSettings{.profile = profile, .share_memory = true});
}

/// 2 inputs in a file in memory, imported to be read.
class ImportedInputs {
 public:
  explicit ImportedInputs(host::BackendRegistry& registry) {
    constexpr std::size_t size = 2 * nbytes;
    host::FileDescriptor file(::memfd_create("test-inputs", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    REQUIRE(::ftruncate(file.get(), static_cast<off_t>(size)) == 0);
    REQUIRE(::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK) == 0);
    ExternalMemory memory;
    memory.descriptor = file.get();
    memory.nbytes = size;
    auto backend = registry.lookup_backend("Add");
    REQUIRE(backend.ok());
    auto made = host::ImportedMemory::import(*std::move(backend), memory);
    INFO(made.text());
    REQUIRE(made.ok());
    imported_.emplace(*std::move(made));
    own_ = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    REQUIRE(own_ != MAP_FAILED);
    Inputs(floats(own_), floats(own_) + count);
  }
  ImportedInputs(const ImportedInputs&) = delete;
  ImportedInputs& operator=(const ImportedInputs&) = delete;
  ~ImportedInputs() { ::munmap(own_, 2 * nbytes); }

  /// Runs with the imported bytes, which are read-only, and are written by the owner's mapping.
  std::string run(host::Method& method, float first) {
    floats(own_)[0] = first;
    const std::vector<std::int64_t> sizes{count};
    const auto bytes = imported_->bytes();
    for (std::size_t i = 0; i < 2; ++i) {
      const Status set = method.set_input(
          i, {ScalarType::Float, sizes, bytes.subspan(i * nbytes, nbytes), imported_->device()});
      if (!set.ok()) return std::string(set.text());
    }
    if (const Status ran = method.execute(); !ran.ok()) return std::string(ran.text());
    const auto out = method.output<float>(0);
    if (!out.ok()) return std::string(out.text());
    return (*out)[0] == first && (*out)[2] == 42.5F
               ? ""
               : concat("found ", (*out)[0], " and ", (*out)[2]);
  }

 private:
  static float* floats(void* at) { return static_cast<float*>(at); }

  std::optional<host::ImportedMemory> imported_;
  void* own_ = nullptr;
};

TEST_CASE("planned tensors are the worker's as well when it shares memory, and are not copied") {
  Application application = sharing();
  const auto before = open_descriptors();
  const OwnInputs own;
  auto method = application.load(large_program());
  INFO(method.text());
  REQUIRE(method.ok());
  CHECK(run(**method, own.inputs) == "");
  CHECK(run(**method, own.inputs, 5) == "");
  CHECK(mapped_in_workers("tenon-pages") >= 2 * nbytes);
  const std::uint64_t of_inputs = mapped_in_workers("tenon-arguments");
  CHECK(of_inputs >= 2 * nbytes);

  // Another method has memory of its own.
  auto other = application.load(large_program());
  REQUIRE(other.ok());
  CHECK(run(**other, own.inputs, 7) == "");
  CHECK((*method)->output<float>(0)->data()[0] == 5);
  method->reset();
  CHECK(run(**other, own.inputs, 9) == "");
  other->reset();
  CHECK(mapped_in_workers("tenon-pages") == 0);
  CHECK(open_descriptors().size() <= before.size() + 5);
}

TEST_CASE("a worker that shares no memory gets copies") {
  Application application(TENON_TEST_DIES);
  const OwnInputs own;
  auto method = application.load(large_program());
  REQUIRE(method.ok());
  CHECK(run(**method, own.inputs) == "");
  CHECK(mapped_in_workers("tenon-pages") == 0);
  CHECK(mapped_in_workers("tenon-arguments") >= 4 * nbytes);
}

TEST_CASE("imported inputs are the worker's as well, whether its plugin imports memory or not") {
  Application application = sharing();
  ImportedInputs inputs(application.registry());
  auto method = application.load(large_program());
  REQUIRE(method.ok());
  CHECK(inputs.run(**method, 1) == "");
  CHECK(inputs.run(**method, 2) == "");
  CHECK(mapped_in_workers("test-inputs") >= 2 * nbytes);
  CHECK(mapped_in_workers("tenon-arguments") == 0);
}

TEST_CASE("tensors smaller than a page are copied also when the worker shares memory") {
  Application application = sharing();
  auto method = application.load(add_program);
  REQUIRE(method.ok());
  CHECK(*add(**method) == sum);
}

TEST_CASE("a new worker has the shared memory of the one that died") {
  Application application = sharing();
  ImportedInputs inputs(application.registry());
  auto method = application.load(
      large_program(), {{"Add", "how", "segv"}, {"Add", "isolated.restart", std::int64_t{1}}});
  REQUIRE(method.ok());
  CHECK(inputs.run(**method, 1) == "");
  CHECK_THAT(inputs.run(**method, 666), ContainsSubstring("SIGSEGV"));
  CHECK(inputs.run(**method, 3) == "");
  CHECK(mapped_in_workers("tenon-arguments") == 0);
}

TEST_CASE("workers of two delegates share a buffer") {
  Application application = sharing();
  const OwnInputs own;
  auto method = application.load(large_program(), {{"Add", "isolated.own_worker", true}});
  REQUIRE(method.ok());
  CHECK(run(**method, own.inputs, 4) == "");
  CHECK(mapped_in_workers("tenon-pages") >= 2 * 2 * nbytes);
}

// Sanitizers make calls and threads of their own, which that profile refuses.
#if !defined(TENON_TEST_HAS_SANITIZER)
TEST_CASE("a strict worker shares memory as any other") {
  Application application = sharing(host::WorkerProfile::strict);
  const OwnInputs own;
  auto method = application.load(large_program());
  INFO(method.text());
  if (method.text().find("this kernel has no Landlock") != std::string_view::npos) return;
  REQUIRE(method.ok());
  CHECK(run(**method, own.inputs, 2) == "");
}
#endif

TEST_CASE("memory of the host that is of no memfd does not cross to a worker") {
  Application application = sharing();
  auto backend = application.registry().lookup_backend("Add");
  REQUIRE(backend.ok());
  const auto table =
      (*backend)->extension<tenon_external_memory_v1>(TENON_EXTENSION_EXTERNAL_MEMORY);
  REQUIRE(table.has_value());
  REQUIRE(table->num_memory_kinds == 2);
  CHECK(std::string_view(table->memory_kinds[0]) == TENON_KIND_MEMFD);
  CHECK(std::string_view(table->memory_kinds[1]) == TENON_KIND_HOST_MEMORY);
  std::vector<std::byte> bytes(16);
  ExternalMemory memory;
  memory.kind = MemoryKind::HostMemory;
  memory.handle = bytes.data();
  memory.nbytes = bytes.size();
  const auto refused = host::ImportedMemory::import(*backend, memory);
  CHECK(refused.error() == Error::NotSupported);
  CHECK_THAT(std::string(refused.text()), ContainsSubstring("only in a memfd"));

  // A kind of descriptor that neither the plugin nor the worker knows. The host asks for none that
  // is not listed; another one may.
  tenon_external_memory other = tenon::detail::to_abi(memory);
  other.kind = TENON_KIND_DMA_BUF;
  other.handle = nullptr;
  other.descriptor = 0;
  tenon_imported_memory* imported = nullptr;
  void* address = nullptr;
  CHECK(table->import_memory((*backend)->raw(), &other, &imported, &address) ==
        TENON_STATUS_NOT_SUPPORTED);

  // A file that may become smaller.
  const host::FileDescriptor loose(::memfd_create("loose", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  memory.descriptor = loose.get();
  const auto unsealed = host::ImportedMemory::import(*backend, memory);
  CHECK(unsealed.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(unsealed.text()), ContainsSubstring("may become smaller"));
}

}}  // namespace isolated_shared_memory_test
