// SPDX-License-Identifier: MIT
#include <cstring>
#include <new>

#include "guest.hpp"

/// The extensions of the plugin.
namespace tenon::fuzz {
namespace {

tenon_status create_session(tenon_backend* backend, tenon_delegate* parent,
                            const tenon_session_context* context, tenon_delegate** out) {
  check(backend);
  static_cast<void>(of(parent));
  for (std::uint32_t i = 0; i < context->num_runtime_specs; ++i) {
    read_option(context->runtime_specs[i]);
  }
  if (context->scheduling) read_bytes(context->scheduling, sizeof *context->scheduling);
  if (context->state) static_cast<void>(of(context->state));
  tenon_allocator* const memory = context->runtime_allocator;
  if (void* const taken = memory->allocate(memory, 40, 64)) std::memset(taken, 1, 40);
  if (const tenon_status status = outcome(); status != TENON_STATUS_OK) return status;
  auto made = std::make_unique<Delegate>();
  *out = reinterpret_cast<tenon_delegate*>(made.get());
  guest->delegates.emplace(made.get(), std::move(made));
  return TENON_STATUS_OK;
}

tenon_status check_blob(tenon_backend* backend, const tenon_init_context* context,
                        std::uint32_t* verdict) {
  check(backend);
  Delegate it;
  read_context(*context, it);
  give_back(it);
  *verdict = now().byte();
  return outcome();
}
tenon_status estimate(tenon_backend* backend, const tenon_init_context* context,
                      tenon_memory_sink sink, void* sink_context) {
  check(backend);
  Delegate it;
  read_context(*context, it);
  give_back(it);
  const tenon_memory_use use{sizeof use, 0, {TENON_DL_CPU, 0}, 64, TENON_MEMORY_WEIGHTS, nullptr};
  sink(sink_context, &use);
  return outcome();
}
tenon_status free_memory(tenon_backend* backend, tenon_dl_device, std::uint64_t* nbytes) {
  check(backend);
  *nbytes = 7;
  return outcome();
}
void cancel(tenon_backend* backend, tenon_delegate* delegate) {
  check(backend);
  static_cast<void>(of(delegate));
}
tenon_status list_devices(tenon_backend* backend, tenon_device_sink sink, void* context) {
  check(backend);
  const tenon_device_info info{sizeof info, 0, {4, 0}, 0, "device", nullptr, "uuid:0"};
  sink(context, &info);
  return outcome();
}
tenon_status memory_info(tenon_backend* backend, tenon_delegate* delegate, tenon_memory_sink sink,
                         void* sink_context) {
  check(backend);
  if (delegate) static_cast<void>(of(delegate));
  const tenon_memory_use use{sizeof use, 0, {TENON_DL_CPU, 0}, 5, TENON_MEMORY_WEIGHTS, nullptr};
  sink(sink_context, &use);
  return outcome();
}
tenon_status set_option(tenon_backend* backend, const tenon_option* option) {
  check(backend);
  read_option(*option);
  return outcome();
}
tenon_status get_option(tenon_backend* backend, const char* key, tenon_option_sink sink,
                        void* context) {
  check(backend);
  read_text(key);
  tenon_option option{sizeof option, TENON_OPTION_STRING, key, {}};
  option.as.span = {"value", 5};
  sink(context, &option);
  return outcome();
}
tenon_status set_scheduling(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_scheduling* hints) {
  check(backend);
  static_cast<void>(of(delegate));
  read_bytes(hints, sizeof *hints);
  return outcome();
}

tenon_status list_state(tenon_backend* backend, tenon_delegate* delegate,
                        const tenon_state_list* to) {
  check(backend);
  Delegate& it = of(delegate);
  const tenon_state_part parts[] = {
      {sizeof(tenon_state_part), 0, "memory", 6, it.state, sizeof it.state},
      {sizeof(tenon_state_part), 0, "device", 6, nullptr, sizeof it.state},
      {sizeof(tenon_state_part), 0, "none", 4, nullptr, 0}};
  for (const tenon_state_part& each : parts) {
    if (const tenon_status added = to->add(to, &each); added != TENON_STATUS_OK) return added;
  }
  return outcome();
}
/// Where a range of the part without an address is.
std::byte* range_of_state(tenon_delegate* delegate, std::uint64_t part, std::uint64_t offset,
                          std::uint64_t nbytes) {
  auto& state = of(delegate).state;
  if (part != 1) broken("a part is read or written that has an address");
  if (offset > sizeof state || nbytes > sizeof state - offset) {
    broken("a range of a state is outside of its part");
  }
  return reinterpret_cast<std::byte*>(&state) + offset;
}
tenon_status read_state(tenon_backend* backend, tenon_delegate* delegate, std::uint64_t part,
                        std::uint64_t offset, std::uint64_t nbytes, void* to) {
  check(backend);
  std::memcpy(to, range_of_state(delegate, part, offset, nbytes), static_cast<std::size_t>(nbytes));
  return outcome();
}
tenon_status write_state(tenon_backend* backend, tenon_delegate* delegate, std::uint64_t part,
                         std::uint64_t offset, std::uint64_t nbytes, const void* from) {
  check(backend);
  std::memcpy(range_of_state(delegate, part, offset, nbytes), from,
              static_cast<std::size_t>(nbytes));
  return outcome();
}
tenon_status state_written(tenon_backend* backend, tenon_delegate* delegate) {
  check(backend);
  static_cast<void>(of(delegate));
  return outcome();
}

tenon_status list_intermediates(tenon_backend* backend, tenon_delegate* delegate,
                                const tenon_intermediate_list* to) {
  check(backend);
  static_cast<void>(of(delegate));
  const tenon_intermediate one{sizeof one, 0, 5, "Conv2d", 6};
  return to->add(to, &one);
}
tenon_status record(tenon_backend* backend, tenon_delegate* delegate, const std::int64_t* handles,
                    std::uint64_t num_handles, const tenon_intermediate_sink* sink) {
  check(backend);
  Delegate& it = of(delegate);
  for (std::uint64_t i = 0; i < num_handles; ++i) {
    if (handles[i] != 5) return TENON_STATUS_NOT_FOUND;
  }
  it.sink = sink;
  it.handles = {handles, handles + num_handles};
  return TENON_STATUS_OK;
}

tenon_status allocate(tenon_backend* backend, tenon_dl_device, std::uint64_t nbytes,
                      std::uint64_t alignment, void** out) {
  check(backend);
  // As a plugin that checks what a host may ask (TN-DEV-4).
  if (nbytes == 0 || nbytes > 100'000 || alignment == 0 || (alignment & (alignment - 1)) != 0 ||
      alignment > 4096) {
    return TENON_STATUS_INVALID_ARGUMENT;
  }
  if (const tenon_status status = outcome(); status != TENON_STATUS_OK) return status;
  void* const made = ::operator new(static_cast<std::size_t>(nbytes));
  std::memset(made, 0, static_cast<std::size_t>(nbytes));
  guest->blocks.emplace(made, nbytes);
  *out = made;
  return TENON_STATUS_OK;
}
void free_block(tenon_backend* backend, tenon_dl_device, void* block) {
  check(backend);
  if (guest->blocks.erase(block) == 0) broken("a block is freed that the plugin does not have");
  ::operator delete(block);
}
void check_block(const void* block, std::uint64_t nbytes) {
  if (nbytes != 0 && !is_given(block, nbytes)) broken("a copy outside of a block");
}
tenon_status copy_to_device(tenon_backend* backend, tenon_dl_device, void* to, const void* from,
                            std::uint64_t nbytes) {
  check(backend);
  check_block(to, nbytes);
  if (nbytes != 0) std::memmove(to, from, static_cast<std::size_t>(nbytes));
  return outcome();
}
tenon_status copy_to_host(tenon_backend* backend, tenon_dl_device, void* to, const void* from,
                          std::uint64_t nbytes) {
  check(backend);
  check_block(from, nbytes);
  if (nbytes != 0) std::memmove(to, from, static_cast<std::size_t>(nbytes));
  return outcome();
}
tenon_status copy_on(tenon_backend* backend, void*, tenon_dl_device, void* to, tenon_dl_device,
                     const void* from, std::uint64_t nbytes) {
  check(backend);
  check_block(to, nbytes);
  check_block(from, nbytes);
  if (nbytes != 0) std::memmove(to, from, static_cast<std::size_t>(nbytes));
  return outcome();
}

tenon_status import_memory(tenon_backend* backend, const tenon_external_memory* memory,
                           tenon_imported_memory** out, void** address) {
  check(backend);
  if (memory->nbytes == 0 || memory->nbytes > 100'000) return TENON_STATUS_INVALID_ARGUMENT;
  if (const tenon_status status = outcome(); status != TENON_STATUS_OK) return status;
  void* const made = ::operator new(static_cast<std::size_t>(memory->nbytes));
  std::memset(made, 0, static_cast<std::size_t>(memory->nbytes));
  guest->blocks.emplace(made, memory->nbytes);
  guest->imports.insert(made);
  *out = static_cast<tenon_imported_memory*>(made);
  *address = made;
  return TENON_STATUS_OK;
}
void release_memory(tenon_backend* backend, tenon_imported_memory* memory) {
  check(backend);
  if (guest->imports.erase(memory) == 0) broken("memory is released that was not imported");
  guest->blocks.erase(memory);
  ::operator delete(memory);
}
tenon_status pass_fence(tenon_backend* backend, tenon_delegate* delegate,
                        const tenon_external_fence*) {
  check(backend);
  static_cast<void>(of(delegate));
  return outcome();
}

tenon_status list_operators(tenon_backend* backend, tenon_operator_sink sink, void* context) {
  check(backend);
  sink(context, "aten::add.out");
  return outcome();
}
tenon_status create_kernel(tenon_backend* backend, const tenon_kernel_context* context,
                           tenon_kernel** out) {
  check(backend);
  read_text(context->op);
  if (const tenon_status status = outcome(); status != TENON_STATUS_OK) return status;
  auto made = std::make_unique<Kernel>();
  made->args.assign(context->args, context->args + context->num_args);
  *out = reinterpret_cast<tenon_kernel*>(made.get());
  guest->kernels.emplace(made.get(), std::move(made));
  return TENON_STATUS_OK;
}
tenon_status run_kernel(tenon_kernel* kernel, const tenon_execution_context* context) {
  Kernel& it = of(kernel);
  use_context(*context);
  std::vector<tenon_tensor*> seen;
  for (tenon_value* each : it.args) use_value(each, true, seen);
  return outcome();
}
void destroy_kernel(tenon_backend* backend, tenon_kernel* kernel) {
  check(backend);
  guest->kernels.erase(&of(kernel));
}

}  // namespace

const void* find_extension(tenon_backend* backend, const char* id) {
  check(backend);
  static constexpr tenon_option initial{sizeof(tenon_option), TENON_OPTION_INT, "a", {}};
  static constexpr tenon_option_spec option_specs[] = {
      {sizeof(tenon_option_spec), TENON_OPTION_AT_RUNTIME, "an option", "ms", &initial, &initial,
       nullptr, nullptr, 0, 0}};
  static constexpr tenon_cancel_v1 cancel_table{sizeof cancel_table, 0, &cancel};
  static constexpr tenon_check_blob_v1 blobs{sizeof blobs, 0, &check_blob};
  static constexpr tenon_device_memory_v1 memory{
      sizeof memory, 0, &allocate, &free_block, &copy_to_device, &copy_to_host, &copy_on};
  static constexpr tenon_devices_v1 devices{sizeof devices, 0, &list_devices};
  static constexpr tenon_estimate_v1 estimates{sizeof estimates, 0, &estimate, &free_memory};
  static constexpr const char* memory_kinds[] = {TENON_KIND_DMA_BUF};
  static constexpr const char* fence_kinds[] = {TENON_KIND_EVENTFD};
  static constexpr tenon_external_memory_v1 external{
      sizeof external, 0,           1,          1, memory_kinds, fence_kinds, &import_memory,
      &release_memory, &pass_fence, &pass_fence};
  static constexpr tenon_intermediates_v1 intermediates{sizeof intermediates, 0,
                                                        &list_intermediates, &record};
  static constexpr tenon_kernels_v1 kernels{sizeof kernels, 0,           &list_operators,
                                            &create_kernel, &run_kernel, &destroy_kernel};
  static constexpr tenon_memory_info_v1 infos{sizeof infos, 0, &memory_info};
  static constexpr tenon_options_v1 options{sizeof options, 1, option_specs, &set_option,
                                            &get_option};
  static constexpr tenon_scheduling_v1 scheduling{sizeof scheduling, 0,       "priority",
                                                  nullptr,           "power", &set_scheduling};
  static constexpr tenon_sequence_v1 sequence{
      sizeof sequence, 0, &list_state, &read_state, &write_state, &state_written};
  static constexpr tenon_sessions_v1 sessions{sizeof sessions, 0, &create_session};
  static constexpr struct {
    std::string_view id;
    const void* table;
  } all[] = {{TENON_EXTENSION_CANCEL, &cancel_table},
             {TENON_EXTENSION_CHECK_BLOB, &blobs},
             {TENON_EXTENSION_DEVICE_MEMORY, &memory},
             {TENON_EXTENSION_DEVICES, &devices},
             {TENON_EXTENSION_ESTIMATE, &estimates},
             {TENON_EXTENSION_EXTERNAL_MEMORY, &external},
             {TENON_EXTENSION_INTERMEDIATES, &intermediates},
             {TENON_EXTENSION_KERNELS, &kernels},
             {TENON_EXTENSION_MEMORY_INFO, &infos},
             {TENON_EXTENSION_OPTIONS, &options},
             {TENON_EXTENSION_SCHEDULING, &scheduling},
             {TENON_EXTENSION_SEQUENCE, &sequence},
             {TENON_EXTENSION_SESSIONS, &sessions}};
  for (const auto& each : all) {
    // Now and then a plugin without it.
    if (each.id == id) return now().rarely() ? nullptr : each.table;
  }
  return nullptr;
}

}  // namespace tenon::fuzz
