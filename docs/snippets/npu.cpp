// SPDX-License-Identifier: MIT
// Functions of a backend for a device with its own memory. It uses the number of CUDA, because
// programs have no other device (docs/backends/device-memory.md).
#include "npu_driver.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <tenon/backend/event_watcher.hpp>
#include <tenon/tenon.hpp>
#include <vector>

namespace {

using tenon::Error;
using tenon::Result;
using tenon::Status;

class AcmeNpu final : public tenon::Backend<AcmeNpu>,
                      public tenon::WithDevices<AcmeNpu>,
                      public tenon::WithDeviceMemory<AcmeNpu>,
                      public tenon::WithStreams<AcmeNpu>,
                      public tenon::WithEvents<AcmeNpu> {
 public:
  static constexpr std::string_view id = "AcmeNpu";
  static constexpr std::string_view tags = "experimental";

  struct Delegate {
    Delegate() = default;
    Delegate(Delegate&&) = default;
    ~Delegate() { npu::synchronize(); }  // TN-STR-4

    npu::Stream own{};
    npu::Stream* stream = nullptr;  ///< The application's; null: `own`.
  };

  // [available]
  Status is_available() {
    if (npu::count_devices() > 0) return tenon::ok();
    return tenon::error(Error::NotFound, "no device: expected /dev/npu0, found none");
  }
  // [available]

  Result<Delegate> init(tenon::InitContext&, tenon::Blob processed, tenon::CompileSpecs) {
    TENON_RETURN_IF_ERROR(is_available());
    if (processed.text() == "add") return Delegate{};
    return tenon::error(Error::DelegateInvalidCompatibility, "blob: expected 'add', found ",
                        processed.size(), " bytes");
  }

  Status execute(tenon::ExecutionContext& context, Delegate& delegate, tenon::Args args) {
    TENON_RETURN_IF_ERROR(start(context, delegate, args));
    // Without a stream of the application the outputs are complete on return (TN-EXE-4).
    return delegate.stream ? tenon::ok() : wait();
  }

  Status start(tenon::ExecutionContext&, Delegate& delegate, tenon::Args args) {
    TENON_RETURN_IF_ERROR(args.expect(3));
    TENON_TRY(const tenon::TensorView a, args.tensor(0));
    TENON_TRY(const tenon::TensorView b, args.tensor(1));
    TENON_TRY(const tenon::TensorView out, args.tensor(2));
    for (const tenon::TensorView& tensor : {a, b, out}) {
      TENON_RETURN_IF_ERROR(check_device(tensor.device()));
      if (tensor.scalar_type() != tenon::ScalarType::Float || !same_layout(tensor, out) ||
          (!tensor.data() && tensor.nbytes() != 0)) {
        return tenon::error(Error::InvalidArgument, "expected three float32 tensors of one shape");
      }
    }
    if (!npu::enqueue_add(stream_of(delegate), reinterpret_cast<const float*>(a.data()),
                          reinterpret_cast<const float*>(b.data()), static_cast<float*>(at(out)),
                          out.numel())) {
      return tenon::error(Error::Internal, "the device refused the work");
    }
    return tenon::ok();
  }

  Result<std::vector<tenon::DeviceInfo>> devices() {
    std::vector<tenon::DeviceInfo> out;
    for (std::int32_t i = 0; i < npu::count_devices(); ++i) {
      out.push_back({{TENON_DL_CUDA, i}, "npu", "Acme NPU", 0});
    }
    return out;
  }

  Result<void*> allocate_device(tenon_dl_device device, std::size_t nbytes, std::size_t alignment) {
    TENON_RETURN_IF_ERROR(check_device(device));
    if (void* block = npu::allocate(device.device_id, nbytes, alignment)) return block;
    return tenon::error(Error::MemoryAllocationFailed, "no ", nbytes, " bytes on the device");
  }
  void free_device(tenon_dl_device device, void* block) noexcept {
    npu::free(device.device_id, block);
  }
  Status copy_to_device(tenon_dl_device device, void* to, const void* from, std::size_t nbytes) {
    TENON_RETURN_IF_ERROR(check_device(device));
    TENON_RETURN_IF_ERROR(wait());  // a copy follows all enqueued work (TN-DEV-7)
    if (npu::copy(device.device_id, to, from, nbytes)) return tenon::ok();
    return tenon::error(Error::Internal, "the copy of ", nbytes, " bytes failed");
  }
  Status copy_to_host(tenon_dl_device device, void* to, const void* from, std::size_t nbytes) {
    return copy_to_device(device, to, from, nbytes);
  }

  static constexpr const char* stream_kind = "acme.npu_stream";
  Status set_stream(Delegate& delegate, void* stream) {
    TENON_RETURN_IF_ERROR(wait());  // earlier work completes before later work (TN-STR-3)
    delegate.stream = static_cast<npu::Stream*>(stream);
    return tenon::ok();
  }

  struct Event {
    std::unique_ptr<npu::Event> mark;
  };
  Result<Event> create_event() { return Event{std::make_unique<npu::Event>()}; }
  Status record_event(Delegate& delegate, Event& event) {
    return done(npu::record(event.mark.get(), stream_of(delegate)));
  }
  Status wait_event(Event& event, std::uint64_t timeout_ns) {
    return tenon::wait_by_query(
        timeout_ns, [&] { return npu::is_complete(event.mark.get()); },
        [&] { return done(npu::wait(event.mark.get())); });
  }
  Result<bool> query_event(Event& event) { return npu::is_complete(event.mark.get()); }
  Status wait_on_event(Delegate& delegate, Event& event) {
    return done(npu::enqueue_wait(stream_of(delegate), event.mark.get()));
  }

 private:
  static npu::Stream* stream_of(Delegate& delegate) noexcept {
    return delegate.stream ? delegate.stream : &delegate.own;
  }
  static Status done(bool by_the_device) {
    if (by_the_device) return tenon::ok();
    return tenon::error(Error::Internal, "the device failed");
  }
  static Status check_device(tenon_dl_device device) {
    if (device.device_type == TENON_DL_CUDA && device.device_id >= 0 &&
        device.device_id < npu::count_devices()) {
      return tenon::ok();
    }
    return tenon::error(Error::InvalidArgument, "expected one of ", npu::count_devices(),
                        " devices, found DLPack device type ", device.device_type, ", number ",
                        device.device_id);
  }
  static Status wait() {
    if (npu::synchronize()) return tenon::ok();
    return tenon::error(Error::Internal, "the device did not finish its work");
  }
  static void* at(const tenon::TensorView& tensor) {
    const tenon_dl_tensor& raw = tensor.raw().dl;
    return static_cast<std::byte*>(raw.data) + raw.byte_offset;
  }
};

}  // namespace

TENON_PLUGIN(AcmeNpu);
