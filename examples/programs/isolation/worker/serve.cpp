// SPDX-License-Identifier: MIT
#include "serve.hpp"

#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "boundary/descriptors.hpp"
#include "boundary/lane.hpp"
#include "boundary/protocol.hpp"
#include "crash_handler.hpp"
#include "guest_plugin.hpp"
#include "serve_call.hpp"
#include "tenon/core/sanitizer.hpp"
#include "worker_lane.hpp"

namespace tenon::isolated {
namespace {

/// Number of calls that have ended, for the thread sanitizer alone: it does not see that a call
/// which begins after another one has ended is ordered by the application, in another process.
std::atomic<std::uint64_t> num_ended_calls = 0;

/// The thread of one lane: from here the plugin is called.
void run(GuestPlugin& plugin, Lanes& lanes, std::unique_ptr<WorkerLane> lane) {
  const SignalStack stack;
  WorkerLane& mine = *lane;
  my_crash = &mine.header().crash;
  Crash* none = nullptr;
  any_crash.compare_exchange_strong(none, my_crash);
  my_lane = &mine;
  lanes.add(mine);
  static_cast<void>(lane.release());  // Threads of the plugin may ask in it until the end.
  WorkerLane::Message message;
  Writer out;
  while (mine.next_call(message)) {
    if (TENON_DETAIL_THREAD_SANITIZER) {
      static_cast<void>(num_ended_calls.load(std::memory_order_acquire));
    }
    serve_call(plugin, mine, message, out);
    if (TENON_DETAIL_THREAD_SANITIZER) {
      num_ended_calls.fetch_add(1, std::memory_order_release);
    }
    mine.done(out);
  }
  // What the application sends cannot be read.
  ::_exit(EXIT_FAILURE);
}

}  // namespace

int serve(int socket, bool has_profile) {
  const SignalStack stack;
  handle_crashes(has_profile);
  // Not destroyed: lanes use them until the process ends.
  auto& lanes = *new Lanes;
  auto& plugin = *new GuestPlugin(lanes);
  for (;;) {
    NewLane request{};
    Received received = receive_message(socket, std::as_writable_bytes(std::span(&request, 1)), 0);
    if (received.size <= 0) return EXIT_SUCCESS;
    if (received.size != sizeof request || received.descriptors.size() != 2) return EXIT_FAILURE;
    auto shared = Mapping::of(received.descriptors[0].get(), lane_size, true);
    if (!shared.ok() || request.version != protocol_version) return EXIT_FAILURE;
    auto lane =
        std::make_unique<WorkerLane>(*std::move(shared), std::move(received.descriptors[1]));
    std::thread(&run, std::ref(plugin), std::ref(lanes), std::move(lane)).detach();
  }
}

}  // namespace tenon::isolated
