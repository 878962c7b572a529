// SPDX-License-Identifier: MIT
#include "tenon/abi/draft/external_memory.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "kit/boundary/watched_backend.hpp"
#include "kit/fixtures/case_method.hpp"
#include "kit/fixtures/growth.hpp"
#include "kit/fixtures/live_case.hpp"
#include "kit/platform/memory_of_others.hpp"
#include "kit/suites/suite.hpp"
#include "tenon/conformance/opened_backend.hpp"
#include "tenon/conformance/test.hpp"
#include "tenon/core/application/external_memory.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/core/tensor.hpp"

/// Suite "external": memory and fences of another owner (abi/draft/external_memory.h).
/// Of the kinds, a process can make files in memory and counters of events by itself.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

TENON_KIT_SUITE(external)

namespace {

using host::FileDescriptor;

constexpr std::size_t page = 4096;

std::optional<tenon_external_memory_v1> table_of(const OpenedBackend& backend) {
  return backend.backend().extension<tenon_external_memory_v1>(TENON_EXTENSION_EXTERNAL_MEMORY);
}

/// A file in memory of another owner, who has it mapped.
class OwnedFile {
 public:
  explicit OwnedFile(Context& kit, std::size_t size, bool is_sealed = true)
      : file_(platform::make_memory_file(size, is_sealed)), size_(size) {
    if (file_.valid()) bytes_ = platform::map_memory_file(file_.get(), size);
    if (!bytes_) kit.not_applicable("the system gives no file in memory");
    number_ = platform::number_of_file(file_.get());
  }
  OwnedFile(const OwnedFile&) = delete;
  OwnedFile& operator=(const OwnedFile&) = delete;
  ~OwnedFile() {
    platform::unmap_memory_file(bytes_, size_);
    if (!is_open()) static_cast<void>(file_.release());
  }

  [[nodiscard]] int descriptor() const noexcept { return file_.get(); }
  [[nodiscard]] std::byte* bytes() const noexcept { return bytes_; }
  /// Whether the owner's descriptor is as it was.
  [[nodiscard]] bool is_open() const { return platform::number_of_file(file_.get()) == number_; }

  [[nodiscard]] ExternalMemory range(std::uint64_t offset, std::uint64_t nbytes,
                                     bool is_written = true) const {
    ExternalMemory out;
    out.descriptor = descriptor();
    out.offset = offset;
    out.nbytes = nbytes;
    out.is_written = is_written;
    return out;
  }

 private:
  FileDescriptor file_;
  std::size_t size_;
  std::byte* bytes_ = nullptr;
  std::uint64_t number_ = 0;
};

/// The extension of an opened backend. Ends the test as `not_applicable` without it, and where it
/// imports no files in memory, unless `kinds_alone`.
class Importer {
 public:
  Importer(Context& kit, OpenedBackend& backend, bool kinds_alone = false) : backend_(backend) {
    const auto table = table_of(backend);
    if (!table) kit.not_applicable("the backend does not offer " TENON_EXTENSION_EXTERNAL_MEMORY);
    table_ = *table;
    if (!kinds_alone &&
        !tenon::detail::has_kind(tenon::detail::memory_kinds(table_), MemoryKind::MemFd)) {
      kit.not_applicable("the backend imports no files in memory");
    }
  }

  [[nodiscard]] const tenon_external_memory_v1& table() const noexcept { return table_; }

  tenon_status import(const tenon_external_memory& memory) {
    imported_ = nullptr;
    address_ = nullptr;
    return table_.import_memory(backend_.backend().raw(), &memory, &imported_, &address_);
  }
  tenon_status import(const ExternalMemory& memory) {
    return import(tenon::detail::to_abi(memory));
  }
  /// Of the last import.
  [[nodiscard]] void* address() const noexcept { return address_; }
  [[nodiscard]] tenon_imported_memory* imported() const noexcept { return imported_; }
  void release(tenon_imported_memory* memory) {
    table_.release_memory(backend_.backend().raw(), memory);
  }

  /// Ends the test as `blocked` when memory that is as it should be is refused.
  void need(Context& kit, const ExternalMemory& memory) {
    if (import(memory) != TENON_STATUS_OK || !address_) {
      kit.blocked("a sealed file in memory is not imported for the CPU: ", said_error().text);
    }
  }

 private:
  OpenedBackend& backend_;
  tenon_external_memory_v1 table_{};
  tenon_imported_memory* imported_ = nullptr;
  void* address_ = nullptr;
};

/// All tensors of a call on the CPU, put into a file of another owner for its duration.
class ForeignArguments {
 public:
  ForeignArguments(Context& kit, Importer& importer) : kit_(kit), importer_(importer) {}
  ForeignArguments(const ForeignArguments&) = delete;
  ForeignArguments& operator=(const ForeignArguments&) = delete;
  ~ForeignArguments() {
    for (const Place& place : places_) importer_.release(place.imported);
  }

  /// Runs the call with them. Memory is imported at the first call, before it has any content.
  tenon_status run(WatchedExecute& call) {
    if (!file_) import_for(call);
    std::vector<void*> before;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      tenon_tensor& tensor = *tensors_[i];
      before.push_back(tensor.dl.data);
      std::memcpy(file_->bytes() + places_[i].offset, tensor.dl.data,
                  static_cast<std::size_t>(std::min(tensor.nbytes, places_[i].nbytes)));
      tensor.dl.data = places_[i].address;
    }
    const tenon_status status = call.forward();
    for (std::size_t i = 0; i < places_.size(); ++i) {
      tenon_tensor& tensor = *tensors_[i];
      tensor.dl.data = before[i];
      std::memcpy(before[i], file_->bytes() + places_[i].offset,
                  static_cast<std::size_t>(std::min(tensor.nbytes, places_[i].nbytes)));
    }
    return status;
  }

  [[nodiscard]] std::size_t num_tensors() const noexcept { return places_.size(); }

 private:
  struct Place {
    std::uint64_t offset, nbytes;
    void* address = nullptr;
    tenon_imported_memory* imported = nullptr;
  };

  void import_for(const WatchedExecute& call) {
    std::uint64_t end = 64;  // Not at the beginning of a page.
    for (std::uint32_t i = 0; i < call.num_args; ++i) {
      if (call.args[i]->kind != TENON_VALUE_TENSOR) continue;
      tenon_tensor& tensor = *call.args[i]->as.tensor;
      // A later run may have the largest sizes.
      std::uint64_t room = size_of(static_cast<ScalarType>(tensor.scalar_type));
      for (const std::int64_t bound : TensorView(tensor).bounds()) {
        room *= static_cast<std::uint64_t>(bound);
      }
      room = std::max(room, tensor.nbytes);
      const bool fits = tensor.dl.device.device_type == TENON_DL_CPU && tensor.dl.data &&
                        tensor.dl.byte_offset == 0 && room != 0 &&
                        (tensor.flags & TENON_TENSOR_CONSTANT) == 0;
      if (!fits || std::ranges::find(tensors_, &tensor) != tensors_.end()) continue;
      tensors_.push_back(&tensor);
      places_.push_back({end, room});
      end += (room + 63) / 64 * 64;
    }
    file_.emplace(kit_, static_cast<std::size_t>((end + page - 1) / page * page));
    for (Place& place : places_) {
      importer_.need(kit_, file_->range(place.offset, place.nbytes));
      place.address = importer_.address();
      place.imported = importer_.imported();
    }
  }

  Context& kit_;
  Importer& importer_;
  std::optional<OwnedFile> file_;
  std::vector<tenon_tensor*> tensors_;
  std::vector<Place> places_;
};

}  // namespace

TENON_CONFORMANCE_TEST("external/kinds", "kinds of memory that are not listed are refused",
                       "[external][level-5][backend][TN-EXM-1]") {
  OpenedBackend backend(kit);
  Importer importer(kit, backend, true);
  int something = 0;
  for (const HandleKind kind :
       {MemoryKind::MemFd, MemoryKind::DmaBuf, MemoryKind::OpaqueFd, MemoryKind::OpaqueWin32,
        MemoryKind::CudaIpc, MemoryKind::ClMem, MemoryKind::HardwareBuffer, MemoryKind::IoSurface,
        MemoryKind::HostMemory, FenceKind::EventFd, "memfd2", "tenon.no_kind", ""}) {
    if (tenon::detail::has_kind(tenon::detail::memory_kinds(importer.table()), kind)) continue;
    ExternalMemory memory;
    memory.kind = kind;
    memory.descriptor = 0;
    memory.handle = &something;
    memory.nbytes = sizeof something;
    const tenon_status status = importer.import(memory);
    if (status == TENON_STATUS_OK) importer.release(importer.imported());
    kit.expect("TN-EXM-1", status == TENON_STATUS_NOT_SUPPORTED, "memory of kind '", kind.text(),
               "' is not listed: expected NotSupported, found ",
               status == TENON_STATUS_OK ? "success" : error_name(static_cast<Error>(status)));
  }
}

TENON_CONFORMANCE_TEST("external/refuses",
                       "memory that is not what it is said to be is "
                       "refused",
                       "[external][level-5][backend][TN-EXM-2]") {
  OpenedBackend backend(kit);
  Importer importer(kit, backend);
  const OwnedFile file(kit, 2 * page);
  const OwnedFile may_shrink(kit, 2 * page, false);
  const FileDescriptor other = platform::open_other_file();
  importer.need(kit, file.range(page - 8, 16));
  importer.release(importer.imported());
  const auto refuse = [&](const ExternalMemory& memory, std::string_view what) {
    const tenon_status status = importer.import(memory);
    if (status == TENON_STATUS_OK) importer.release(importer.imported());
    kit.expect("TN-EXM-2", status == TENON_STATUS_INVALID_ARGUMENT, what,
               ": expected InvalidArgument, found ",
               status == TENON_STATUS_OK ? "success" : error_name(static_cast<Error>(status)));
  };
  constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
  refuse(file.range(0, 2 * page + 1), "one byte more than the file has");
  refuse(file.range(2 * page, 1), "a range behind the file");
  refuse(file.range(page, largest - page + 2), "a range whose end overflows");
  refuse(file.range(largest - 7, 16), "an offset whose end overflows");
  refuse(file.range(0, 0), "a range of no bytes");
  refuse(may_shrink.range(0, 64), "a file that can become smaller");
  ExternalMemory of_other = file.range(0, 64);
  of_other.descriptor = other.get();
  refuse(of_other, "a descriptor of something else");
}

TENON_CONFORMANCE_TEST("external/keeps-nothing",
                       "released memory leaves nothing, and the owner's descriptor stays open",
                       "[external][level-5][backend][TN-EXM-3]") {
  OpenedBackend backend(kit);
  Importer importer(kit, backend);
  const OwnedFile file(kit, 64 * page);
  importer.need(kit, file.range(0, 64 * page));
  importer.release(importer.imported());
  importer.release(nullptr);
  if (!kit.expect("TN-EXM-3", file.is_open(), "the owner's descriptor is closed")) return;
  const auto growth = growth_of(stretch_of(kit), [&] {
    importer.need(kit, file.range(0, 64 * page));
    importer.release(importer.imported());
  });
  kit.expect("TN-EXM-3", growth.empty(), "import and release: ", join_with_and(growth));
}

TENON_CONFORMANCE_TEST("external/run", "runs read and write the memory itself",
                       "[external][level-5][case][TN-EXM-4]") {
  LiveCase live(kit);
  Importer importer(kit, live.backend());
  if (!kit.backend().deterministic) kit.not_applicable("the backend is declared not deterministic");
  const auto expected = live.run(*live.load());
  // Destroyed after the method, whose runs have the memory's addresses.
  std::optional<ForeignArguments> arguments(std::in_place, kit, importer);
  auto method = live.load();
  std::uint32_t calls = 0;
  live.boundary().on_execute = [&](WatchedExecute& call) {
    return calls++ == 0 ? arguments->run(call) : call.forward();
  };
  std::vector<std::vector<std::byte>> found;
  for (const CaseRun* const run : live.runs()) {
    calls = 0;
    kit.need(method->execute(*run), "the case does not run with memory of another owner");
    found.push_back(kit.need(method->output_bytes(), "the outputs of the case"));
  }
  live.boundary().on_execute = nullptr;
  const std::size_t num_tensors = arguments->num_tensors();
  method.reset();
  arguments.reset();
  if (num_tensors == 0) kit.not_applicable("no tensor of the case is on the CPU");
  kit.expect("TN-EXM-4", found == expected, "with ", num_tensors,
             " tensors in imported memory the outputs differ");
}

TENON_CONFORMANCE_TEST("external/read-only", "memory that is only read cannot be written",
                       "[external][level-5][backend][TN-EXM-5]") {
  OpenedBackend backend(kit);
  Importer importer(kit, backend);
  const OwnedFile file(kit, 2 * page);
  importer.need(kit, file.range(page + 64, 64, false));
  const bool writable = platform::can_write(importer.address(), file.descriptor(), page + 64);
  importer.release(importer.imported());
  kit.expect("TN-EXM-5", !writable, "what was imported for reading can be written");
  importer.need(kit, file.range(page + 64, 64, true));
  const bool can_be_written = platform::can_write(importer.address(), file.descriptor(), page + 64);
  importer.release(importer.imported());
  if (!can_be_written) kit.blocked("memory that was imported for writing cannot be written");
}

TENON_CONFORMANCE_TEST("external/fences", "runs begin after a fence, and signal another",
                       "[external][level-5][case][TN-EXM-7][TN-EXM-8]") {
  LiveCase live(kit);
  Importer importer(kit, live.backend(), true);
  const auto& table = importer.table();
  if (!tenon::detail::has_kind(tenon::detail::fence_kinds(table), FenceKind::EventFd)) {
    kit.not_applicable("the backend knows no fences that are eventfds");
  }
  const auto expected = live.run(*live.load());
  const FileDescriptor before = platform::make_event(), after = platform::make_event();
  if (!before.valid() || !after.valid()) kit.not_applicable("the system gives no eventfd");
  const auto fence_of = [](const FileDescriptor& event) {
    return tenon::detail::to_abi(
        ExternalFence{.kind = FenceKind::EventFd, .descriptor = event.get()});
  };
  const tenon_external_fence ready = fence_of(before), done = fence_of(after);
  const auto method = live.load();
  bool is_first = true, waited = false, was_late = true, signalled = false;
  live.boundary().on_execute = [&](WatchedExecute& call) {
    if (!std::exchange(is_first, false)) return call.forward();
    auto* const raw = live.backend().backend().raw();
    auto* const delegate = reinterpret_cast<tenon_delegate*>(&call.delegate);
    // The owner takes its time. Whether it was waited for is what it says, not how long it took.
    std::atomic<bool> given = false;
    std::thread owner([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      given = true;
      platform::signal_event(before.get());
    });
    waited = table.wait_fence(raw, delegate, &ready) == TENON_STATUS_OK;
    const tenon_status status = call.forward();
    was_late = given;
    owner.join();
    signalled = table.signal_fence(raw, delegate, &done) == TENON_STATUS_OK &&
                platform::is_signalled(after.get(), 2000);
    return status;
  };
  const auto found = live.run(*method);
  live.boundary().on_execute = nullptr;
  kit.expect("TN-EXM-7", waited && was_late,
             waited ? "a run is done before the fence that it is to wait for is signalled"
                    : "wait_fence fails");
  kit.expect("TN-EXM-8", signalled, "the fence after a run is not signalled: ", said_error().text);
  if (kit.backend().deterministic) {
    kit.expect("TN-EXM-7", found == expected, "with fences the outputs differ");
  }
}

}}}  // namespace tenon::TENON_RELEASE::conformance
