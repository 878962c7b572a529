// SPDX-License-Identifier: MIT

#include "touch_backends.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <tenon/tenon.hpp>
#include <vector>

namespace {

std::uint64_t touch(tenon::Bytes bytes) {
  if (bytes.empty()) return 0;
  return std::to_integer<std::uint64_t>(bytes.front()) +
         std::to_integer<std::uint64_t>(bytes.back());
}

std::uint64_t touch_value(const tenon_value& value, int depth) {
  switch (value.kind) {
    case TENON_VALUE_TENSOR: {
      const tenon::TensorView tensor(*value.as.tensor);
      std::uint64_t sum = tensor.numel();
      for (const std::int64_t stride : tensor.strides()) sum += static_cast<std::uint64_t>(stride);
      if (tensor.data() == nullptr) return sum;
      return sum + touch({tensor.data(), tensor.nbytes()});
    }
    case TENON_VALUE_STRING:
    case TENON_VALUE_BOOL_LIST:
      return touch({static_cast<const std::byte*>(value.as.span.data), value.as.span.size});
    case TENON_VALUE_DOUBLE_LIST:
      return touch({static_cast<const std::byte*>(value.as.span.data), 8 * value.as.span.size});
    case TENON_VALUE_INT_LIST:
    case TENON_VALUE_TENSOR_LIST:
    case TENON_VALUE_OPTIONAL_TENSOR_LIST: {
      std::uint64_t sum = 0;
      const auto* items = static_cast<const tenon_value* const*>(value.as.span.data);
      // A list may come to hold itself through a MoveCall.
      for (std::uint64_t i = 0; i < value.as.span.size && depth < 3; ++i) {
        sum += touch_value(*items[i], depth + 1);
      }
      return sum;
    }
    default:
      return static_cast<std::uint64_t>(value.as.integer);
  }
}

std::uint64_t calls_left = 0;

constexpr std::array<std::string_view, 4> ids{"NoopBackend", "XnnpackBackend",
                                              "BackendWithNamedDataMap", "ExecutorBackend"};

/// Uses the arguments as a backend may.
tenon::Status use_args(tenon::Args args, std::uint64_t& sum) {
  if (!tenon::test::count_call()) {
    return tenon::error(tenon::Error::Internal, "called too often");
  }
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (const auto tensor = args.tensor(i); tensor.ok()) {
      TENON_RETURN_IF_ERROR(args.resize(i, tensor->bounds()));
      sum += tensor->nbytes();
    }
  }
  return tenon::ok();
}

template <std::size_t Index>
class Touch final : public tenon::Backend<Touch<Index>>, public tenon::WithSessions<Touch<Index>> {
 public:
  static constexpr std::string_view id = ids[Index];

  struct Delegate {
    std::uint64_t sum;
  };

  tenon::Result<Delegate> init(tenon::InitContext& context, tenon::Blob processed,
                               tenon::CompileSpecs specs) {
    std::uint64_t sum = touch(processed.bytes());
    for (std::size_t i = 0; i < specs.size(); ++i) {
      sum += specs[i].key.size() + touch(specs[i].value);
    }
    if (const auto map = context.named_data_map()) {
      for (std::size_t i = 0; i < map->num_keys(); ++i) {
        TENON_TRY(const std::string_view key, map->key(i));
        if (const auto layout = map->get_tensor_layout(key); layout.ok()) {
          sum += touch(std::as_bytes(layout->sizes)) + touch(std::as_bytes(layout->dim_order));
        }
        TENON_TRY(const tenon::NamedData data, map->get_data(key));
        sum += touch(data.bytes());
      }
    }
    if (sum % 2 == 0) processed.release();
    return Delegate{sum};
  }

  tenon::Status execute(tenon::ExecutionContext&, Delegate& delegate, tenon::Args args) {
    return use_args(args, delegate.sum);
  }

  tenon::Result<Delegate> create_session(const Delegate& loaded) { return Delegate{loaded.sum}; }
};

/// Has devices, whose memory is the host's, and kernels. Asks whether embedded code may run.
class TouchDevice final : public tenon::Backend<TouchDevice>,
                          public tenon::WithDevices<TouchDevice>,
                          public tenon::WithDeviceMemory<TouchDevice>,
                          public tenon::WithKernels<TouchDevice> {
 public:
  static constexpr std::string_view id = "DeviceBackend";
  static constexpr std::array<std::string_view, 2> operators{"touch::op", "touch::op.out"};

  struct Delegate {
    std::uint64_t sum;
  };
  struct Kernel {
    std::uint64_t sum;
    tenon::Status run(tenon::ExecutionContext&, tenon::Args args) { return use_args(args, sum); }
  };

  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob processed, tenon::CompileSpecs) {
    return Delegate{touch(processed.bytes())};
  }
  tenon::Status execute(tenon::ExecutionContext& context, Delegate& delegate, tenon::Args args) {
    if (void* const memory = context.temp_allocator().allocate(32, 8)) std::memset(memory, 1, 32);
    return use_args(args, delegate.sum);
  }
  tenon::Result<Kernel> create_kernel(std::string_view, tenon::Args args) {
    if (args.size() > 6) return tenon::error(tenon::Error::OperatorMissing, "too many arguments");
    return Kernel{args.size()};
  }

  tenon::Result<std::vector<tenon::DeviceInfo>> devices() {
    return std::vector<tenon::DeviceInfo>{{{TENON_DL_CUDA, 0}, "first", "memory of the host", 0},
                                          {{TENON_DL_CUDA, 1}, "second", "memory of the host", 0}};
  }
  tenon::Result<void*> allocate_device(tenon_dl_device, std::size_t nbytes, std::size_t alignment) {
    void* out = nullptr;
#if defined(_WIN32)
    out = ::_aligned_malloc(nbytes, std::max(alignment, sizeof out));
#else
    if (::posix_memalign(&out, std::max(alignment, sizeof out), nbytes) != 0) out = nullptr;
#endif
    if (out) return out;
    return tenon::error(tenon::Error::MemoryAllocationFailed, "no memory of ", nbytes);
  }
  void free_device(tenon_dl_device, void* block) noexcept {
#if defined(_WIN32)
    ::_aligned_free(block);
#else
    std::free(block);
#endif
  }
  tenon::Status copy_to_device(tenon_dl_device, void* to, const void* from, std::size_t nbytes) {
    std::memcpy(to, from, nbytes);
    return tenon::ok();
  }
  tenon::Status copy_to_host(tenon_dl_device, void* to, const void* from, std::size_t nbytes) {
    std::memcpy(to, from, nbytes);
    return tenon::ok();
  }
};

using TouchNoop = Touch<0>;
using TouchXnnpack = Touch<1>;
using TouchNamedData = Touch<2>;
using TouchExecutor = Touch<3>;

}  // namespace

void tenon::test::begin_calls(std::uint64_t limit) { calls_left = limit; }

bool tenon::test::count_call() { return calls_left != 0 && calls_left-- != 0; }

std::uint64_t tenon::test::touch_args(tenon_value* const* args, std::uint32_t num_args) {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < num_args; ++i) sum += touch_value(*args[i], 0);
  if (num_args == 0 || args[num_args - 1]->kind != TENON_VALUE_TENSOR) return sum;
  const tenon_tensor& out = *args[num_args - 1]->as.tensor;
  const bool writable = (out.flags & TENON_TENSOR_MEMORY_PLANNED) != 0 && out.dl.data != nullptr;
  if (writable) std::memset(out.dl.data, 1, static_cast<std::size_t>(out.nbytes));
  return sum;
}

TENON_PLUGIN(TouchNoop, TouchXnnpack, TouchNamedData, TouchExecutor, TouchDevice);
