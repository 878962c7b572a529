// SPDX-License-Identifier: MIT
// Code of the pages about applications: host PLUGIN.so MODEL.pte
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <tenon/host.hpp>
#include <tenon/host/async.hpp>
#include <tenon/host/discovery.hpp>
#include <tenon/host/isolation.hpp>
#include <tenon/host/prepared.hpp>
#include <tenon/host/prove.hpp>
#include <tenon/host/sequence.hpp>
#include <tenon/host/signatures.hpp>
#include <thread>
#include <utility>
#include <vector>

namespace {

tenon::Status find_a_backend() {
  // [discovery]
  tenon::host::BackendRegistry registry;
  registry.add_search(tenon::host::discovery());                    // nothing is read yet
  TENON_TRY(auto backend, registry.lookup_backend("AcmeBackend"));  // searches, then loads one file
  // [discovery]
  return backend->is_available();
}

tenon::Status find_what_a_publisher_signed() {
  // [signatures]
  TENON_TRY(auto publishers, tenon::host::read_publishers("/etc/acme/publishers.json"));
  tenon::host::HostInfo info;
  info.gates.push_back(std::make_shared<tenon::host::SignaturePolicy>(std::move(publishers)));
  tenon::host::BackendRegistry registry(info);
  // [signatures]
  return registry.lookup_backend("AcmeBackend").status();
}

tenon::Status load_in_a_worker(std::shared_ptr<const tenon::host::Program> program) {
  // [isolation]
  TENON_TRY(auto rules, tenon::host::parse_isolation_rules("libacme*=driver"));
  const auto isolation = std::make_shared<tenon::host::WorkerIsolation>(std::move(rules));
  tenon::host::HostInfo info;
  info.gates.push_back(isolation);  // For all methods: a worker for each backend that is loaded.
  tenon::host::BackendRegistry registry(info);
  tenon::host::MethodOptions options;
  // For one method: it has workers of its own.
  options.layers.add(tenon::host::Isolation(isolation));
  // [isolation]
  options.registry = &registry;
  return tenon::host::Method::load(program, "forward", std::move(options)).status();
}

tenon::Status load_with_a_policy(std::shared_ptr<const tenon::host::Program> program,
                                 const tenon::host::BackendRegistry& registry,
                                 std::string_view policy) {
  tenon::host::MethodOptions options{.registry = &registry};
  // [policy]
  TENON_TRY(auto code, tenon::host::EmbeddedCodePolicy::parse(policy));
  options.layers.add(std::move(code));
  TENON_TRY(auto method, tenon::host::Method::load(program, "forward", std::move(options)));
  // [policy]
  return method->execute();
}

tenon::Status load_with_limits(const char* model, const tenon::host::BackendRegistry& registry) {
  // [limits]
  const tenon::host::HostLimits limits{.planned_bytes = std::uint64_t{1} << 30,  // 1 GiB
                                       .run_milliseconds = 500};
  TENON_TRY(auto program, tenon::host::Program::open(model, limits));
  TENON_TRY(auto method, tenon::host::Method::load(program, "forward",
                                                   {.registry = &registry, .limits = limits}));
  // [limits]
  return method->execute();
}

tenon::Status record_intermediates(const std::shared_ptr<const tenon::host::Program>& program,
                                   const tenon::host::BackendRegistry& registry,
                                   const tenon::host::InputTensor& input) {
  // [intermediates]
  TENON_TRY(auto method, tenon::host::Method::load(program, "forward", {.registry = &registry}));
  TENON_RETURN_IF_ERROR(method->set_input(0, input));
  TENON_RETURN_IF_ERROR(method->set_input(1, input));
  TENON_TRY(const auto known, method->intermediates());
  std::vector<std::size_t> numbers;  // Of those that are asked for: here all.
  for (std::size_t i = 0; i < known.size(); ++i) numbers.push_back(i);
  TENON_RETURN_IF_ERROR(method->record_intermediates(numbers));
  TENON_RETURN_IF_ERROR(method->execute());
  for (const auto& tensor : method->recorded_intermediates()) {
    std::printf("%s: %zu bytes\n", known[tensor.intermediate].name.c_str(), tensor.data.size());
  }
  // [intermediates]
  return tenon::ok();
}

tenon::Status decode(const std::shared_ptr<const tenon::host::Program>& program,
                     const tenon::host::BackendRegistry& registry,
                     const tenon::host::InputTensor& input) {
  TENON_TRY(auto method, tenon::host::Method::load(program, "forward", {.registry = &registry}));
  TENON_RETURN_IF_ERROR(method->set_input(0, input));
  TENON_RETURN_IF_ERROR(method->set_input(1, input));
  // [sequence]
  TENON_TRY(auto prompt, tenon::host::Sequence::create(*method, {.capacity = 384}));
  for (int i = 0; i < 20; ++i) TENON_RETURN_IF_ERROR(prompt->execute());
  TENON_TRY(auto other, prompt->fork());  // The same prompt, another answer.
  TENON_RETURN_IF_ERROR(other->execute());
  TENON_RETURN_IF_ERROR(other->rewind(1));  // Once more from the prompt's end.
  TENON_TRY(const std::vector<std::byte> saved, prompt->save());
  TENON_RETURN_IF_ERROR(prompt->clear());
  TENON_RETURN_IF_ERROR(prompt->restore(saved));
  // [sequence]
  return tenon::ok();
}

tenon::Status use_a_frame(const std::shared_ptr<const tenon::host::Program>& program,
                          const tenon::host::BackendRegistry& registry,
                          const tenon::host::BackendRef& backend,
                          const tenon::host::InputTensor& input, int descriptor, int fence) {
  TENON_TRY(auto method, tenon::host::Method::load(program, "forward", {.registry = &registry}));
  // [external]
  tenon::ExternalMemory frame;
  frame.kind = tenon::MemoryKind::MemFd;
  frame.descriptor = descriptor;  // It remains the caller's, who may close it once it is imported.
  frame.offset = 4096;
  frame.nbytes = input.bytes.size();
  TENON_TRY(const auto imported, tenon::host::ImportedMemory::import(backend, frame));
  TENON_RETURN_IF_ERROR(
      method->set_input(0, {input.scalar_type, input.sizes, imported.bytes(), imported.device()}));
  const tenon::ExternalFence ready{.kind = tenon::FenceKind::SyncFile, .descriptor = fence};
  TENON_RETURN_IF_ERROR(method->wait_fence("GraphBackend", ready));
  TENON_RETURN_IF_ERROR(method->execute());
  // [external]
  return tenon::ok();
}

tenon::Status run_and_cancel(const std::shared_ptr<const tenon::host::Program>& program,
                             const tenon::host::BackendRegistry& registry,
                             const tenon::host::InputTensor& input) {
  // [cancel]
  TENON_TRY(auto method, tenon::host::Method::load(
                             program, "forward",
                             {.registry = &registry, .layers = {tenon::host::Cancellation()}}));
  TENON_RETURN_IF_ERROR(method->set_input(0, input));
  TENON_RETURN_IF_ERROR(method->set_input(1, input));
  auto outcome = std::async(std::launch::async, [&] { return method->execute(); });
  // From another thread: a button, a server's client that left.
  TENON_RETURN_IF_ERROR(method->cancel());
  tenon::Status ended = outcome.get();
  if (ended.error() == tenon::Error::Cancelled) return tenon::ok();
  // [cancel]
  return ended;
}

tenon::Status explain_variants(const std::shared_ptr<const tenon::host::Program>& program,
                               const tenon::host::BackendRegistry& registry) {
  // [variants]
  const tenon::host::MethodOptions options{.registry = &registry};
  TENON_TRY(const auto choice,
            choose_variant(program, "forward", options, tenon::host::AskVariants::all));
  for (const tenon::host::VariantAnswer& one : choice.answers) {
    const std::string name(one.variant->name);
    const std::string why(one.refused.ok() ? std::string_view(one.reason) : one.refused.text());
    std::printf("%s: %s\n", name.c_str(), why.c_str());
  }
  // [variants]
  return choice.status();
}

[[maybe_unused]] tenon::Result<tenon::host::FailoverMethod> load_proven(
    const std::shared_ptr<const tenon::host::Program>& program,
    const tenon::host::BackendRegistry& registry) {
  // [proof]
  tenon::host::MethodOptions options{.registry = &registry};
  options.layers.add(tenon::host::Prove());
  TENON_TRY(const auto method, tenon::host::Method::load(program, "forward", options));
  // Or with another variant, where there is one:
  return tenon::host::FailoverMethod::load(program, "forward", options, {.at_load = true});
  // [proof]
}

/// The pool of an application.
struct AcmeThreads {
  template <class F>
  void for_each_block(std::uint64_t n, std::uint64_t grain, const F& f) {
    for (std::uint64_t i = 0; i < n; i += grain) f(0, i, n - i < grain ? n : i + grain);
  }
};

// [pool]
class ApplicationPool final : public tenon::host::ThreadPool {
 public:
  ApplicationPool() : ThreadPool(std::thread::hardware_concurrency()) {}

 private:
  tenon_status run(std::uint64_t n, std::uint64_t grain,
                   const tenon::host::RangeTask& task) override {
    std::atomic<tenon_status> failure = TENON_STATUS_OK;
    const auto work = [&](std::uint32_t thread, std::uint64_t begin, std::uint64_t end) {
      if (const tenon_status status = task(thread, begin, end)) failure = status;
    };
    threads_.for_each_block(n, grain, work);
    return failure;
  }

  AcmeThreads threads_;
};
// [pool]

[[maybe_unused]] tenon::Status load_prepared(
    const std::shared_ptr<const tenon::host::Program>& program,
    const tenon::host::BackendRegistry& registry) {
  // [prepared]
  TENON_TRY(const auto directory, tenon::host::default_prepared_directory());
  TENON_TRY(const auto prepared, tenon::host::PreparedCache::open(directory));
  const tenon::host::MethodOptions options{.registry = &registry, .layers = {prepared}};
  TENON_TRY(auto method, tenon::host::Method::load(program, "forward", options));
  // [prepared]
  return method->execute();
}

tenon::Status share_threads(const std::shared_ptr<const tenon::host::Program>& program,
                            const tenon::host::BackendRegistry& registry,
                            const tenon::host::InputTensor& input) {
  // [shared]
  TENON_TRY(const auto pool, tenon::host::WorkerPool::create(2));
  const tenon::host::MethodOptions options{.registry = &registry, .layers = {*pool}};
  TENON_TRY(auto encoder, tenon::host::Method::load(program, "forward", options));
  TENON_TRY(auto decoder, tenon::host::Method::load(program, "forward", options));
  // [shared]
  ApplicationPool application;
  TENON_TRY(auto third, tenon::host::Method::load(
                            program, "forward", {.registry = &registry, .layers = {application}}));
  for (tenon::host::Method* method : {encoder.get(), decoder.get(), third.get()}) {
    TENON_RETURN_IF_ERROR(method->set_input(0, input));
    TENON_RETURN_IF_ERROR(method->set_input(1, input));
    TENON_RETURN_IF_ERROR(method->execute());
  }
  return tenon::ok();
}

tenon::Status give_hints(const std::shared_ptr<const tenon::host::Program>& program,
                         const tenon::host::BackendRegistry& registry) {
  // [scheduling]
  using tenon::Goal;
  using tenon::Priority;
  const tenon::host::SchedulingHints hints({.priority = Priority::High, .goal = Goal::Latency});
  TENON_TRY(auto method, tenon::host::Method::load(program, "forward",
                                                   {.registry = &registry, .layers = {hints}}));
  // The window was closed: later runs may take longer.
  const tenon::Status set = method->set_scheduling({.priority = Priority::Low});
  // [scheduling]
  return set.error() == tenon::Error::NotSupported ? tenon::ok() : method->set_scheduling({});
}

tenon::Status load_with_a_budget(const std::shared_ptr<const tenon::host::Program>& program,
                                 const tenon::host::BackendRegistry& registry) {
  // [budget]
  using tenon::host::Budget;
  TENON_TRY(auto method, tenon::host::Method::load(
                             program, "forward",
                             {.registry = &registry,
                              .layers = {Budget({{{TENON_DL_CPU, 0}, std::uint64_t{512} << 20},
                                                 {{TENON_DL_CUDA, 0}, std::uint64_t{8} << 30}})}}));
  TENON_TRY(const tenon::host::MethodMemory memory, method->memory_info());
  std::printf("%llu bytes on the CPU\n", static_cast<unsigned long long>(memory.host_bytes()));
  // [budget]
  return tenon::ok();
}

tenon::Status run_asynchronously(const std::shared_ptr<const tenon::host::Program>& program,
                                 const tenon::host::BackendRegistry& registry,
                                 const tenon::host::InputTensor& input) {
  // [async]
  TENON_TRY(const auto threads, tenon::host::ThreadExecutor::create(2));
  TENON_TRY(auto method,
            tenon::host::Method::load(
                program, "forward",
                {.registry = &registry, .layers = {tenon::host::Async(threads->executor())}}));
  TENON_RETURN_IF_ERROR(method->set_input(0, input));
  TENON_RETURN_IF_ERROR(method->set_input(1, input));
  const auto done = std::make_shared<std::promise<tenon::Status>>();
  TENON_RETURN_IF_ERROR(method->execute_async(
      [done](tenon::Status outcome) { done->set_value(std::move(outcome)); }));
  // Other work of the application, and later:
  return done->get_future().get();
  // [async]
}

/// An application's own loop, on one thread.
struct EventLoop {
  void post(std::function<void()> task) {
    std::list<std::function<void()>> one;
    one.push_back(std::move(task));
    post_all(one);
  }
  void post_all(std::list<std::function<void()>>& more) noexcept {
    const std::lock_guard lock(mutex);
    tasks.splice(tasks.end(), more);
    changed.notify_one();
  }
  void run_one() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return !tasks.empty(); });
    const auto task = std::move(tasks.front());
    tasks.pop_front();
    lock.unlock();
    task();
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::list<std::function<void()>> tasks;
};

tenon::host::Executor executor_of(EventLoop& loop) {
  // [executor]
  using tenon::host::Executor;
  const auto run = [&loop](Executor::Task task) {
    loop.post(std::move(task));
    return tenon::ok();
  };
  const auto park = [&loop](Executor::Task task) -> tenon::Result<Executor::Wake> {
    // Its place in the loop's list is made here, so that waking cannot fail.
    const auto place = std::make_shared<std::list<Executor::Task>>(1, std::move(task));
    return Executor::Wake([&loop, place] { loop.post_all(*place); });
  };
  return Executor(run, park);
  // [executor]
}

tenon::Status run_on_a_loop(const std::shared_ptr<const tenon::host::Program>& program,
                            const tenon::host::BackendRegistry& registry,
                            const tenon::host::InputTensor& input) {
  EventLoop loop;
  TENON_TRY(auto method,
            tenon::host::Method::load(
                program, "forward",
                {.registry = &registry, .layers = {tenon::host::Async(executor_of(loop))}}));
  TENON_RETURN_IF_ERROR(method->set_input(0, input));
  TENON_RETURN_IF_ERROR(method->set_input(1, input));
  bool is_done = false;
  tenon::Status out;
  TENON_RETURN_IF_ERROR(method->execute_async([&](tenon::Status outcome) {
    out = std::move(outcome);
    is_done = true;
  }));
  while (!is_done) loop.run_one();
  return out;
}

tenon::Status run(const char* plugin, const char* model) {
  tenon::host::BackendRegistry registry;
  TENON_RETURN_IF_ERROR(registry.register_backend(plugin));

  const std::array<float, 6> values{};
  const std::array<std::int64_t, 2> sizes{2, 3};
  const tenon::host::InputTensor input{tenon::ScalarType::Float, sizes,
                                       std::as_bytes(std::span(values))};

  // [threads]
  TENON_TRY(auto program, tenon::host::Program::open(model));
  const auto work = [&]() -> tenon::Status {
    TENON_TRY(auto method, tenon::host::Method::load(program, "forward", {.registry = &registry}));
    TENON_RETURN_IF_ERROR(method->set_input(0, input));
    TENON_RETURN_IF_ERROR(method->set_input(1, input));
    return method->execute();
  };
  tenon::Status first, second;
  std::thread other([&] { first = work(); });
  second = work();
  other.join();
  // [threads]
  TENON_RETURN_IF_ERROR(std::move(first));
  TENON_RETURN_IF_ERROR(std::move(second));

  TENON_RETURN_IF_ERROR(run_asynchronously(program, registry, input));
  TENON_RETURN_IF_ERROR(run_on_a_loop(program, registry, input));
  TENON_RETURN_IF_ERROR(run_and_cancel(program, registry, input));
  TENON_RETURN_IF_ERROR(share_threads(program, registry, input));
  TENON_RETURN_IF_ERROR(give_hints(program, registry));
  TENON_RETURN_IF_ERROR(explain_variants(program, registry));
  TENON_RETURN_IF_ERROR(record_intermediates(program, registry, input));
  TENON_RETURN_IF_ERROR(decode(program, registry, input));
  TENON_RETURN_IF_ERROR(load_with_a_budget(program, registry));
  // The plugin of the pages imports nothing.
  TENON_TRY(const auto backend, registry.lookup_backend(registry.list_backends().front()));
  if (use_a_frame(program, registry, backend, input, 0, 0).error() != tenon::Error::NotSupported) {
    return tenon::error(tenon::Error::Internal, "expected a backend that imports no memory");
  }

  // A method whose inputs were not set refuses to run; policy and limits let it load.
  const tenon::Status unset = load_with_limits(model, registry);
  if (unset.error() != tenon::Error::InvalidArgument) {
    return tenon::error(tenon::Error::Internal, "expected InvalidArgument, found ", unset.text());
  }
  const tenon::Status refused = load_with_a_policy(program, registry, "deny");
  if (refused.error() != tenon::Error::InvalidArgument) {
    return tenon::error(tenon::Error::Internal, "expected a refusal, found ", describe(refused));
  }
  // Its registry has no plugin for the program.
  const tenon::Status no_plugin = load_in_a_worker(program);
  if (no_plugin.error() != tenon::Error::NotFound) {
    return tenon::error(tenon::Error::Internal, "expected NotFound, found ", describe(no_plugin));
  }
  // There is no such list of publishers here.
  const tenon::Status no_list = find_what_a_publisher_signed();
  if (no_list.error() != tenon::Error::NotFound) {
    return tenon::error(tenon::Error::Internal, "expected NotFound, found ", describe(no_list));
  }
  return tenon::ok();
}

/// Prints why the backend is missing; prints nothing on a machine that has it.
void show_a_failure() {
  // [failure]
  const tenon::Status status = find_a_backend();
  if (status.error() == tenon::Error::NotFound) {
    std::fprintf(stderr, "%s\n", tenon::describe(status).c_str());
  }
  // [failure]
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: host PLUGIN.so MODEL.pte\n", stderr);
    return 2;
  }
  show_a_failure();
  const tenon::Status status = run(argv[1], argv[2]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "host: %s\n", tenon::describe(status).c_str());
  return 1;
}
