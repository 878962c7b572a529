// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <tenon/tenon.hpp>
#include <vector>

#include "run/model.hpp"

namespace opencl_backend {

/// An event of "tenon.events/1". OpenCL's own mark one point for ever, so that each `record` takes
/// another one. Threads: `wait` and `query` any; all others one at a time.
class Event {
 public:
  Event() = default;
  /// Of an event of the application, which is retained.
  Event(std::shared_ptr<Device> device, std::shared_ptr<cl_event_of> mark)
      : device_(std::move(device)), mark_(std::move(mark)) {}

  /// Marks the runs of `session` so far.
  void record(const Session& session);
  [[nodiscard]] tenon::Status wait() const;
  [[nodiscard]] tenon::Result<bool> query() const;
  /// Later runs of `session` begin after it, also when what it marks has failed.
  [[nodiscard]] tenon::Status hold(Session& session) const;
  /// A `cl_event`, valid as long as this object, also when it is recorded again.
  [[nodiscard]] tenon::Result<void*> handle(Devices& devices, std::int64_t default_device);

 private:
  [[nodiscard]] tenon::Result<cl_int> status() const;

  std::shared_ptr<Device> device_;
  std::shared_ptr<cl_event_of> mark_;                  ///< Null: it marks nothing yet.
  std::shared_ptr<const Run> run_;                     ///< Null for an event of the application.
  std::vector<std::shared_ptr<cl_event_of>> handles_;  ///< Handles that were given away.
};

}  // namespace opencl_backend
