// SPDX-License-Identifier: MIT
#include "driver/device.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "driver/kept_process.hpp"
#include "run/kernel_source.hpp"

namespace opencl_backend {

using tenon::Error;
using tenon::Result;
using tenon::Status;

Result<std::shared_ptr<Device>> Device::open(const Api& api, DeviceRecord record,
                                             std::int32_t number) {
  const KeptProcess kept;
  cl_int code = CL_SUCCESS;
  Owned<cl_context_of> context(api.CreateContext(nullptr, 1, &record.id, nullptr, nullptr, &code),
                               {api.ReleaseContext});
  TENON_RETURN_IF_ERROR(check(code, "create a context"));
  std::shared_ptr<Device> out(new Device(api, std::move(record), number, std::move(context)));
  TENON_TRY(out->copies_, out->create_queue());
  return out;
}

Device::Device(const Api& api, DeviceRecord record, std::int32_t number,
               Owned<cl_context_of> context)
    : api_(api),
      record_(std::move(record)),
      number_(number),
      context_(std::move(context)),
      command_buffers_(find_command_buffers(api_, record_)) {}

Device::~Device() {
  for (auto& [address, block] : blocks_) ::munmap(block.pages, block.pages_size);
}

Result<Owned<cl_queue_of>> Device::create_queue() const {
  cl_int code = CL_SUCCESS;
  Owned<cl_queue_of> out(api_.CreateCommandQueue(context(), record_.id, 0, &code),
                         {api_.ReleaseCommandQueue});
  TENON_RETURN_IF_ERROR(check(code, "create a queue"));
  return out;
}

Result<Owned<cl_mem_of>> Device::create_buffer(std::uint64_t nbytes, const std::byte* from) const {
  if (nbytes == 0) return Owned<cl_mem_of>();
  // Not every driver compares the size with its limit before it asks the system.
  if (nbytes > record_.most_bytes) {
    return tenon::error(Error::MemoryAllocationFailed, "no buffer of ", nbytes,
                        " bytes: ", record_.name, " has at most ", record_.most_bytes, " in one");
  }
  cl_int code = CL_SUCCESS;
  const cl_bitfield flags = from ? CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR : CL_MEM_READ_WRITE;
  Owned<cl_mem_of> out(
      api_.CreateBuffer(context(), flags, nbytes, const_cast<std::byte*>(from), &code),
      {api_.ReleaseMemObject});
  TENON_RETURN_IF_ERROR(check(code, tenon::concat("create a buffer of ", nbytes, " bytes")));
  return out;
}

Result<Owned<cl_mem_of>> Device::share_bytes(std::byte* bytes, std::uint64_t nbytes) const {
  cl_int code = CL_SUCCESS;
  Owned<cl_mem_of> out(
      api_.CreateBuffer(context(), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, nbytes, bytes, &code),
      {api_.ReleaseMemObject});
  TENON_RETURN_IF_ERROR(check(code, tenon::concat("use ", nbytes, " bytes of the host")));
  return out;
}

Result<std::shared_ptr<cl_event_of>> Device::share(cl_event event) const {
  cl_context found = nullptr;
  TENON_RETURN_IF_ERROR(check(
      api_.GetEventInfo(event, CL_EVENT_CONTEXT, sizeof found, static_cast<void*>(&found), nullptr),
      "use the event", Error::InvalidArgument));
  if (found != context()) {
    return tenon::error(Error::InvalidArgument, "the event's context is not the context of ",
                        "OpenCL device ", number_);
  }
  TENON_RETURN_IF_ERROR(check(api_.RetainEvent(event), "keep the event"));
  return std::shared_ptr<cl_event_of>(own(event));
}

std::string Device::identity() const {
  return tenon::concat(record_.platform, "/", record_.name, "/", record_.driver_version);
}

Status Device::build(cl_program program) const {
  const cl_int code = api_.BuildProgram(program, 1, &record_.id, "", nullptr, nullptr);
  if (code == CL_SUCCESS) return tenon::ok();
  std::size_t size = 0;
  std::string log;
  if (api_.GetProgramBuildInfo(program, record_.id, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size) ==
      CL_SUCCESS) {
    log.resize(size);
    static_cast<void>(api_.GetProgramBuildInfo(program, record_.id, CL_PROGRAM_BUILD_LOG, size,
                                               log.data(), nullptr));
    while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
  }
  const Status failed = check(code, tenon::concat("compile the kernels for ", record_.name));
  return tenon::error(failed.error(), failed.text(), "; build log: ", log.empty() ? "none" : log);
}

Result<Owned<cl_program_of>> Device::compile() const {
  cl_int code = CL_SUCCESS;
  const char* source = kernel_source;
  Owned<cl_program_of> out(api_.CreateProgramWithSource(context(), 1, &source, nullptr, &code),
                           {api_.ReleaseProgram});
  TENON_RETURN_IF_ERROR(check(code, "create a program"));
  TENON_RETURN_IF_ERROR(build(out.get()));
  return out;
}

Result<Owned<cl_program_of>> Device::load(tenon::Bytes binary) const {
  const auto* bytes = reinterpret_cast<const unsigned char*>(binary.data());
  const std::size_t size = binary.size();
  cl_int of_device = CL_SUCCESS;
  cl_int code = CL_SUCCESS;
  Owned<cl_program_of> out(
      api_.CreateProgramWithBinary(context(), 1, &record_.id, &size, &bytes, &of_device, &code),
      {api_.ReleaseProgram});
  TENON_RETURN_IF_ERROR(check(code, "create a program of a binary"));
  TENON_RETURN_IF_ERROR(check(of_device, "use a binary"));
  TENON_RETURN_IF_ERROR(build(out.get()));
  return out;
}

Result<std::vector<std::byte>> Device::binary_of(cl_program program) const {
  std::size_t size = 0;
  TENON_RETURN_IF_ERROR(
      check(api_.GetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr),
            "say the size of a binary"));
  std::vector<std::byte> out(size);
  std::byte* to = out.data();
  TENON_RETURN_IF_ERROR(check(api_.GetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof to,
                                                  static_cast<void*>(&to), nullptr),
                              "give a binary"));
  return out;
}

Result<cl_program> Device::program(const tenon::Prepared& prepared) {
  const std::lock_guard lock(program_mutex_);
  if (!program_ && !prepared.bytes().empty()) {
    // Another driver may have made it: then it is compiled again.
    auto loaded = load(prepared.bytes());
    if (loaded.ok()) program_ = *std::move(loaded);
  }
  if (!program_) {
    const KeptProcess kept;
    TENON_TRY(program_, compile());
  }
  if (prepared.exists() && prepared.bytes().empty()) {
    const auto binary = binary_of(program_.get());
    if (binary.ok() && !binary->empty()) static_cast<void>(prepared.store(*binary));
  }
  return program_.get();
}

Result<void*> Device::allocate(std::uint64_t nbytes, std::size_t alignment) {
  TENON_TRY(auto buffer, create_buffer(nbytes));
  const std::size_t size = static_cast<std::size_t>(nbytes) + alignment;
  void* const pages =
      ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) {
    return tenon::error(Error::MemoryAllocationFailed, "no addresses for ", nbytes, " bytes");
  }
  const auto first = reinterpret_cast<std::uintptr_t>(pages);
  const std::uintptr_t address = (first + alignment - 1) / alignment * alignment;
  const std::lock_guard lock(mutex_);
  blocks_.emplace(address, Block{std::move(buffer), nbytes, pages, size});
  return reinterpret_cast<void*>(address);
}

void Device::free(void* address) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(reinterpret_cast<std::uintptr_t>(address));
  if (found == blocks_.end()) return;
  ::munmap(found->second.pages, found->second.pages_size);
  blocks_.erase(found);
  ++frees_;
}

Result<Slice> Device::find(const void* address, std::uint64_t nbytes) const {
  if (nbytes == 0) return Slice{};
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const std::lock_guard lock(mutex_);
  auto found = blocks_.upper_bound(at);
  if (found != blocks_.begin()) {
    --found;
    const std::uint64_t offset = at - found->first;
    if (offset <= found->second.nbytes && nbytes <= found->second.nbytes - offset) {
      return Slice{found->second.buffer.get(), offset};
    }
  }
  return tenon::error(Error::InvalidArgument, "no block of OpenCL device ", number_, " has ",
                      nbytes, " bytes at that address");
}

void Device::note_work(const void* owner, Owned<cl_event_of> last) {
  const std::lock_guard lock(mutex_);
  if (last) {
    work_[owner] = std::move(last);
  } else {
    work_.erase(owner);
  }
}

Status Device::wait_for_work() {
  std::vector<std::shared_ptr<cl_event_of>> work;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [owner, event] : work_) work.push_back(event);
  }
  for (const auto& event : work) {
    const cl_event handle = event.get();
    // A run that failed is over, too.
    static_cast<void>(api_.WaitForEvents(1, &handle));
  }
  return tenon::ok();
}

Status Device::copy_to_device(void* to, const void* from, std::size_t nbytes) {
  TENON_TRY(const Slice slice, find(to, nbytes));
  TENON_RETURN_IF_ERROR(wait_for_work());
  return check(api_.EnqueueWriteBuffer(copies_.get(), slice.buffer, CL_TRUE, slice.offset, nbytes,
                                       from, 0, nullptr, nullptr),
               "copy to the device");
}

Status Device::copy_to_host(void* to, const void* from, std::size_t nbytes) {
  TENON_TRY(const Slice slice, find(from, nbytes));
  TENON_RETURN_IF_ERROR(wait_for_work());
  return check(api_.EnqueueReadBuffer(copies_.get(), slice.buffer, CL_TRUE, slice.offset, nbytes,
                                      to, 0, nullptr, nullptr),
               "copy to the host");
}

}  // namespace opencl_backend
