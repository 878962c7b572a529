// SPDX-License-Identifier: MIT
#include "worker_peer.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "fuzz/peers/damage.hpp"
#include "tenon/abi/tenon.h"

namespace tenon::fuzz {

using namespace isolated;

WorkerPeer::Started WorkerPeer::start() {
  auto supervisor = System::make_sockets();
  auto service = System::make_sockets();
  auto itself = std::make_shared<Object>();
  processes_.push_back(
      std::make_unique<Process>(Process{supervisor.second, service.second, itself, false, {}}));
  return {system_->open(supervisor.first), system_->open(service.first), system_->open(itself)};
}

WorkerPeer::Lane* WorkerPeer::find(const void* word, Process*& process) {
  for (const auto& each : processes_) {
    const auto found = each->lanes.find(word);
    if (found == each->lanes.end()) continue;
    process = each.get();
    return &found->second;
  }
  return nullptr;
}

int WorkerPeer::send(const ObjectPointer& from, std::span<const std::byte>,
                     std::span<const ObjectPointer> descriptors) {
  const ObjectPointer end = from->other_end.lock();
  for (const auto& process : processes_) {
    if (end == process->service) {
      if (process->has_ended) return EPIPE;
      if (now().byte() >= 0xf8) return EAGAIN;
      if (descriptors.size() != 2) return 0;
      Lane lane;
      lane.header = reinterpret_cast<LaneHeader*>(descriptors[0]->data());
      lane.file = descriptors[0];
      lane.socket = descriptors[1];
      process->lanes[&lane.header->turn] = std::move(lane);
      return 0;
    }
    for (auto& [word, lane] : process->lanes) {
      if (end != lane.socket) continue;
      if (process->has_ended) return EPIPE;
      for (const ObjectPointer& each : descriptors) {
        if (each->name == "tenon-arguments") lane.arena = each;
      }
      const std::uint8_t what = now().byte();
      if (what < 0xf8) return 0;
      static constexpr int reasons[] = {EPIPE, EAGAIN, ETOOMANYREFS, ECONNRESET};
      return reasons[now().below(std::size(reasons))];
    }
  }
  return EPIPE;
}

void WorkerPeer::end(Process& process) {
  if (std::exchange(process.has_ended, true)) return;
  const std::uint8_t how = now().byte();
  if (how >= 0xf0) {
    process.supervisor->is_shut = true;  // Without a report.
    return;
  }
  Ending ending{};
  ending.code = static_cast<std::int32_t>(how == 0 ? 1 : now().number());
  ending.status = static_cast<std::int32_t>(now().number());
  ending.text_size = static_cast<std::uint32_t>(now().number());
  ending.refusals_size = static_cast<std::uint32_t>(now().number());
  std::vector<std::byte> bytes(sizeof ending);
  std::memcpy(bytes.data(), &ending, sizeof ending);
  if (now().rarely()) bytes.resize(now().below(32));
  process.supervisor->is_shut = true;
  if (const ObjectPointer other = process.supervisor->other_end.lock()) {
    other->queue.push_back({std::move(bytes), {}});
  }
}

void WorkerPeer::ask(const ObjectPointer& socket) {
  for (const auto& process : processes_) {
    if (socket != process->itself && socket->other_end.lock() != process->supervisor) continue;
    // The application has closed its half of the connection, or waits for the end.
    const bool is_told = socket == process->itself || socket->is_shut;
    if (is_told) end(*process);
    if (socket == process->itself && socket->queue.empty()) socket->queue.emplace_back();
  }
}

void WorkerPeer::kill() {
  for (const auto& process : processes_) end(*process);
}

void WorkerPeer::wait(void* word, std::int64_t limit_ns) {
  Process* process = nullptr;
  Lane* const lane = find(word, process);
  if (!lane || process->has_ended) {
    system_->advance(std::max<std::int64_t>(limit_ns, 0));
    return;
  }
  if (lane->header->kind != answered) {
    lane->call = lane->header->kind;
  }
  const std::uint8_t what = now().byte();
  if (what < 0xa0) return answer(*lane);
  if (what < 0xe8) return question(*lane);
  switch (what) {
    case 0xe8:
    case 0xe9:
    case 0xea:
      // It computes.
      system_->advance(std::max<std::int64_t>(limit_ns, 0));
      return;
    case 0xeb:
      lane->header->turn.store(static_cast<std::uint32_t>(now().number()));
      return;
    case 0xec:
      write_crash(*lane);
      return end(*process);
    case 0xed:
      return end(*process);
    case 0xee:
      lane->header->application_sleeps.store(now().byte());
      lane->header->worker_sleeps.store(now().byte());
      lane->header->cancel_flag.store(now().byte());
      return answer(*lane);
    case 0xef:
      write_crash(*lane);
      return answer(*lane);
    default: {
      const auto kind = static_cast<std::uint32_t>(now().number_or(101));
      const auto bytes = now().take(now().byte());
      return deliver(*lane, kind, {bytes.begin(), bytes.end()}, {});
    }
  }
}

void WorkerPeer::write_crash(Lane& lane) {
  Crash& crash = lane.header->crash;
  crash.code = static_cast<std::int32_t>(now().number());
  crash.address = now().number();
  crash.system_call = static_cast<std::int32_t>(now().number());
  crash.thread = static_cast<std::int32_t>(now().number());
  std::memset(crash.thread_name, now().byte(), sizeof crash.thread_name);
  crash.signal = static_cast<std::uint32_t>(now().number());
}

ObjectPointer WorkerPeer::descriptor_of(std::span<const std::byte> bytes) {
  const std::uint8_t what = now().byte();
  if (what >= 0xe0 && what < 0xe8) return std::make_shared<Object>();
  if (what >= 0xe8 && what < 0xf0) return System::make_sockets().first;
  std::uint64_t size = bytes.size();
  if (what >= 0xf8) size = now().number();
  ObjectPointer out = System::make_file("from the worker", size);
  // A file of another size may have no bytes at all.
  std::byte* const to = size == bytes.size() || what % 2 == 0 ? out->data() : nullptr;
  if (to) std::copy_n(bytes.begin(), std::min<std::uint64_t>(size, bytes.size()), to);
  out->seals = what < 0xf0 ? F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL : 0;
  return out;
}

void WorkerPeer::turn(Lane& lane, std::uint32_t kind, const Writer& message) {
  std::vector<std::byte> bytes(message.bytes().begin(), message.bytes().end());
  damage(bytes, now());
  deliver(lane, kind, std::move(bytes), {});
}

void WorkerPeer::deliver(Lane& lane, std::uint32_t kind, std::vector<std::byte> bytes,
                         std::vector<ObjectPointer> descriptors) {
  LaneHeader& header = *lane.header;
  const std::uint8_t how = now().byte();
  bool is_attached = bytes.size() > lane_message_size;
  if (how >= 0xc0 && how < 0xd0) is_attached = !is_attached;
  std::uint64_t size = bytes.size();
  if (is_attached) {
    descriptors.insert(descriptors.begin(), descriptor_of(bytes));
  } else {
    std::copy_n(bytes.begin(), std::min(bytes.size(), lane_message_size),
                reinterpret_cast<std::byte*>(lane.header) + lane_message_offset);
  }
  auto announced = static_cast<std::uint32_t>(descriptors.size());
  if (how >= 0xd0) {
    kind = static_cast<std::uint32_t>(now().number_or(kind));
    size = now().number_or(size);
    announced = static_cast<std::uint32_t>(now().number_or(announced));
    for (std::size_t more = now().below(6); more > 0; --more) {
      descriptors.push_back(descriptor_of({}));
    }
    if (now().rarely()) descriptors.clear();
  }
  header.kind = kind;
  header.size = size;
  header.is_attached = is_attached ? 1 : 0;
  header.num_descriptors = announced;
  if (!descriptors.empty()) {
    if (const ObjectPointer other = lane.socket->other_end.lock()) {
      other->queue.push_back({{std::byte{}}, std::move(descriptors)});
    }
  }
  header.turn.store(static_cast<std::uint32_t>(Turn::application));
}

void WorkerPeer::put_option(Writer& to) {
  to.put_text("a");
  static constexpr std::uint32_t types[] = {TENON_OPTION_INT,    TENON_OPTION_BOOL,
                                            TENON_OPTION_DOUBLE, TENON_OPTION_STRING,
                                            TENON_OPTION_BYTES,  77};
  const std::uint32_t type = types[now().below(std::size(types))];
  to.put(type);
  if (type == TENON_OPTION_STRING || type == TENON_OPTION_BYTES) {
    put_text(to, now());
  } else {
    to.put(now().number());
  }
}

void WorkerPeer::put_description(Writer& to) {
  to.put(static_cast<std::uint32_t>(now().number_or(UINT32_MAX)));
  for (int i = 0; i < 3; ++i) put_name(to, now());
  to.put<std::uint64_t>(now().number_or(UINT64_MAX));
  to.put<std::uint64_t>(now().number_or(UINT64_MAX));
  const std::size_t count = 1 + now().below(3);
  to.put<std::uint64_t>(count);
  for (std::size_t i = 0; i < count; ++i) {
    to.put<std::uint32_t>(TENON_OPTION_AT_RUNTIME);
    put_name(to, now());
    put_name(to, now());
    put_option(to);
    for (int limit = 0; limit < 2; ++limit) {
      const bool is_there = now().rarely();
      to.put<std::uint8_t>(is_there);
      if (is_there) put_option(to);
    }
    const std::size_t num_choices = now().rarely() ? now().below(3) : 0;
    to.put<std::uint64_t>(num_choices);
    for (std::size_t c = 0; c < num_choices; ++c) put_text(to, now());
  }
}

void WorkerPeer::put_changes(Lane& lane, Writer& to) {
  write_outputs(lane);
  to.put<std::uint64_t>(arguments_.ranks.size());
  for (const std::size_t rank : arguments_.ranks) {
    const std::uint8_t what = now().byte();
    const auto changes = static_cast<std::uint8_t>(what < 0xa0 ? 0 : what % 4);
    to.put(changes);
    if ((changes & tensor_is_resized) != 0) {
      for (std::size_t i = 0; i < rank; ++i) to.put<std::uint64_t>(now().number());
    }
    if ((changes & tensor_is_view) != 0) {
      to.put<std::uint64_t>(now().number());
      to.put<std::uint64_t>(now().number());
    }
  }
  to.put<std::uint64_t>(arguments_.num_numbers);
  for (std::size_t i = 0; i < arguments_.num_numbers; ++i) to.put<std::uint64_t>(now().number());
}

void WorkerPeer::write_outputs(Lane& lane) {
  if (!lane.arena || lane.arena->size == 0) return;
  std::byte* const bytes = lane.arena->data();
  for (std::size_t count = now().below(4); count > 0; --count) {
    const auto at = static_cast<std::size_t>((now().byte() * 4u) % lane.arena->size);
    const auto size = std::min<std::size_t>(now().byte(), lane.arena->size - at);
    std::memset(bytes + at, now().byte(), size);
  }
}

void WorkerPeer::put_answer(Lane& lane, Writer& to) {
  const std::uint8_t status = now().byte();
  to.put<tenon_status>(status < 0xe0 ? TENON_STATUS_OK : static_cast<tenon_status>(now().number()));
  put_text(to, now());
  const std::size_t num_events = now().rarely() ? now().below(4) : 0;
  to.put<std::uint64_t>(num_events);
  for (std::size_t i = 0; i < num_events; ++i) {
    const bool is_counter = now().often();
    to.put<std::uint8_t>(is_counter);
    put_text(to, now());
    if (is_counter) put_text(to, now());
    for (int k = 0; k < (is_counter ? 2 : 3); ++k) to.put<std::uint64_t>(now().number());
    if (!is_counter) put_text(to, now());
  }
  switch (static_cast<Call>(lane.call)) {
    case Call::load:
      return put_description(to);
    case Call::execute:
    case Call::run_kernel:
      return put_changes(lane, to);
    case Call::check_blob:
      return to.put(static_cast<std::uint32_t>(now().number()));
    case Call::memory_info:
    case Call::estimate:
      for (std::size_t count = 1 + now().below(3); count > 0; --count) {
        to.put<std::uint8_t>(1);
        to.put(tenon_dl_device{TENON_DL_CPU, 0});
        to.put<std::uint64_t>(now().number());
        put_name(to, now());
      }
      return to.put<std::uint8_t>(0);
    case Call::get_option:
      return put_option(to);
    case Call::free_memory:
      return to.put<std::uint64_t>(now().number());
    case Call::list_devices:
      for (std::size_t count = 1 + now().below(3); count > 0; --count) {
        to.put<std::uint8_t>(1);
        to.put(tenon_dl_device{4, 0});
        put_name(to, now());
        put_name(to, now());
        to.put<std::uint64_t>(now().number());
      }
      return to.put<std::uint8_t>(0);
    case Call::list_state: {
      state_sizes_.resize(now().often() ? now().below(5) : 2, 16);
      to.put<std::uint64_t>(state_sizes_.size());
      for (std::uint64_t& each : state_sizes_) {
        if (now().rarely()) each = now().number();
        put_text(to, now());
        to.put(each);
      }
      return;
    }
    case Call::read_state: {
      const std::uint64_t listed = state_sizes_.empty() ? 0 : state_sizes_.front();
      const std::vector<std::byte> bytes(
          static_cast<std::size_t>(std::min<std::uint64_t>(now().number_or(listed), 200'000)));
      return to.put_bytes(bytes.data(), bytes.size());
    }
    case Call::copy_to_host: {
      std::uint64_t wanted = 0;
      if (lane.header->size >= sizeof wanted && lane.header->size <= lane_message_size) {
        std::memcpy(&wanted,
                    reinterpret_cast<std::byte*>(lane.header) + lane_message_offset +
                        lane.header->size - sizeof wanted,
                    sizeof wanted);
      }
      const std::vector<std::byte> bytes(
          static_cast<std::size_t>(std::min<std::uint64_t>(now().number_or(wanted), 200'000)));
      return to.put_bytes(bytes.data(), bytes.size());
    }
    case Call::list_operators:
      for (std::size_t count = 1 + now().below(3); count > 0; --count) {
        to.put<std::uint8_t>(1);
        put_text(to, now());
      }
      return to.put<std::uint8_t>(0);
    case Call::list_intermediates:
      for (std::size_t count = 1 + now().below(3); count > 0; --count) {
        to.put<std::uint8_t>(1);
        to.put<std::uint64_t>(now().number_or(5));
        put_text(to, now());
      }
      return to.put<std::uint8_t>(0);
    default:
      return;
  }
}

void WorkerPeer::answer(Lane& lane) {
  Writer to;
  put_answer(lane, to);
  turn(lane, static_cast<std::uint32_t>(Answer::done), to);
}

void WorkerPeer::put_tensor(Writer& to) {
  to.put<std::uint32_t>(static_cast<std::uint32_t>(now().number_or(6)));
  const std::size_t rank = now().below(5);
  to.put<std::uint64_t>(rank);
  std::uint64_t nbytes = 4;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::uint64_t size = now().number();
    to.put(size);
    if (__builtin_mul_overflow(nbytes, size, &nbytes)) nbytes = 0;
  }
  for (std::size_t i = 0; i < rank; ++i) {
    to.put(static_cast<std::uint8_t>(now().number_or(i)));
  }
  const std::vector<std::byte> bytes(
      static_cast<std::size_t>(std::min<std::uint64_t>(now().number_or(nbytes), 100'000)));
  to.put_bytes(bytes.data(), bytes.size());
}

void WorkerPeer::question(Lane& lane) {
  const auto kind = static_cast<Answer>(102 + now().below(9));
  Writer to;
  std::vector<ObjectPointer> descriptors;
  const auto attach = [&] {
    const std::vector<std::byte> bytes(now().byte());
    descriptors.push_back(descriptor_of(bytes));
    to.put<std::uint64_t>(now().number_or(bytes.size()));
  };
  switch (kind) {
    case Answer::log:
      to.put(static_cast<std::int32_t>(now().number()));
      put_text(to, now());
      break;
    case Answer::permit_code:
      attach();
      break;
    case Answer::get_data:
    case Answer::get_tensor_layout:
      to.put_text("weight");
      break;
    case Answer::get_key:
      to.put(static_cast<std::uint32_t>(now().number()));
      break;
    case Answer::open_prepared:
      put_text(to, now());
      break;
    case Answer::store_prepared:
      to.put<std::uint64_t>(now().number());
      attach();
      break;
    case Answer::release_prepared:
      to.put<std::uint64_t>(now().number());
      break;
    default:
      to.put<std::uint64_t>(now().number_or(5));
      put_tensor(to);
  }
  std::vector<std::byte> bytes(to.bytes().begin(), to.bytes().end());
  damage(bytes, now());
  deliver(lane, static_cast<std::uint32_t>(kind), std::move(bytes), std::move(descriptors));
}

}  // namespace tenon::fuzz
