// SPDX-License-Identifier: MIT
//
// Backends whose runs happen later, on a thread of each delegate: a stand-in for a device with
// streams, on the CPU. "Later" and "Other" have events of one kind, and call functions when they
// are complete, as `LaterRecord::calls` says. Events of "Apart" have no handles and call nothing.
//
// Blobs: "add NAME" (out = a + b), "copy NAME" (out = in), "fail NAME" (fails when it runs),
// "refuse NAME" (fails in `start`), "hang NAME" (runs until it is cancelled). float32, all
// arguments of one size.
#include "plugins/later/later.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tenon/backend/cancel_flag.hpp>
#include <tenon/tenon.hpp>
#include <thread>
#include <utility>
#include <vector>

namespace {

using tenon::Error;
using tenon::Result;
using tenon::Status;
using tenon::test::later_record;
using Calls = tenon::test::LaterRecord::Calls;

/// Whether this thread is in a host's function.
thread_local bool is_inside = false;
void expect_outside() {
  if (is_inside) ++later_record().calls_inside;
}

/// The end of one run, and its failure.
class End : public std::enable_shared_from_this<End> {
 public:
  void reach(Error error = Error::Ok, std::string text = {}) {
    std::vector<std::function<void()>> functions;
    {
      const std::lock_guard lock(mutex_);
      error_ = error;
      text_ = std::move(text);
      reached_ = true;
      functions.swap(functions_);
      changed_.notify_all();
    }
    for (const auto& function : functions) function();
  }
  [[nodiscard]] Status wait(std::uint64_t timeout_ns = TENON_NO_TIMEOUT) {
    std::unique_lock lock(mutex_);
    // In parts, so that no limit is too large for the clock.
    constexpr std::uint64_t most = 3'600'000'000'000;
    for (std::uint64_t left = timeout_ns; !reached_;) {
      if (left == 0) {
        return tenon::error(Error::TimedOut, "the run: expected its end in ", timeout_ns,
                            " ns, found none");
      }
      const std::uint64_t part = std::min(left, most);
      changed_.wait_for(lock, std::chrono::nanoseconds(part), [this] { return reached_; });
      if (timeout_ns != TENON_NO_TIMEOUT) left -= part;
    }
    return error_ == Error::Ok ? tenon::ok() : tenon::error(error_, text_);
  }
  void when_reached(std::function<void()> function) {
    {
      const std::lock_guard lock(mutex_);
      if (!reached_) return functions_.push_back(std::move(function));
    }
    function();
  }
  [[nodiscard]] bool is_reached() {
    const std::lock_guard lock(mutex_);
    return reached_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool reached_ = false;
  Error error_ = Error::Ok;
  std::string text_;
  std::vector<std::function<void()>> functions_;
};

/// The bytes of one run. `Args` are for `start` alone.
struct Job {
  std::vector<const float*> inputs;
  float* output = nullptr;
  std::size_t size = 0;
  std::vector<std::shared_ptr<End>> after;
  std::shared_ptr<End> end;
  tenon::CancelFlag cancelled;
};

/// The work of one delegate, in order, on a thread of its own.
class Line {
 public:
  explicit Line(std::string name) : name_(std::move(name)), thread_([this] { work(); }) {}
  ~Line() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }

  /// The end of the last job so far; null before the first one.
  [[nodiscard]] std::shared_ptr<End> last() const { return last_; }
  void wait_on(std::shared_ptr<End> end) { after_.push_back(std::move(end)); }

  void add(Job job) {
    job.after = std::exchange(after_, {});
    job.end = last_ = std::make_shared<End>();
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    changed_.notify_all();
  }

  /// Wakes a job that hangs, which looks at its flag.
  void cancel() noexcept {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }

 private:
  void work() {
    while (true) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return ends_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      const Job job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      for (const auto& end : job.after) static_cast<void>(end->wait());
      later_record().begin("run " + name_);
      if (name_.starts_with("hang")) {
        lock.lock();
        changed_.wait(lock, [&] { return job.cancelled.is_set(); });
        lock.unlock();
        job.end->reach(Error::Cancelled, "the run '" + name_ + "' was cancelled");
        continue;
      }
      const bool fails = name_.starts_with("fail");
      for (std::size_t i = 0; i < job.size && !fails; ++i) {
        float sum = 0;
        for (const float* input : job.inputs) sum += input[i];
        job.output[i] = sum;
      }
      if (fails) {
        job.end->reach(Error::DelegateInvalidHandle, "the run '" + name_ + "' fails by its name");
      } else {
        job.end->reach();
      }
    }
  }

  const std::string name_;
  std::shared_ptr<End> last_;
  std::vector<std::shared_ptr<End>> after_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  std::deque<Job> jobs_;
  std::thread thread_;
};

/// Common parts of the backends.
template <class Derived>
class LaterParts {
 public:
  struct Delegate {
    std::string name;
    std::unique_ptr<Line> line;
  };
  class Event {
   public:
    explicit Event(std::shared_ptr<End> of = nullptr) : end(std::move(of)) {
      ++later_record().live_events;
    }
    Event(Event&& other) noexcept : Event(std::move(other.end)) {}
    Event& operator=(Event&&) = delete;
    ~Event() {
      expect_outside();
      expect_no_function();
      --later_record().live_events;
    }
    void expect_no_function() const {
      if (*expected != 0) ++later_record().disturbed_events;
    }

    std::shared_ptr<End> end;  ///< Null: nothing to wait for.
    /// Functions that will be called.
    std::shared_ptr<std::atomic<int>> expected = std::make_shared<std::atomic<int>>(0);
  };

  LaterParts() = default;
  LaterParts(const LaterParts&) = delete;
  LaterParts& operator=(const LaterParts&) = delete;
  ~LaterParts() { later_record().left_at_close += later_record().live_events; }

  Result<Delegate> init(tenon::InitContext&, tenon::Blob processed, tenon::CompileSpecs) {
    const std::string name(processed.text());
    return Delegate{name, std::make_unique<Line>(name)};
  }

  void cancel(Delegate& delegate) noexcept {
    later_record().record("cancel " + delegate.name);
    delegate.line->cancel();
  }

  Status start(tenon::ExecutionContext& context, Delegate& delegate, tenon::Args args) {
    expect_outside();
    const std::string_view name = delegate.name;
    if (name.starts_with("refuse"))
      return tenon::error(Error::Internal, "the name '", name, "' refuses the call");
    const std::size_t inputs = name.starts_with("add") ? 2 : 1;
    TENON_RETURN_IF_ERROR(args.expect(inputs + 1));
    Job job;
    for (std::size_t i = 0; i < inputs; ++i) {
      TENON_TRY(const auto input, args.tensor<const float>(i));
      if (i == 0) TENON_RETURN_IF_ERROR(args.resize(inputs, input.sizes()));
      if (i != 0 && input.numel() != job.size) {
        return tenon::error(Error::InvalidArgument, "argument ", i, ": expected ", job.size,
                            " elements, found ", input.numel());
      }
      job.size = input.numel();
      job.inputs.push_back(input.data());
    }
    TENON_TRY(auto output, args.tensor<float>(inputs));
    job.output = output.data();
    job.cancelled = tenon::CancelFlag(static_cast<Derived&>(*this), context);
    later_record().record("start " + delegate.name);
    delegate.line->add(std::move(job));
    return tenon::ok();
  }

  Status execute(tenon::ExecutionContext& context, Delegate& delegate, tenon::Args args) {
    TENON_RETURN_IF_ERROR(start(context, delegate, args));
    return delegate.line->last()->wait();
  }

  Result<Event> create_event() { return Event(); }
  Status record_event(Delegate& delegate, Event& event) {
    expect_outside();
    event.expect_no_function();
    event.end = delegate.line->last();
    return tenon::ok();
  }
  Status wait_event(Event& event, std::uint64_t timeout_ns) {
    expect_outside();
    later_record().record("host waits");
    return event.end ? event.end->wait(timeout_ns) : tenon::ok();
  }
  Result<bool> query_event(Event& event) {
    expect_outside();
    return !event.end || event.end->is_reached();
  }
  Status wait_on_event(Delegate& delegate, Event& event) {
    later_record().record("wait_on");
    if (event.end) delegate.line->wait_on(event.end);
    return tenon::ok();
  }
};

/// Events whose handles the other backend can use, and that call functions.
template <class Derived>
class WithHandles : public LaterParts<Derived> {
 public:
  using Event = typename LaterParts<Derived>::Event;

  static constexpr const char* event_kind = "tenon.test.end";
  Result<void*> export_event(Event& event) {
    if (!event.end) event.end = reached();
    return static_cast<void*>(event.end.get());
  }
  Result<Event> import_event(void* handle) {
    later_record().record("import");
    return Event(static_cast<End*>(handle)->shared_from_this());
  }

  Status on_event_complete(Event& event, tenon::EventFunction done) {
    const Calls calls = later_record().calls;
    if (calls == Calls::refused)
      return tenon::error(Error::OutOfResources, "the test has the plugin refuse");
    if (calls == Calls::never) {
      later_record().keep(done);
      return tenon::ok();
    }
    const auto call = [done, calls, expected = event.expected] {
      is_inside = true;
      --*expected;  // Before the call, in which the host may let the event be destroyed.
      done();
      if (calls == Calls::twice) done();
      is_inside = false;
    };
    ++*event.expected;
    if (event.end && calls != Calls::early) {
      event.end->when_reached(call);
    } else {
      call();
    }
    return tenon::ok();
  }

 private:
  static std::shared_ptr<End> reached() {
    auto end = std::make_shared<End>();
    end->reach();
    return end;
  }
};

class Later final : public WithHandles<Later>,
                    public tenon::Backend<Later>,
                    public tenon::WithEvents<Later>,
                    public tenon::WithCancel<Later> {
 public:
  static constexpr std::string_view id = "Later";
  static constexpr std::string_view tags = "debug";
};

class Other final : public WithHandles<Other>,
                    public tenon::Backend<Other>,
                    public tenon::WithEvents<Other>,
                    public tenon::WithCancel<Other> {
 public:
  static constexpr std::string_view id = "Other";
  static constexpr std::string_view tags = "debug";
};

class Apart final : public LaterParts<Apart>,
                    public tenon::Backend<Apart>,
                    public tenon::WithEvents<Apart>,
                    public tenon::WithCancel<Apart> {
 public:
  static constexpr std::string_view id = "Apart";
  static constexpr std::string_view tags = "debug";
};

}  // namespace

TENON_PLUGIN(Later, Other, Apart);
