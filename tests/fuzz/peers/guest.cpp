// SPDX-License-Identifier: MIT
#include "guest.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/private/changes.h"

namespace tenon::fuzz {
namespace {

void use_data(Delegate& it) {
  const std::uint8_t what = now().byte();
  if (!it.data || what < 0x80) return;
  if (what % 3 == 0) {
    tenon_buffer buffer{};
    buffer.struct_size = sizeof buffer;
    if (it.data->get_data(it.data, "weight", 6, &buffer) != TENON_STATUS_OK) return;
    read_bytes(buffer.data, buffer.nbytes);
    if (now().often()) {
      buffer.release(&buffer);
    } else {
      it.buffers.push_back(buffer);
    }
  } else if (what % 3 == 1) {
    tenon_tensor_layout layout{};
    layout.struct_size = sizeof layout;
    if (it.data->get_tensor_layout(it.data, "weight", 6, &layout) != TENON_STATUS_OK) return;
    read_bytes(layout.sizes, layout.rank * sizeof *layout.sizes);
    read_bytes(layout.dim_order, layout.rank);
  } else {
    const char* key = nullptr;
    std::uint64_t size = 0;
    if (it.data->get_key(it.data, now().byte(), &key, &size) == TENON_STATUS_OK) {
      read_bytes(key, size);
    }
  }
}

void use_log() {
  if (!now().rarely()) return;
  guest->host->log(guest->host, TENON_LOG_INFO, "a line", 6);
}

void use_tracer(const tenon_tracer* tracer) {
  if (!tracer) return;
  const std::uint64_t start = tracer->now(tracer);
  tracer->log_event(tracer, "event", 5, 1, start, start + 1, "metadata", now().below(9));
  if (tracer->log_counter) tracer->log_counter(tracer, "counter", 7, "bytes", 5, start, 1.5);
}

void use_prepared(const tenon_init_context& context, Delegate& it) {
  if (now().byte() < 0xa0) return;
  const auto* const table = static_cast<const tenon_prepare_v1*>(
      context.host->get_extension(context.host, TENON_EXTENSION_PREPARE));
  tenon_prepared* made = nullptr;
  if (!table || table->open(&context, "identity", 8, &made) != TENON_STATUS_OK) return;
  read_bytes(made->data, made->nbytes);
  it.prepared.push_back(made);
}
void store(Delegate& it) {
  if (it.prepared.empty() || !now().rarely()) return;
  const tenon_span parts[] = {{"some", 4}, {"bytes", 5}};
  static_cast<void>(it.prepared.back()->store(it.prepared.back(), parts, 2));
  if (now().often()) return;
  it.prepared.back()->release(it.prepared.back());
  it.prepared.pop_back();
}

void use_tensor(tenon_tensor& tensor, bool is_kernel, const std::vector<tenon_tensor*>& others) {
  const auto rank = static_cast<std::size_t>(tensor.dl.ndim);
  read_bytes(tensor.dl.shape, rank * sizeof *tensor.dl.shape);
  read_bytes(tensor.dl.strides, rank * sizeof *tensor.dl.strides);
  read_bytes(tensor.bounds, rank * sizeof *tensor.bounds);
  read_bytes(tensor.dim_order, rank);
  auto* const data = static_cast<std::byte*>(tensor.dl.data);
  const std::uint64_t room = std::max(tensor.nbytes, tensor.capacity);
  if (data && !is_given(data, room)) broken("a tensor is in memory that was not given");
  if (data) read_bytes(data, tensor.nbytes);
  const std::uint8_t what = now().byte();
  if (what >= 0xa0 && what < 0xc0) {
    std::vector<std::int64_t> sizes(rank);
    for (std::int64_t& each : sizes) each = static_cast<std::int64_t>(now().number());
    if (guest->host->resize_tensor(guest->host, &tensor, sizes.data(),
                                   static_cast<std::uint32_t>(rank)) == TENON_STATUS_OK &&
        tensor.nbytes > room) {
      broken("a tensor was made larger than its memory");
    }
  }
  const bool is_read_only = (tensor.flags & TENON_TENSOR_CONSTANT) != 0 || tensor.dl.data != data;
  if (what >= 0xc0 && what < 0xe0 && data && !is_read_only) {
    std::memset(data, what, static_cast<std::size_t>(tensor.nbytes));
  }
  if (what >= 0xe0 && is_kernel && !others.empty()) {
    tensor.dl.data = others[now().below(others.size())]->dl.data;
    if (now().rarely()) tensor.dl.data = guest->backend.data();
  }
}

void give_intermediate(const Delegate& it) {
  if (!it.sink) return;
  for (const std::int64_t handle : it.handles) {
    std::int64_t sizes[] = {2, 3};
    std::int64_t strides[] = {3, 1};
    const std::uint8_t order[] = {0, 1};
    float bytes[6] = {};
    tenon_tensor tensor{sizeof tensor,
                        6,
                        {bytes, {TENON_DL_CPU, 0}, 2, {TENON_DL_FLOAT, 32, 1}, sizes, strides, 0},
                        order,
                        sizes,
                        sizeof bytes,
                        sizeof bytes,
                        0,
                        0};
    static_cast<void>(it.sink->take(it.sink, handle, &tensor));
  }
}

}  // namespace

void use_value(tenon_value* value, bool is_kernel, std::vector<tenon_tensor*>& seen) {
  if (!value) return;
  switch (value->kind) {
    case TENON_VALUE_TENSOR:
      if (!value->as.tensor) return;
      use_tensor(*value->as.tensor, is_kernel, seen);
      return seen.push_back(value->as.tensor);
    case TENON_VALUE_STRING:
    case TENON_VALUE_BOOL_LIST:
      return read_bytes(value->as.span.data, value->as.span.size);
    case TENON_VALUE_DOUBLE_LIST:
      return read_bytes(value->as.span.data, value->as.span.size * sizeof(double));
    case TENON_VALUE_INT_LIST:
    case TENON_VALUE_TENSOR_LIST:
    case TENON_VALUE_SCALAR_LIST:
    case TENON_VALUE_OPTIONAL_TENSOR_LIST: {
      auto* const elements = static_cast<tenon_value* const*>(value->as.span.data);
      for (std::uint64_t i = 0; i < value->as.span.size; ++i) {
        use_value(elements[i], is_kernel, seen);
      }
      return;
    }
    case TENON_VALUE_BOOL:
      value->as.boolean = now().byte() & 1;
      return;
    default:
      if (now().rarely()) value->as.integer = 9;
  }
}

void use_context(const tenon_execution_context& context) {
  const auto find = [&](const char* id) { return context.host->get_extension(context.host, id); };
  if (const auto* const flags =
          static_cast<const tenon_cancel_flag_v1*>(find(TENON_EXTENSION_CANCEL_FLAG))) {
    const std::uint32_t* const flag = flags->get_cancel_flag(&context);
    if (flag) read_bytes(flag, sizeof *flag);
  }
  if (const auto* const threads =
          static_cast<const tenon_threads_v1*>(find(TENON_EXTENSION_THREADS))) {
    const tenon_thread_pool* const pool = threads->get_pool(&context);
    if (pool) read_bytes(pool->processors, pool->num_processors * sizeof(std::uint32_t));
    const auto part = [](void*, std::uint32_t, std::uint64_t, std::uint64_t) -> tenon_status {
      return TENON_STATUS_OK;
    };
    if (pool && now().rarely()) {
      static_cast<void>(pool->parallel_for(pool, 8, 2, part, nullptr));
    }
  }
  if (const auto* const table =
          static_cast<const tenon_changes_v1*>(find(TENON_EXTENSION_CHANGES))) {
    tenon_changes* const changes = table->get_changes(&context);
    if (changes) changes->counted = now().byte() & 1;
  }
  if (context.temp_allocator && now().rarely()) {
    tenon_allocator& memory = *context.temp_allocator;
    for (int i = 0; i < 2; ++i) {
      const std::uint64_t size = now().number_or(100) % 100'000;
      void* const taken = memory.allocate(&memory, size, std::uint64_t{1} << now().below(8));
      if (taken) std::memset(taken, 1, static_cast<std::size_t>(size));
    }
  }
  use_tracer(context.tracer);
}

void read_context(const tenon_init_context& context, Delegate& it) {
  read_text(context.method_name);
  read_bytes(context.processed->data, context.processed->nbytes);
  for (std::uint32_t i = 0; i < context.num_compile_specs; ++i) {
    read_text(context.compile_specs[i].key);
    if (context.compile_specs[i].value) {
      read_bytes(context.compile_specs[i].value, context.compile_specs[i].value_size);
    }
  }
  for (std::uint32_t i = 0; i < context.num_runtime_specs; ++i) {
    read_option(context.runtime_specs[i]);
  }
  if (context.scheduling) read_bytes(context.scheduling, sizeof *context.scheduling);
  it.data = context.named_data_map;
  use_data(it);
  use_prepared(context, it);
  if (context.permit_code && now().rarely()) {
    static_cast<void>(context.permit_code(&context, "code", now().below(5)));
  }
  use_log();
  use_tracer(context.tracer);
  void* const taken = context.runtime_allocator->allocate(context.runtime_allocator, 40, 64);
  if (taken) std::memset(taken, 1, 40);
  if (now().rarely()) context.processed->release(context.processed);
}

namespace {

tenon_status open(const tenon_host* host, tenon_backend** out) {
  if (now().rarely()) return TENON_STATUS_NOT_SUPPORTED;
  guest->host = host;
  read_text(host->name);
  read_text(host->plugin_path);
  *out = reinterpret_cast<tenon_backend*>(guest->backend.data());
  return TENON_STATUS_OK;
}
void close(tenon_backend* backend) {
  check(backend);
  for (const auto& [address, each] : guest->delegates) give_back(*each);
  guest->delegates.clear();
  guest->host = nullptr;
}
tenon_status is_available(tenon_backend* backend) {
  check(backend);
  return outcome();
}

tenon_status init(tenon_backend* backend, const tenon_init_context* context, tenon_delegate** out) {
  check(backend);
  auto made = std::make_unique<Delegate>();
  read_context(*context, *made);
  const tenon_status status = outcome();
  if (status != TENON_STATUS_OK) {
    give_back(*made);
    return status;
  }
  *out = reinterpret_cast<tenon_delegate*>(made.get());
  guest->delegates.emplace(made.get(), std::move(made));
  return status;
}

tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                     const tenon_execution_context* context, tenon_value* const* args,
                     std::uint32_t num_args) {
  check(backend);
  Delegate& it = of(delegate);
  use_context(*context);
  use_data(it);
  store(it);
  std::vector<tenon_tensor*> seen;
  for (std::uint32_t i = 0; i < num_args; ++i) use_value(args[i], false, seen);
  give_intermediate(it);
  use_log();
  return outcome();
}

void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  check(backend);
  Delegate& it = of(delegate);
  store(it);
  give_back(it);
  guest->delegates.erase(&it);
}

}  // namespace

const tenon_backend_api& guest_api() noexcept {
  static constexpr tenon_backend_api api{
      sizeof api, 0, &open, &close, &is_available, &init, &execute, &destroy, &find_extension};
  return api;
}

GuestRun::GuestRun(Choices& choices) {
  guest = new Guest;
  guest->choices = &choices;
}

GuestRun::~GuestRun() {
  for (const auto& [address, each] : guest->delegates) give_back(*each);
  for (const auto& [block, size] : guest->blocks) ::operator delete(block);
  delete std::exchange(guest, nullptr);
}

}  // namespace tenon::fuzz
