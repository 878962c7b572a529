// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "boundary/messages.hpp"
#include "boundary/protocol.hpp"
#include "guest_plugin.hpp"
#include "worker_lane.hpp"

namespace tenon::isolated {

/// Does the call that was read from `lane`, and writes its answer.
inline void serve_call(GuestPlugin& plugin, WorkerLane& lane, WorkerLane::Message& message,
                       Writer& answer) {
  Reply reply(lane.reply_body());
  static_cast<void>(GuestHost::take_last_error());
  const tenon_status status = plugin.call(static_cast<Call>(message.kind), lane, message, reply);
  answer.clear();
  answer.put(status);
  answer.put_text(GuestHost::take_last_error());
  if (reply.tracer) {
    reply.tracer->take(answer);
  } else {
    answer.put<std::uint64_t>(0);
  }
  const auto body = reply.body.bytes();
  answer.put_array(body.data(), body.size());
}

}  // namespace tenon::isolated
