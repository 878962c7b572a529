// SPDX-License-Identifier: MIT
// Two backends whose runs can be cancelled (docs/hosts/cancel.md): one computes, one waits.
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <tenon/backend/cancel_flag.hpp>
#include <tenon/tenon.hpp>

namespace {

using tenon::Error;
using tenon::Result;
using tenon::Status;

/// out = 2 in, in blocks.
class DoubleBackend final : public tenon::Backend<DoubleBackend> {
 public:
  static constexpr std::string_view id = "DoubleBackend";
  struct Delegate {};

  Status execute(tenon::ExecutionContext& context, Delegate&, tenon::Args args) {
    TENON_RETURN_IF_ERROR(args.expect(2));
    TENON_TRY(const auto in, args.tensor<const float>(0));
    TENON_RETURN_IF_ERROR(args.resize(1, in.sizes()));
    TENON_TRY(const auto out, args.tensor<float>(1));
    // [flag]
    const tenon::CancelFlag cancelled(*this, context);
    constexpr std::size_t block = 65536;
    for (std::size_t begin = 0; begin < in.numel(); begin += block) {
      TENON_RETURN_IF_ERROR(cancelled.check());
      const std::size_t end = begin + block < in.numel() ? begin + block : in.numel();
      for (std::size_t i = begin; i < end; ++i) out[i] = 2 * in[i];
    }
    // [flag]
    return tenon::ok();
  }

  Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
};

/// A device that takes its time, in place of a vendor's driver.
class Job {
 public:
  void start() {
    const std::lock_guard lock(mutex_);
    is_running_ = true;
  }
  /// Ends the job that is running, if there is one.
  void stop() noexcept {
    const std::lock_guard lock(mutex_);
    is_running_ = false;
    changed_.notify_all();
  }
  /// False when it was stopped.
  [[nodiscard]] bool wait() {
    std::unique_lock lock(mutex_);
    const bool was_stopped =
        changed_.wait_for(lock, std::chrono::milliseconds(10), [this] { return !is_running_; });
    is_running_ = false;
    return !was_stopped;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_running_ = false;
};

class AcmeNpu final : public tenon::Backend<AcmeNpu>, public tenon::WithCancel<AcmeNpu> {
 public:
  static constexpr std::string_view id = "AcmeNpu";
  struct Delegate {
    std::unique_ptr<Job> job;
  };

  // [call]
  void cancel(Delegate& delegate) noexcept { delegate.job->stop(); }

  Status execute(tenon::ExecutionContext& context, Delegate& delegate, tenon::Args) {
    delegate.job->start();
    // A cancel that came before the job had started found nothing to stop.
    if (tenon::CancelFlag(*this, context).is_set()) delegate.job->stop();
    if (delegate.job->wait()) return tenon::ok();
    return tenon::error(Error::Cancelled, "the job was stopped");
  }
  // [call]

  Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{std::make_unique<Job>()};
  }
};

}  // namespace

TENON_PLUGIN(DoubleBackend, AcmeNpu);
