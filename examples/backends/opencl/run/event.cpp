// SPDX-License-Identifier: MIT
#include "run/event.hpp"

namespace opencl_backend {

using tenon::Result;
using tenon::Status;

void Event::record(const Session& session) {
  device_ = session.model()->device;
  run_ = session.last_run();
  mark_ = run_ ? run_->done : nullptr;
}

Status Event::wait() const {
  if (run_) return run_->wait();
  if (!mark_) return tenon::ok();
  const cl_event event = mark_.get();
  return check(device_->api().WaitForEvents(1, &event), "wait for an event");
}

Result<cl_int> Event::status() const {
  cl_int out = CL_COMPLETE;
  if (!mark_) return out;
  TENON_RETURN_IF_ERROR(
      check(device_->api().GetEventInfo(mark_.get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof out,
                                        &out, nullptr),
            "ask for an event"));
  return out;
}

Result<bool> Event::query() const {
  TENON_TRY(const cl_int found, status());
  return found <= CL_COMPLETE;
}

Status Event::hold(Session& session) const {
  // A command fails after an event that has failed; what is over is not waited for.
  TENON_TRY(const cl_int found, status());
  if (found <= CL_COMPLETE) return tenon::ok();
  if (device_ != session.model()->device) return wait();
  return session.wait_on(mark_.get());
}

Result<void*> Event::handle(Devices& devices, std::int64_t default_device) {
  if (!mark_) {
    if (!device_) {
      TENON_TRY(device_, devices.open(default_device));
    }
    cl_int code = CL_SUCCESS;
    const Api& api = device_->api();
    mark_ = device_->own(api.CreateUserEvent(device_->context(), &code));
    TENON_RETURN_IF_ERROR(check(code, "create an event"));
    TENON_RETURN_IF_ERROR(check(api.SetUserEventStatus(mark_.get(), CL_COMPLETE), "complete it"));
  }
  handles_.push_back(mark_);
  return static_cast<void*>(mark_.get());
}

}  // namespace opencl_backend
