// SPDX-License-Identifier: MIT
//
// Memory and fences of another owner: files in memory as inputs and outputs of a method.
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "compiled.hpp"

using namespace tenon;
using namespace tenon::test;

namespace graph_external_memory_test {
namespace {

constexpr std::size_t page = 4096;

/// A file in memory, as another process would have made it.
class Frame {
 public:
  explicit Frame(int seals = F_SEAL_SHRINK, std::size_t nbytes = 2 * page)
      : nbytes_(nbytes), descriptor_(::memfd_create("frame", MFD_ALLOW_SEALING)) {
    REQUIRE(descriptor_ >= 0);
    REQUIRE(::ftruncate(descriptor_, static_cast<off_t>(nbytes)) == 0);
    if ((seals & F_SEAL_WRITE) == 0) {
      void* const data =
          ::mmap(nullptr, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
      REQUIRE(data != MAP_FAILED);
      data_ = static_cast<std::byte*>(data);
    }
    REQUIRE(::fcntl(descriptor_, F_ADD_SEALS, seals) == 0);
  }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
  ~Frame() {
    if (data_) ::munmap(data_, nbytes_);
    ::close(descriptor_);
  }

  [[nodiscard]] int descriptor() const { return descriptor_; }
  void write(std::size_t at, const std::vector<float>& values) const {
    std::memcpy(data_ + at, values.data(), values.size() * sizeof(float));
  }
  [[nodiscard]] std::vector<float> read(std::size_t at) const {
    std::vector<float> out(4);
    std::memcpy(out.data(), data_ + at, 16);
    return out;
  }
  /// 16 bytes of it.
  [[nodiscard]] ExternalMemory range(std::uint64_t offset, bool is_written = false) const {
    ExternalMemory out;
    out.descriptor = descriptor_;
    out.offset = offset;
    out.nbytes = 16;
    out.is_written = is_written;
    return out;
  }

 private:
  std::size_t nbytes_;
  int descriptor_;
  std::byte* data_ = nullptr;
};

host::BackendRef backend() {
  auto found = graph_registry().lookup_backend("GraphBackend");
  REQUIRE(found.ok());
  return *std::move(found);
}

/// x + x of 4 numbers, whose output is where the caller says.
std::unique_ptr<host::Method> load_doubling() {
  const aot::EdgeTensor tensor{ScalarType::Float, {4}};
  aot::EdgeProgramBuilder graph("forward");
  const aot::ValueId x = graph.user_input("x", tensor);
  graph.user_output(graph.node("aten.add.Tensor",
                               {{"self", aot::EdgeRef{x}}, {"other", aot::EdgeRef{x}}}, tensor));
  const auto program = build_ok(std::move(graph));
  auto data = one_delegate(program.view(), compile_ok(program));
  aot::MethodData& method = data.methods.front();
  std::get<aot::TensorValue>(method.values[static_cast<std::size_t>(method.outputs.front())]).data =
      aot::storage::FromCaller{};
  REQUIRE(aot::plan_method_memory(method).ok());
  auto loaded = load(data);
  INFO(loaded.text());
  REQUIRE(loaded.ok());
  return *std::move(loaded);
}

const std::vector<std::int64_t> four{4};

void bind(host::Method& method, const host::ImportedMemory& in, const host::ImportedMemory& out) {
  REQUIRE(method.set_input(0, {ScalarType::Float, four, in.bytes(), in.device()}).ok());
  REQUIRE(method.set_output(0, out.bytes(), out.device()).ok());
}

/// The text of an import that fails with `code`.
std::string refusal(const ExternalMemory& memory, Error code) {
  const auto imported = host::ImportedMemory::import(backend(), memory);
  INFO(imported.text());
  CHECK(imported.error() == code);
  return std::string(imported.text());
}

std::size_t num_mappings_of_frames() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    count += line.find("memfd:frame") != std::string::npos ? 1 : 0;
  }
  return count;
}

}  // namespace

TEST_CASE("a method reads its input in a file in memory and writes its output there",
          "[graph_backend][external][TN-EXM-3][TN-EXM-4][TN-EXM-6]") {
  const Frame frame;
  const auto method = load_doubling();
  const std::size_t before = num_mappings_of_frames();
  {
    const auto in = host::ImportedMemory::import(backend(), frame.range(64));
    const auto out = host::ImportedMemory::import(backend(), frame.range(page + 128, true));
    INFO(in.text() << out.text());
    REQUIRE((in.ok() && out.ok()));
    CHECK(num_mappings_of_frames() == before + 2);
    bind(*method, *in, *out);
    for (const float first : {1.0F, 2.0F}) {
      // What is there when it runs, not what was there when it was imported.
      frame.write(64, {first, 2, 3, 4});
      REQUIRE(method->execute().ok());
      CHECK(frame.read(page + 128) == std::vector<float>{2 * first, 4, 6, 8});
    }
  }
  CHECK(num_mappings_of_frames() == before);
  CHECK(::fcntl(frame.descriptor(), F_GETFD) >= 0);
}

TEST_CASE("the caller may close the descriptor once the memory is imported",
          "[graph_backend][external]") {
  const Frame out_frame;
  const auto method = load_doubling();
  auto frame = std::make_unique<Frame>();
  frame->write(0, {1, 2, 3, 4});
  const auto in = host::ImportedMemory::import(backend(), frame->range(0));
  frame.reset();
  const auto out = host::ImportedMemory::import(backend(), out_frame.range(0, true));
  bind(*method, *in, *out);
  REQUIRE(method->execute().ok());
  CHECK(out_frame.read(0) == std::vector<float>{2, 4, 6, 8});
}

TEST_CASE("memory that is not what it is said to be is refused",
          "[graph_backend][external][TN-EXM-2]") {
  const Frame frame;
  const auto changed = [&](auto change) {
    ExternalMemory out = frame.range(0);
    change(out);
    return out;
  };
  constexpr auto invalid = Error::InvalidArgument;
  CHECK_THAT(refusal(frame.range(2 * page - 8), invalid),
             ContainsSubstring("backend GraphBackend: import_memory: descriptor ") &&
                 ContainsSubstring("has 8192 bytes, and not 16 bytes from 8184"));
  CHECK_THAT(refusal(changed([](auto& m) { m.offset = 4 * page; }), invalid),
             ContainsSubstring("and not 16 bytes from 16384"));
  CHECK_THAT(refusal(changed([](auto& m) { m.nbytes = 0; }), invalid),
             ContainsSubstring("expected 1 byte or more of the object, found 0 bytes"));
  CHECK_THAT(
      refusal(changed([](auto& m) { m.offset = std::numeric_limits<std::uint64_t>::max() - 8; }),
              invalid),
      ContainsSubstring("found 16 bytes from 18446744073709551607"));
  CHECK_THAT(refusal(changed([](auto& m) { m.object_size = 15; }), invalid),
             ContainsSubstring("16 bytes from 0 of 15"));
  CHECK_THAT(refusal(changed([](auto& m) { m.is_read = false; }), invalid),
             ContainsSubstring("expected to read or write, found access 0"));
  CHECK_THAT(refusal(changed([](auto& m) { m.descriptor = -1; }), invalid),
             ContainsSubstring("memfd: expected a descriptor and no handle, found descriptor -1"));
  CHECK_THAT(refusal(changed([](auto& m) { m.descriptor = 1'000'000; }), invalid),
             ContainsSubstring("descriptor 1000000: Bad file descriptor"));
  CHECK_THAT(refusal(changed([](auto& m) { m.device = {TENON_DL_CUDA, 0}; }), invalid),
             ContainsSubstring("expected memory for the CPU, found DLPack device type 2 index 0"));

  const int file = ::open(TENON_GRAPH_BACKEND_PLUGIN, O_RDONLY | O_CLOEXEC);
  REQUIRE(file >= 0);
  const auto text = refusal(changed([&](auto& m) { m.descriptor = file; }), invalid);
  ::close(file);
  CHECK_THAT(text, ContainsSubstring("is no memfd: it has no seals"));
}

TEST_CASE("memory that could become smaller, or that refuses to be written, is refused",
          "[graph_backend][external][TN-EXM-2]") {
  const Frame open_frame(0);
  CHECK_THAT(refusal(open_frame.range(0), Error::InvalidArgument),
             ContainsSubstring("may become smaller: expected a memfd with F_SEAL_SHRINK"));
  const Frame fixed(F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
  CHECK(host::ImportedMemory::import(backend(), fixed.range(0)).ok());
  CHECK_THAT(refusal(fixed.range(0, true), Error::InvalidArgument),
             ContainsSubstring("cannot be mapped for writing: Operation not permitted"));
}

TEST_CASE("kinds of memory that the backend does not know are refused by their names",
          "[graph_backend][external][TN-EXM-1]") {
  int something = 0;
  for (const char* const kind :
       {MemoryKind::DmaBuf, MemoryKind::OpaqueFd, MemoryKind::OpaqueWin32, MemoryKind::CudaIpc,
        MemoryKind::ClMem, MemoryKind::HardwareBuffer, MemoryKind::IoSurface, "acme.buffer"}) {
    ExternalMemory memory;
    memory.kind = kind;
    memory.descriptor = 0;
    memory.handle = &something;
    memory.nbytes = 4;
    CHECK_THAT(refusal(memory, Error::NotSupported),
               ContainsSubstring(concat("backend GraphBackend: memory of kind '",
                                        std::string_view(kind), "' cannot be imported")));
  }
}

TEST_CASE("a run begins after a fence, and signals another",
          "[graph_backend][external][TN-EXM-7]") {
  const Frame frame;
  const auto method = load_doubling();
  const auto in = host::ImportedMemory::import(backend(), frame.range(0));
  const auto out = host::ImportedMemory::import(backend(), frame.range(page, true));
  REQUIRE((in.ok() && out.ok()));
  bind(*method, *in, *out);
  const ExternalFence ready{.kind = FenceKind::EventFd, .descriptor = ::eventfd(0, EFD_CLOEXEC)};
  const ExternalFence done{.kind = FenceKind::EventFd, .descriptor = ::eventfd(0, EFD_NONBLOCK)};
  std::thread camera([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    frame.write(0, {1, 2, 3, 4});
    static_cast<void>(::eventfd_write(ready.descriptor, 1));
  });
  const Status waited = method->wait_fence("GraphBackend", ready);
  const Status ran = method->execute();
  eventfd_t count = 0;
  CHECK(::eventfd_read(done.descriptor, &count) != 0);
  const Status signalled = method->signal_fence("GraphBackend", done);
  camera.join();
  INFO(waited.text() << ran.text() << signalled.text());
  CHECK((waited.ok() && ran.ok() && signalled.ok()));
  CHECK(frame.read(page) == std::vector<float>{2, 4, 6, 8});
  CHECK(::eventfd_read(done.descriptor, &count) == 0);
  ::close(ready.descriptor);
  ::close(done.descriptor);
}

TEST_CASE("a handle that is no fence is refused", "[graph_backend][external]") {
  const auto method = load_doubling();
  const auto wait = [&](ExternalFence fence, const char* id = "GraphBackend") {
    const Status status = method->wait_fence(id, fence);
    return concat(error_name(status.error()), ": ", status.text());
  };
  CHECK_THAT(wait({.kind = FenceKind::EventFd, .descriptor = 1'000'000}),
             ContainsSubstring("InvalidArgument: delegate 0: wait_fence: eventfd 1000000 cannot"));
  CHECK_THAT(wait({.kind = FenceKind::SemaphoreFd, .descriptor = 0}),
             ContainsSubstring("NotSupported: delegate 0: wait_fence: fences of kind "
                               "'vulkan.semaphore_fd' are not known"));
  CHECK_THAT(wait({.kind = FenceKind::SyncFile, .descriptor = -1}),
             ContainsSubstring("sync_file: expected a descriptor and no handle"));
  CHECK_THAT(wait({}, "Another"), ContainsSubstring("no delegate of the method uses backend"));
  const Status signalled =
      method->signal_fence("GraphBackend", {.kind = FenceKind::SyncFile, .descriptor = 0});
  CHECK(signalled.error() == Error::NotSupported);
  CHECK_THAT(std::string(signalled.text()),
             ContainsSubstring("a fence of kind 'sync_file' is not signalled here"));
}

}  // namespace graph_external_memory_test
