// SPDX-License-Identifier: MIT
// A backend whose device has priorities (docs/hosts/scheduling.md).
#include <string_view>
#include <tenon/tenon.hpp>

namespace {

using tenon::Result;
using tenon::Status;

/// A device's queue, in place of a vendor's driver.
struct Queue {
  int priority = 0;
};

Queue queue_with(tenon::Priority priority) {
  return {priority == tenon::Priority::High ? 1 : priority == tenon::Priority::Low ? -1 : 0};
}

// [scheduling]
class AcmeGpu final : public tenon::Backend<AcmeGpu>, public tenon::WithScheduling<AcmeGpu> {
 public:
  static constexpr std::string_view id = "AcmeGpu";
  static constexpr tenon::SchedulingUse scheduling_use{.priority = "the queue's"};
  struct Delegate {
    Queue queue;
  };

  Result<Delegate> init(tenon::InitContext& context, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{queue_with(context.scheduling().priority)};
  }
  Status set_scheduling(Delegate& delegate, const tenon::Scheduling& scheduling) {
    delegate.queue = queue_with(scheduling.priority);
    return tenon::ok();
  }
  // [scheduling]

  Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
};

}  // namespace

TENON_PLUGIN(AcmeGpu);
