// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "boundary/descriptors.hpp"
#include "boundary/lane.hpp"
#include "boundary/messages.hpp"
#include "boundary/protocol.hpp"
#include "tenon/abi/tenon.h"

namespace tenon::test {

/// The worker's end of a lane in a worker that runs no plugin, and answers each call as a plugin
/// with all extensions.
class TestLane {
 public:
  TestLane(isolated::Mapping shared, host::FileDescriptor socket)
      : shared_(std::move(shared)), socket_(std::move(socket)) {}

 protected:
  [[nodiscard]] isolated::LaneHeader& header() const noexcept {
    return *reinterpret_cast<isolated::LaneHeader*>(shared_.data());
  }
  [[nodiscard]] std::byte* message() const noexcept {
    return shared_.data() + isolated::lane_message_offset;
  }
  [[nodiscard]] int socket() const noexcept { return socket_.get(); }

  void wait() const {
    while (!wait_for_turn(header().turn, isolated::Turn::worker, header().worker_sleeps, -1,
                          nullptr)) {
    }
  }
  void give() const {
    give_turn(header().turn, isolated::Turn::application, header().application_sleeps);
  }
  void take_descriptors() const {
    if (header().num_descriptors == 0) return;
    std::byte byte{};
    static_cast<void>(isolated::receive_message(socket_.get(), {&byte, 1}, MSG_DONTWAIT));
  }
  void send(isolated::Answer kind, const isolated::Writer& what) const {
    header().kind = static_cast<std::uint32_t>(kind);
    header().size = what.size();
    header().is_attached = 0;
    header().num_descriptors = 0;
    if (what.size() != 0) {
      std::memcpy(message(), what.bytes().data(),
                  std::min(what.size(), isolated::lane_message_size));
    }
    give();
  }
  /// Sends a message with a file, which may be the message.
  void send(isolated::Answer kind, const isolated::Writer& what, int file,
            std::uint64_t attached = 0) const {
    const std::byte byte{};
    static_cast<void>(isolated::send_message(socket_.get(), {&byte, 1}, {&file, 1}));
    header().kind = static_cast<std::uint32_t>(kind);
    header().size = attached != 0 ? attached : what.size();
    header().is_attached = attached != 0;
    header().num_descriptors = 1;
    if (what.size() != 0) std::memcpy(message(), what.bytes().data(), what.size());
    give();
  }
  /// Asks, and waits for the answer; its status.
  tenon_status ask(isolated::Answer question, const isolated::Writer& what, int file = -1) const {
    file < 0 ? send(question, what) : send(question, what, file);
    wait();
    take_descriptors();
    tenon_status out = 0;
    if (header().size >= sizeof out) std::memcpy(&out, message(), sizeof out);
    return out;
  }

  static isolated::Writer answer_to(isolated::Call kind) {
    isolated::Writer to;
    to.put<tenon_status>(TENON_STATUS_OK);
    to.put_text("");
    to.put<std::uint64_t>(0);
    switch (kind) {
      case isolated::Call::load:
        to.put<std::uint32_t>((1u << 16) - 1);
        for (int i = 0; i < 3; ++i) to.put_name("hint");
        to.put<std::uint64_t>(UINT64_MAX);
        to.put<std::uint64_t>(UINT64_MAX);
        to.put<std::uint64_t>(1);
        to.put<std::uint32_t>(TENON_OPTION_AT_RUNTIME);
        to.put_name("an option");
        to.put_name("ms");
        put_option(to);
        to.put<std::uint8_t>(1);
        put_option(to);
        to.put<std::uint8_t>(0);
        to.put<std::uint64_t>(0);
        break;
      case isolated::Call::execute:
      case isolated::Call::run_kernel:
        to.put<std::uint64_t>(3);
        for (int i = 0; i < 3; ++i) to.put<std::uint8_t>(0);
        to.put<std::uint64_t>(0);
        break;
      case isolated::Call::check_blob:
        to.put<std::uint32_t>(0);
        break;
      case isolated::Call::memory_info:
      case isolated::Call::estimate:
        to.put<std::uint8_t>(1);
        to.put(tenon_dl_device{TENON_DL_CPU, 0});
        to.put<std::uint64_t>(64);
        to.put_name(TENON_MEMORY_WEIGHTS);
        to.put<std::uint8_t>(0);
        break;
      case isolated::Call::get_option:
        put_option(to);
        break;
      case isolated::Call::free_memory:
        to.put<std::uint64_t>(7);
        break;
      case isolated::Call::list_devices:
        to.put<std::uint8_t>(1);
        to.put(tenon_dl_device{4, 0});
        to.put_name("device");
        to.put_name(nullptr);
        to.put<std::uint64_t>(0);
        to.put<std::uint8_t>(0);
        break;
      case isolated::Call::list_state:
        to.put<std::uint64_t>(2);
        for (const char* each : {"one", "two"}) {
          to.put_text(each);
          to.put<std::uint64_t>(16);
        }
        break;
      case isolated::Call::read_state:
        to.put_bytes("0123456789abcdef", 16);
        break;
      case isolated::Call::copy_to_host:
        to.put_bytes("0123456789abcdef", 16);
        break;
      case isolated::Call::list_operators:
        to.put<std::uint8_t>(1);
        to.put_text("aten::add.out");
        to.put<std::uint8_t>(0);
        break;
      case isolated::Call::list_intermediates:
        to.put<std::uint8_t>(1);
        to.put<std::int64_t>(5);
        to.put_text("Conv2d");
        to.put<std::uint8_t>(0);
        break;
      default:
        break;
    }
    return to;
  }
  static void put_option(isolated::Writer& to) {
    to.put_text("a");
    to.put<std::uint32_t>(TENON_OPTION_INT);
    to.put<std::int64_t>(3);
  }

 private:
  isolated::Mapping shared_;
  host::FileDescriptor socket_;
};

/// Serves each lane that the application makes: `make` gets its memory, its socket and the file of
/// the memory.
template <class Make>
int serve_lanes(int socket, const Make& make) {
  for (;;) {
    isolated::NewLane request{};
    isolated::Received received =
        isolated::receive_message(socket, std::as_writable_bytes(std::span(&request, 1)), 0);
    if (received.size <= 0) return EXIT_SUCCESS;
    if (received.descriptors.size() != 2) return EXIT_FAILURE;
    auto shared = isolated::Mapping::of(received.descriptors[0].get(), isolated::lane_size, true);
    if (!shared.ok()) return EXIT_FAILURE;
    auto* const lane = make(*std::move(shared), std::move(received.descriptors[1]),
                            std::move(received.descriptors[0]));
    std::thread([lane] { lane->run(); }).detach();
  }
}

}  // namespace tenon::test
