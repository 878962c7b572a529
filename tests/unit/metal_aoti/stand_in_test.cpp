// SPDX-License-Identifier: MIT
//
// The stand-in's queues and events are as Apple documents them.
#include <memory>
#include <string>

#include "application.hpp"
#include "device/metal_device.hpp"
#include "support/catch.hpp"

using namespace metal_test;

namespace stand_in_test {

TEST_CASE("a shared event of the stand-in only grows", "[metal][queues][stand-in]") {
  metal_stand_in::SharedEvent event;
  CHECK(event.signaled_value() == 0);
  event.signal(7);
  event.signal(3);
  CHECK(event.signaled_value() == 7);
  event.wait(7);
  event.wait(2);
}

TEST_CASE("a command buffer of the stand-in that fails neither signals nor ends its queue",
          "[metal][queues][stand-in]") {
  const auto device = metal_aoti::open_metal_device();
  REQUIRE(device.ok());
  const auto event = (*device)->make_event();
  const AppQueue queue;
  REQUIRE(event.ok());
  const auto own = (*device)->use_queue(queue.handle());
  REQUIRE(own.ok());
  const auto failed = queue.submit([] { return error(Error::Internal, "a kernel"); });
  CHECK(failed->wait_until_completed().text() == "a kernel");
  CHECK(failed->wait_until_completed().text() == "a kernel");
  CHECK(failed->has_failed());

  auto buffer = std::make_shared<metal_stand_in::CommandBuffer>();
  bool is_reached = false;
  buffer->add([](metal_stand_in::GridRunner&) { return error(Error::Internal, "another"); });
  buffer->add([&](metal_stand_in::GridRunner&) {
    is_reached = true;
    return ok();
  });
  static_cast<metal_stand_in::CommandQueue*>(queue.handle())->commit(buffer);
  REQUIRE((*own)->signal(**event, 1).ok());
  // Nothing runs before it is committed.
  CHECK((*event)->signaled_value() == 0);
  REQUIRE((*own)->commit().ok());
  const auto work = (*own)->take_submitted();
  REQUIRE(work);
  CHECK(work->wait().ok());
  CHECK(work->is_complete());
  CHECK((*event)->signaled_value() == 1);
  CHECK(buffer->has_failed());
  CHECK_FALSE(is_reached);
  CHECK((*own)->take_submitted() == nullptr);
}

TEST_CASE("work of the stand-in waits for an event that is signalled later",
          "[metal][queues][stand-in]") {
  const auto device = metal_aoti::open_metal_device();
  REQUIRE(device.ok());
  const auto event = (*device)->make_event();
  const auto first = (*device)->make_queue();
  const auto second = (*device)->make_queue();
  REQUIRE((event.ok() && first.ok() && second.ok()));
  REQUIRE((*first)->wait_for(**event, 2).ok());
  REQUIRE((*first)->signal(**event, 3).ok());
  REQUIRE((*first)->commit().ok());
  const auto waiting = (*first)->take_submitted();
  REQUIRE((*second)->signal(**event, 1).ok());
  REQUIRE((*second)->wait().ok());
  CHECK_FALSE(waiting->is_complete());
  REQUIRE((*second)->signal(**event, 2).ok());
  REQUIRE((*second)->commit().ok());
  CHECK(waiting->wait().ok());
  CHECK((*event)->signaled_value() == 3);
}

}  // namespace stand_in_test
