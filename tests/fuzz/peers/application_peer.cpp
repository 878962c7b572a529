// SPDX-License-Identifier: MIT
#include "application_peer.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "fuzz/peers/damage.hpp"
#include "tenon/abi/tenon.h"

namespace tenon::fuzz {

using namespace isolated;

void ApplicationPeer::begin(LaneHeader& lane, ObjectPointer socket) noexcept {
  lane_ = &lane;
  socket_ = std::move(socket);
}

int ApplicationPeer::send(const ObjectPointer&, std::span<const std::byte>,
                          std::span<const ObjectPointer>) {
  return now().rarely() ? EPIPE : 0;
}

void ApplicationPeer::hang_up() {
  // A message that does not come.
  has_hung_up_ = true;
  socket_->is_shut = true;
  lane_->num_descriptors = 1;
  lane_->turn.store(static_cast<std::uint32_t>(Turn::worker));
}

void ApplicationPeer::wait(void*, std::int64_t) {
  if (has_hung_up_) return hang_up();
  const std::uint32_t kind = lane_->kind;
  const bool is_question = kind > static_cast<std::uint32_t>(Answer::done) &&
                           kind <= static_cast<std::uint32_t>(Answer::take_intermediate);
  if (is_question) return answer();
  if (!script_->next(*choices_)) return hang_up();
  call();
}

void ApplicationPeer::attach(std::uint64_t size) {
  const std::uint8_t what = now().byte();
  if (what >= 0xe0 && what < 0xe8) return;
  ObjectPointer file = std::make_shared<Object>();
  if (what < 0xe0 || what >= 0xf0) {
    file = System::make_file("from the application",
                             std::min<std::uint64_t>(what < 0xf8 ? size : now().number(), 1 << 20));
    file->seals = what < 0xf8 ? F_SEAL_SHRINK | F_SEAL_GROW : static_cast<int>(now().below(16));
  }
  static_cast<void>(file->data());
  descriptors_.push_back(std::move(file));
}

void ApplicationPeer::deliver(std::uint32_t kind, const Writer& message) {
  std::vector<std::byte> bytes(message.bytes().begin(), message.bytes().end());
  damage(bytes, now());
  std::vector<ObjectPointer> sent = std::move(descriptors_);
  descriptors_.clear();
  const std::uint8_t how = now().byte();
  bool is_attached = bytes.size() > lane_message_size;
  if (how >= 0xc0 && how < 0xd0) is_attached = true;
  std::uint64_t size = bytes.size();
  if (is_attached) {
    ObjectPointer file = System::make_file("a message", size);
    std::copy(bytes.begin(), bytes.end(), file->data());
    file->seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    sent.insert(sent.begin(), std::move(file));
  } else if (!bytes.empty()) {
    std::memcpy(reinterpret_cast<std::byte*>(lane_) + lane_message_offset, bytes.data(), size);
  }
  auto announced = static_cast<std::uint32_t>(sent.size());
  if (how >= 0xf0) {
    kind = static_cast<std::uint32_t>(now().number_or(kind));
    size = now().number_or(size);
    announced = static_cast<std::uint32_t>(now().number_or(announced));
    is_attached = is_attached != now().rarely();
    for (std::size_t more = now().below(6); more > 0; --more) {
      sent.push_back(std::make_shared<Object>());
    }
  }
  lane_->kind = kind;
  lane_->size = size;
  lane_->is_attached = is_attached ? 1 : 0;
  lane_->num_descriptors = announced;
  if (!sent.empty()) {
    if (const ObjectPointer other = socket_->other_end.lock()) {
      other->queue.push_back({{std::byte{}}, std::move(sent)});
    }
  }
  lane_->turn.store(static_cast<std::uint32_t>(Turn::worker));
}

void ApplicationPeer::call() {
  Writer to;
  Call kind{};
  if (!is_loaded_) {
    // The first step: a file, and then the backend that it has.
    kind = Call::add_file;
    to.put_text("/fuzz/plugin.so");
    attach(64);
    is_loaded_ = true;
    return deliver(static_cast<std::uint32_t>(kind), to);
  }
  static constexpr Call kinds[] = {Call::execute,
                                   Call::init,
                                   Call::execute,
                                   Call::load,
                                   Call::run_kernel,
                                   Call::execute,
                                   Call::create_kernel,
                                   Call::allocate,
                                   Call::import_memory,
                                   Call::create_session,
                                   Call::destroy,
                                   Call::record_intermediates,
                                   Call::list_state,
                                   Call::read_state,
                                   Call::write_state,
                                   Call::state_written,
                                   Call::check_blob,
                                   Call::estimate,
                                   Call::memory_info,
                                   Call::list_devices,
                                   Call::set_option,
                                   Call::get_option,
                                   Call::free_memory,
                                   Call::cancel,
                                   Call::set_scheduling,
                                   Call::list_operators,
                                   Call::destroy_kernel,
                                   Call::copy_to_device,
                                   Call::copy_to_host,
                                   Call::copy_on,
                                   Call::release_memory,
                                   Call::free_block,
                                   Call::wait_fence,
                                   Call::signal_fence,
                                   Call::list_intermediates,
                                   Call::is_available,
                                   Call::add_file,
                                   Call::close};
  kind = kinds[now().below(std::size(kinds))];
  put_call(kind, to);
  lane_->cancel_flag.store(now().byte());
  deliver(static_cast<std::uint32_t>(kind), to);
}

std::uint64_t ApplicationPeer::delegate() { return now().number_or(1) % 0xff; }
std::uint64_t ApplicationPeer::memory() { return now().number_or(1); }

void ApplicationPeer::put_call(Call kind, Writer& to) {
  switch (kind) {
    case Call::load:
      to.put_text("fuzz");
      to.put<std::uint16_t>(static_cast<std::uint16_t>(now().number_or(TENON_ABI_MINOR)));
      to.put<std::uint32_t>(static_cast<std::uint32_t>(now().number_or(0xf)));
      to.put_text("/fuzz/plugin.so");
      to.put<std::uint32_t>(now().rarely() ? 1 : 0);
      return;
    case Call::add_file:
      put_text(to, now());
      return attach(64);
    case Call::init:
    case Call::check_blob:
    case Call::estimate:
      return put_init(to);
    case Call::execute: {
      to.put(delegate());
      const std::size_t at = to.size();
      to.put<std::uint64_t>(0);
      put_before(to);
      put_arguments(to);
      if (place_ > arena_size_ || now().rarely()) {
        arena_size_ = std::max<std::uint64_t>((place_ + 4095) / 4096 * 4096, 4096);
        attach(arena_size_);
        to.put_at<std::uint64_t>(at, now().number_or(arena_size_));
      }
      return;
    }
    case Call::create_kernel:
    case Call::run_kernel: {
      to.put<std::uint64_t>(now().number_or(1));
      if (kind == Call::create_kernel) put_text(to, now());
      if (kind == Call::run_kernel) put_before(to);
      const std::size_t at = to.size();
      to.put<std::uint64_t>(0);
      put_arguments(to);
      if (kind == Call::create_kernel || now().rarely()) {
        const std::uint64_t size = std::max<std::uint64_t>((place_ + 4095) / 4096 * 4096, 4096);
        attach(size);
        to.put_at<std::uint64_t>(at, now().number_or(size));
      }
      return;
    }
    case Call::create_session:
      to.put(delegate());
      to.put<std::uint64_t>(now().number_or(2));
      to.put<std::uint64_t>(now().rarely() ? delegate() : 0);
      to.put<std::uint8_t>(now().byte() & 1);
      to.put(tenon_scheduling{sizeof(tenon_scheduling), now().byte(), 1, 1});
      if (now().often()) return to.put<std::uint64_t>(0);
      to.put<std::uint64_t>(now().number_or(1));
      return put_option(to);
    case Call::set_option:
      return put_option(to);
    case Call::get_option:
      return put_text(to, now());
    case Call::free_memory:
      to.put(tenon_dl_device{TENON_DL_CPU, 0});
      return;
    case Call::set_scheduling:
      to.put(delegate());
      to.put(tenon_scheduling{sizeof(tenon_scheduling), now().byte(), 1, 1});
      return;
    case Call::read_state:
      to.put(delegate());
      to.put<std::uint64_t>(now().number());
      to.put<std::uint64_t>(now().number_or(0));
      to.put<std::uint64_t>(now().number_or(16));
      return;
    case Call::write_state: {
      to.put(delegate());
      to.put<std::uint64_t>(now().number());
      to.put<std::uint64_t>(now().number_or(0));
      const std::vector<std::byte> bytes(
          static_cast<std::size_t>(std::min<std::uint64_t>(now().number_or(16), 100'000)));
      return to.put_bytes(bytes.data(), bytes.size());
    }
    case Call::record_intermediates: {
      to.put(delegate());
      const std::size_t count = 1 + now().below(3);
      to.put<std::uint64_t>(count);
      for (std::size_t i = 0; i < count; ++i) to.put<std::uint64_t>(now().number_or(5));
      return;
    }
    case Call::allocate:
      to.put(memory());
      to.put(tenon_dl_device{4, 0});
      to.put<std::uint64_t>(now().number_or(256));
      to.put<std::uint64_t>(now().number_or(64));
      return;
    case Call::copy_to_device: {
      to.put(memory());
      to.put<std::uint64_t>(now().number());
      const std::vector<std::byte> bytes(now().byte());
      return to.put_bytes(bytes.data(), bytes.size());
    }
    case Call::copy_to_host:
    case Call::copy_on:
      to.put(memory());
      to.put<std::uint64_t>(now().number());
      if (kind == Call::copy_on) {
        to.put(memory());
        to.put<std::uint64_t>(now().number());
      }
      to.put<std::uint64_t>(now().number_or(64));
      return;
    case Call::import_memory: {
      to.put(now().number_or(2));
      to.put(static_cast<std::uint32_t>(now().below(5)));
      tenon_external_memory memory{};
      memory.struct_size = sizeof memory;
      memory.descriptor = -1;
      memory.offset = now().number_or(0);
      memory.nbytes = now().number_or(256);
      memory.access = 1 + static_cast<std::uint32_t>(now().below(3));
      memory.device = {now().often() ? 4 : TENON_DL_CPU, 0};
      to.put_bytes(&memory, sizeof memory);
      return attach(4096);
    }
    case Call::free_block:
    case Call::release_memory:
      to.put(memory());
      return;
    case Call::destroy_kernel:
      to.put<std::uint64_t>(now().number_or(1));
      return;
    case Call::wait_fence:
    case Call::signal_fence:
      to.put(delegate());
      to.put<std::uint32_t>(static_cast<std::uint32_t>(now().below(4)));
      to.put<std::uint64_t>(now().number());
      return attach(8);
    case Call::memory_info:
    case Call::cancel:
    case Call::destroy:
    case Call::list_state:
    case Call::state_written:
    case Call::list_intermediates:
      to.put(delegate());
      return;
    default:
      return;
  }
}

void ApplicationPeer::put_option(Writer& to) {
  to.put_text("a");
  const std::uint32_t type = 1 + static_cast<std::uint32_t>(now().below(7));
  to.put(type);
  if (type == TENON_OPTION_STRING || type == TENON_OPTION_BYTES) {
    put_text(to, now());
  } else {
    to.put<std::uint64_t>(now().number());
  }
}

void ApplicationPeer::put_pool(Writer& to) {
  // None, one of the calling thread alone, or more than there can be: threads take longer than a
  // run.
  const std::uint8_t what = now().byte();
  to.put<std::uint32_t>(what < 0xc0 ? 0 : what < 0xf0 ? 1 : 0xffffff00u);
  const std::size_t count = now().below(3);
  to.put<std::uint64_t>(count);
  for (std::size_t i = 0; i < count; ++i) to.put<std::uint32_t>(0);
}

void ApplicationPeer::put_init(Writer& to) {
  to.put<std::uint64_t>(now().number_or(1));
  put_name(to, now());
  const std::uint64_t size = now().number_or(8);
  to.put(size);
  if (size != 0) attach(size);
  const std::size_t num_specs = now().below(3);
  to.put<std::uint64_t>(num_specs);
  for (std::size_t i = 0; i < num_specs; ++i) {
    put_text(to, now());
    put_name(to, now());
  }
  const std::size_t num_options = now().below(3);
  to.put<std::uint64_t>(num_options);
  for (std::size_t i = 0; i < num_options; ++i) put_option(to);
  to.put<std::uint8_t>(!now().often());  // Data by name.
  to.put<std::uint32_t>(static_cast<std::uint32_t>(now().number_or(1)));
  to.put<std::uint8_t>(now().rarely());
  to.put<std::uint8_t>(now().often());
  to.put<std::uint64_t>(now().number());
  to.put<std::uint8_t>(!now().often());
  to.put<std::uint8_t>(now().often());
  to.put(tenon_scheduling{});
  put_pool(to);
}

void ApplicationPeer::put_before(Writer& to) {
  WireCall call{};
  const std::uint8_t what = now().byte();
  call.has_tracer = what >= 0xe0;
  call.has_counters = what & 1;
  call.has_flag = what >> 1 & 1;
  call.has_changes = what >> 2 & 1;
  const std::uint8_t pool = now().byte();
  call.num_threads = pool < 0xc0 ? 0 : pool < 0xf0 ? 1 : 0xffffff00u;
  call.num_processors = pool < 0xe0 ? 0 : now().number();
  call.changes = now().byte();
  to.put(call);
}

void ApplicationPeer::put_arguments(Writer& to) {
  place_ = 0;
  to.put<std::uint64_t>(now().number_or(1));  // Of the list.
  const std::size_t count = 1 + now().below(5);
  to.put<std::uint64_t>(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t what = now().byte();
    if (what >= 0xf8) {
      to.put(no_value);
    } else if (what >= 0xf0) {
      to.put(same_value);
      to.put<std::uint32_t>(static_cast<std::uint32_t>(now().number()));
    } else {
      put_value(what < 0x90 ? std::uint32_t{TENON_VALUE_TENSOR} : what % 14u, to, 0);
    }
  }
}

void ApplicationPeer::put_value(std::uint32_t kind, Writer& to, int depth) {
  to.put(kind);
  switch (kind) {
    case TENON_VALUE_TENSOR:
      return put_tensor(to);
    case TENON_VALUE_STRING:
    case TENON_VALUE_BOOL_LIST:
      return put_text(to, now());
    case TENON_VALUE_DOUBLE_LIST: {
      const std::size_t count = now().below(4);
      to.put<std::uint64_t>(count);
      for (std::size_t i = 0; i < count; ++i) to.put(1.5);
      return;
    }
    case TENON_VALUE_INT_LIST:
    case TENON_VALUE_TENSOR_LIST:
    case TENON_VALUE_SCALAR_LIST:
    case TENON_VALUE_OPTIONAL_TENSOR_LIST: {
      const std::size_t count = depth < 3 ? now().below(4) : 0;
      to.put<std::uint64_t>(count);
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint8_t what = now().byte();
        put_value(what < 0xe0 ? std::uint32_t{TENON_VALUE_INT} : what % 12u, to, depth + 1);
      }
      return;
    }
    default:
      return to.put<std::uint64_t>(now().number());
  }
}

void ApplicationPeer::put_tensor(Writer& to) {
  const std::uint8_t what = now().byte();
  to.put<std::uint8_t>(what < 0xf8);
  if (what >= 0xf8) return;
  WireTensor wire{};
  wire.scalar_type = static_cast<std::int32_t>(now().number_or(6));
  static constexpr std::size_t ranks[] = {2, 1, 0, 3};
  const std::size_t rank = ranks[what % 4];
  wire.ndim = static_cast<std::int32_t>(rank);
  wire.dtype = {TENON_DL_FLOAT, 32, 1};
  wire.shape_dynamism = what >> 2 & 1;
  wire.flags = what >> 3 & 1;
  wire.has_data = what < 0xe0;
  wire.device = {what >= 0xc0 ? 4 : TENON_DL_CPU, 0};
  const auto size = static_cast<std::int64_t>(1 + now().below(4));
  wire.nbytes = 4;
  for (std::size_t i = 0; i < rank; ++i) wire.nbytes *= static_cast<std::uint64_t>(size);
  const std::uint64_t nbytes = wire.nbytes;
  wire.nbytes = now().number_or(wire.nbytes);
  wire.capacity = now().number_or(wire.nbytes);
  wire.memory = what >= 0xc0 ? memory() : 0;
  wire.place = now().number_or(wire.memory == 0 ? place_ : 0);
  place_ += (nbytes + 63) / 64 * 64;
  to.put(wire);
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    to.put<std::int64_t>(
        static_cast<std::int64_t>(now().number_or(static_cast<std::uint64_t>(size))));
  }
  for (std::size_t i = 0; i < rank; ++i, stride *= size) to.put(stride);
  for (std::size_t i = 0; i < rank; ++i) {
    to.put<std::int64_t>(
        static_cast<std::int64_t>(now().number_or(static_cast<std::uint64_t>(size))));
  }
  for (std::size_t i = 0; i < rank; ++i) {
    to.put(static_cast<std::uint8_t>(now().number_or(i)));
  }
}

void ApplicationPeer::answer() {
  const auto question = static_cast<Answer>(lane_->kind);
  Writer to;
  const std::uint8_t status = now().byte();
  if (question != Answer::log) {
    to.put<tenon_status>(status < 0xd0 ? TENON_STATUS_OK
                                       : static_cast<tenon_status>(now().number()));
  }
  switch (question) {
    case Answer::get_data: {
      const std::uint64_t size = now().number_or(10);
      to.put(size);
      attach(size);
      break;
    }
    case Answer::get_tensor_layout: {
      to.put<std::int32_t>(0);
      const std::size_t rank = now().below(5);
      to.put<std::uint64_t>(rank);
      for (std::size_t i = 0; i < rank; ++i) to.put<std::int64_t>(now().byte());
      for (std::size_t i = 0; i < rank; ++i) to.put<std::uint8_t>(now().byte());
      break;
    }
    case Answer::get_key:
      put_text(to, now());
      break;
    case Answer::open_prepared: {
      to.put<std::uint64_t>(now().number());
      const std::uint64_t size = now().number();
      to.put(size);
      if (size != 0) attach(size);
      break;
    }
    default:
      break;
  }
  deliver(answered, to);
}

}  // namespace tenon::fuzz
