// SPDX-License-Identifier: MIT
//
// fuzz-isolated: both sides of the messages between an isolated plugin and its worker. Here is the
// worker against an application that sends what it likes: a script says what the application calls,
// what it answers, and what the plugin does meanwhile.
#include <fcntl.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "fuzz/fuzz_target.hpp"
#include "fuzz/mutate/script.hpp"
#include "fuzz/peers/application_peer.hpp"
#include "fuzz/peers/choices.hpp"
#include "fuzz/peers/guest.hpp"
#include "fuzz/peers/system.hpp"
#include "fuzz/peers/worker_peer.hpp"
#include "worker/serve_call.hpp"

namespace tenon::fuzz {
namespace {

using namespace isolated;

/// A worker whose plugin is part of this program.
class FuzzPlugin final : public GuestPlugin {
 public:
  explicit FuzzPlugin(Lanes& lanes) noexcept : GuestPlugin(lanes) {}

 private:
  Status load_files(const std::string& path, std::uint32_t index) override {
    if (index != 0) return error(Error::InvalidState, path, ": has no backend number ", index);
    TENON_TRY(plugin_.api, host::complete_api(guest_api(), "Fuzz"));
    plugin_.host->digest = [] { return Result<Sha256>(Sha256()); };
    return ok();
  }
};

void application_messages(std::span<std::byte> bytes) {
  Script script(bytes);
  Choices choices;
  ApplicationPeer peer(script, choices);
  System system(peer);
  const ObjectPointer file = System::make_file("tenon-lane", lane_size);
  file->seals = F_SEAL_SHRINK | F_SEAL_GROW;
  const auto sockets = System::make_sockets();
  const host::FileDescriptor shared(system.open(file));
  auto mapping = Mapping::of(shared.get(), lane_size, true);
  if (!mapping.ok()) return;
  Lanes lanes;
  WorkerLane lane(*std::move(mapping), host::FileDescriptor(system.open(sockets.second)));
  peer.begin(lane.header(), sockets.first);
  my_lane = &lane;
  lanes.add(lane);
  {
    FuzzPlugin plugin(lanes);
    const GuestRun guest(choices);
    WorkerLane::Message message;
    Writer answer;
    while (lane.next_call(message)) {
      serve_call(plugin, lane, message, answer);
      lane.done(answer);
    }
    // Questions of what is left have no answer.
    choices = Choices();
  }
  my_lane = nullptr;
}

constexpr Target all[] = {
    {"application_messages", &application_messages, &mutate_script},
    {"worker_messages", &worker_messages, &mutate_script},
};

}  // namespace

const std::span<const Target> targets = all;

}  // namespace tenon::fuzz
