// SPDX-License-Identifier: MIT
//
// The cost of a call through the plugin, compared with OpenVINO's own C API and the stock runtime
// with its delegate. All run the payload of one program, in turns in one process, on the same
// input; the least of many rounds counts. Then cold starts: processes that load the plugin and run
// once.

#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <tenon/host.hpp>
#include <tenon/host/prepared.hpp>
#include <vector>

#include "common/blob.hpp"
#include "runtime/core.hpp"
#include "runtime/settings.hpp"
#include "stock_calls.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/host/arrays.hpp"
#include "tenon/host/platform/read_file.hpp"
#include "tenon/host/schema/program_generated.h"

namespace {

namespace fs = std::filesystem;
using openvino_backend::Cores;
using openvino_backend::OwnedCompiledModel;
using openvino_backend::OwnedRequest;
using openvino_backend::OwnedTensor;
using openvino_backend::Settings;
using tenon::Result;
using tenon::Status;

struct Arguments {
  std::string plugin;
  std::string directory;
  std::string stock;
  std::string cold;
  int rounds = 2000;
  int calls = 10;
  int starts = 7;
  int loads = 0;
  std::int64_t threads = 0;
};

double microseconds() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// One way of running the program.
struct Side {
  std::string name;
  std::function<bool()> call;
  std::function<std::span<const std::byte>()> output;
  double least = std::numeric_limits<double>::infinity();
};

/// OpenVINO's C API with tensors that are bound once.
struct Direct {
  Cores cores;
  std::shared_ptr<const openvino_backend::Core> core;
  OwnedCompiledModel model;
  OwnedRequest request;
  OwnedTensor in;
  OwnedTensor out;
  std::vector<std::byte> output;

  Status load(const Settings& settings, std::span<const std::byte> payload,
              const tenon::TensorView& input, const tenon::TensorView& result) {
    TENON_TRY(core, cores.find(settings));
    const auto& api = core->api();
    model = OwnedCompiledModel(api);
    request = OwnedRequest(api);
    in = OwnedTensor(api);
    out = OwnedTensor(api);
    output.resize(result.nbytes());
    const auto need = [&](auto status) { return check(api, status, "prepare the benchmark"); };
    const auto shape = [](const tenon::TensorView& tensor) {
      return openvino_backend::ov_shape{static_cast<std::int64_t>(tensor.rank()),
                                        const_cast<std::int64_t*>(tensor.sizes().data())};
    };
    const std::string_view text = tenon::as_text(payload);
    TENON_RETURN_IF_ERROR(need(api.core_import_model(core->object.get(), text.data(), text.size(),
                                                     core->device.c_str(), model.out())));
    TENON_RETURN_IF_ERROR(
        need(api.compiled_model_create_infer_request(model.get(), request.out())));
    TENON_RETURN_IF_ERROR(
        need(api.tensor_create_from_host_ptr(openvino_backend::ElementType::f32, shape(input),
                                             const_cast<std::byte*>(input.data()), in.out())));
    TENON_RETURN_IF_ERROR(need(api.tensor_create_from_host_ptr(
        openvino_backend::ElementType::f32, shape(result), output.data(), out.out())));
    TENON_RETURN_IF_ERROR(
        need(api.infer_request_set_input_tensor_by_index(request.get(), 0, in.get())));
    return need(api.infer_request_set_output_tensor_by_index(request.get(), 0, out.get()));
  }
};

/// The program in our host.
struct Ours {
  std::unique_ptr<tenon::host::Method> method;

  static Result<Ours> load(std::shared_ptr<const tenon::host::Program> program,
                           const tenon::host::BackendRegistry& registry,
                           const tenon::host::NpyArray& input, const Settings& settings,
                           const tenon::host::PreparedStore* prepared = nullptr) {
    tenon::host::MethodOptions options;
    options.registry = &registry;
    if (prepared) options.layers.add(*prepared);
    const std::string id = (*program->plan("forward"))->delegates()->Get(0)->id()->str();
    options.backend_options = {
        {id, "inference_precision", tenon::OptionValue(settings.inference_precision)},
        {id, "inference_num_threads", tenon::OptionValue(settings.inference_num_threads)}};
    Ours out;
    TENON_TRY(out.method,
              tenon::host::Method::load(std::move(program), "forward", std::move(options)));
    TENON_RETURN_IF_ERROR(
        out.method->set_input(0, {tenon::ScalarType::Float, input.shape, input.data.span()}));
    return out;
  }

  [[nodiscard]] tenon::TensorView output() const {
    return tenon::TensorView(*method->output(0).as.tensor);
  }
};

std::span<const std::byte> bytes_of(const tenon::TensorView& tensor) {
  return {tensor.data(), tensor.nbytes()};
}

/// The largest difference of float32 outputs.
double difference(std::span<const std::byte> a, std::span<const std::byte> b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (std::size_t at = 0; at + sizeof(float) <= a.size(); at += sizeof(float)) {
    float x = 0;
    float y = 0;
    std::memcpy(&x, a.data() + at, sizeof x);
    std::memcpy(&y, b.data() + at, sizeof y);
    largest = std::max(largest, static_cast<double>(std::fabs(x - y)));
  }
  return largest;
}

Status measure(std::vector<Side>& sides, const Arguments& arguments) {
  for (int round = 0; round < arguments.rounds; ++round) {
    for (std::size_t turn = 0; turn < sides.size(); ++turn) {
      Side& side = sides[(turn + static_cast<std::size_t>(round)) % sides.size()];
      const double start = microseconds();
      for (int i = 0; i < arguments.calls; ++i) {
        if (!side.call()) return tenon::error(tenon::Error::Internal, side.name, ": a call failed");
      }
      side.least = std::min(side.least, (microseconds() - start) / arguments.calls);
    }
  }
  return tenon::ok();
}

Status calls(const Arguments& arguments) {
  const fs::path directory = arguments.directory;
  tenon::host::BackendRegistry registry;
  TENON_RETURN_IF_ERROR(registry.register_backend(fs::path(arguments.plugin)));
  TENON_TRY(const auto program, tenon::host::Program::open((directory / "model.pte").string()));
  TENON_TRY(const std::string file, tenon::host::read_file(directory / "model.pte"));
  TENON_TRY(const auto input, tenon::host::read_npy((directory / "in0_0.npy").string()));
  TENON_TRY(const auto* plan, program->plan("forward"));
  const auto payload = program->view().delegate_data(*plan->delegates()->Get(0));

  std::vector<std::unique_ptr<Direct>> direct;
  std::vector<std::unique_ptr<Ours>> ours;
  std::vector<Side> sides;
  for (const char* precision : {"f32", "bf16"}) {
    Settings settings;
    settings.device = "CPU";
    settings.inference_precision = precision;
    settings.inference_num_threads = arguments.threads;
    TENON_TRY(Ours loaded, Ours::load(program, registry, input, settings));
    ours.push_back(std::make_unique<Ours>(std::move(loaded)));
    direct.push_back(std::make_unique<Direct>());
    TENON_RETURN_IF_ERROR(ours.back()->method->execute());
    TENON_RETURN_IF_ERROR(direct.back()->load(
        settings, payload, tenon::TensorView(*ours.back()->method->input(0).as.tensor),
        ours.back()->output()));
    Direct* const api = direct.back().get();
    tenon::host::Method* const method = ours.back()->method.get();
    const Ours* const mine = ours.back().get();
    sides.push_back({tenon::concat("OpenVINO's C API, ", precision),
                     [api] {
                       return api->core->api().infer_request_infer(api->request.get()) ==
                              openvino_backend::ov_ok;
                     },
                     [api] { return std::span<const std::byte>(api->output); }});
    sides.push_back({tenon::concat("plugin in tenon's host, ", precision),
                     [method] { return method->execute().ok(); },
                     [mine] { return bytes_of(mine->output()); }});
  }
  std::unique_ptr<tenon::live::StockCalls> stock;
  if (!arguments.stock.empty()) {
    TENON_RETURN_IF_ERROR(tenon::live::load_stock_library(arguments.stock));
    TENON_TRY(auto loaded,
              tenon::live::StockCalls::load(std::as_bytes(std::span(file)), input.data.span()));
    stock = std::make_unique<tenon::live::StockCalls>(std::move(loaded));
    sides.push_back({"stock runtime with its delegate", [&stock] { return stock->execute(); },
                     [&stock] { return stock->output(); }});
  }
  TENON_RETURN_IF_ERROR(measure(sides, arguments));
  std::printf("%s: least of %d rounds of %d calls\n", directory.filename().c_str(),
              arguments.rounds, arguments.calls);
  for (const Side& side : sides) {
    std::printf("  %-36s %9.2f us   x%.3f   outputs differ by %.2g from the first's\n",
                side.name.c_str(), side.least, side.least / sides.front().least,
                difference(sides.front().output(), side.output()));
  }
  std::printf("  plugin / C API: f32 %.3f, bf16 %.3f\n", sides[1].least / sides[0].least,
              sides[3].least / sides[2].least);
  if (stock) {
    std::printf("  plugin / stock: f32 %.3f, bf16 %.3f\n", sides[1].least / sides[4].least,
                sides[3].least / sides[4].least);
  }
  return tenon::ok();
}

/// Loads the plugin and the program of `--cold`, and runs it once.
Status start_plugin(const Arguments& arguments, const std::string& cache) {
  tenon::host::BackendRegistry registry;
  TENON_RETURN_IF_ERROR(registry.register_backend(fs::path(arguments.plugin)));
  const fs::path directory = arguments.cold;
  TENON_TRY(auto program, tenon::host::Program::open((directory / "model.pte").string()));
  TENON_TRY(const auto input, tenon::host::read_npy((directory / "in0_0.npy").string()));
  std::optional<tenon::host::PreparedCache> prepared;
  if (!cache.empty()) {
    TENON_TRY(prepared, tenon::host::PreparedCache::open(cache));
  }
  TENON_TRY(Ours ours, Ours::load(std::move(program), registry, input, Settings(),
                                  prepared ? &*prepared : nullptr));
  return ours.method->execute();
}

/// Starts the IR through OpenVINO's C API alone, with OpenVINO's own cache (`CACHE_DIR`).
Status start_direct(const Arguments& arguments, const std::string& cache) {
  const fs::path directory = arguments.cold;
  TENON_TRY(const auto program, tenon::host::Program::open((directory / "model.pte").string()));
  TENON_TRY(const auto input, tenon::host::read_npy((directory / "in0_0.npy").string()));
  TENON_TRY(const auto* plan, program->plan("forward"));
  TENON_TRY(const auto blob, openvino_backend::read_ir_blob(
                                 program->view().delegate_data(*plan->delegates()->Get(0))));
  const auto key = program->find_key(blob.key);
  if (!key) return tenon::error(tenon::Error::NotFound, "no weights '", blob.key, "'");
  const std::span<const std::byte> weights = program->key_data(*key);
  Settings settings;
  settings.device = "CPU";
  Cores cores;
  TENON_TRY(const auto core, cores.find(settings));
  const auto& api = core->api();
  const auto need = [&](auto status) { return check(api, status, "start"); };
  if (!cache.empty()) {
    TENON_RETURN_IF_ERROR(
        need(api.core_set_property(core->object.get(), "CPU", "CACHE_DIR", cache.c_str())));
  }
  auto size = static_cast<std::int64_t>(weights.size());
  std::vector<std::int64_t> sizes(input.shape.begin(), input.shape.end());
  OwnedTensor bytes(api);
  OwnedTensor in(api);
  openvino_backend::OwnedModel model(api);
  OwnedCompiledModel compiled(api);
  OwnedRequest request(api);
  TENON_RETURN_IF_ERROR(
      need(api.tensor_create_from_host_ptr(openvino_backend::ElementType::u8, {1, &size},
                                           const_cast<std::byte*>(weights.data()), bytes.out())));
  TENON_RETURN_IF_ERROR(need(api.core_read_model_from_memory_buffer(
      core->object.get(), blob.xml.data(), blob.xml.size(), bytes.get(), model.out())));
  TENON_RETURN_IF_ERROR(
      need(api.core_compile_model(core->object.get(), model.get(), "CPU", 0, compiled.out())));
  TENON_RETURN_IF_ERROR(
      need(api.compiled_model_create_infer_request(compiled.get(), request.out())));
  TENON_RETURN_IF_ERROR(need(api.tensor_create_from_host_ptr(
      openvino_backend::ElementType::f32, {static_cast<std::int64_t>(sizes.size()), sizes.data()},
      const_cast<std::byte*>(input.data.span().data()), in.out())));
  TENON_RETURN_IF_ERROR(
      need(api.infer_request_set_input_tensor_by_index(request.get(), 0, in.get())));
  return need(api.infer_request_infer(request.get()));
}

using Start = Status (*)(const Arguments&, const std::string& cache);

/// Milliseconds from the start of a process to its first output, or a negative number.
double cold_start(const Arguments& arguments, Start start_one, const std::string& cache) {
  int ends[2];
  if (::pipe(ends) != 0) return -1;
  const pid_t child = ::fork();
  if (child == 0) {
    const double start = microseconds();
    const Status status = start_one(arguments, cache);
    double took = (microseconds() - start) / 1000;
    if (!status.ok()) {
      std::fprintf(stderr, "bench-openvino: %s\n", tenon::describe(status).c_str());
      took = -1;
    }
    const bool sent = ::write(ends[1], &took, sizeof took) == sizeof took;
    // Without destructors: threads of OpenVINO may still run.
    ::_exit(sent ? 0 : 1);
  }
  ::close(ends[1]);
  double took = -1;
  if (child < 0 || ::read(ends[0], &took, sizeof took) != sizeof took) took = -1;
  ::close(ends[0]);
  if (child > 0) ::waitpid(child, nullptr, 0);
  return took;
}

Status cold_starts(const Arguments& arguments) {
  struct Way {
    const char* name;
    Start start;
    tenon::test::TemporaryDirectory cache = {};
    double without = std::numeric_limits<double>::infinity();
    double with = std::numeric_limits<double>::infinity();
  };
  Way ways[] = {{"plugin", start_plugin}, {"OpenVINO's C API", start_direct}};
  for (const Way& way : ways) {
    cold_start(arguments, way.start, way.cache.path());  // Fills it, and the page cache.
  }
  for (int i = 0; i < arguments.starts; ++i) {
    for (Way& way : ways) {
      way.without = std::min(way.without, cold_start(arguments, way.start, ""));
      way.with = std::min(way.with, cold_start(arguments, way.start, way.cache.path()));
    }
  }
  std::printf("%s: cold start, least of %d in turns\n", fs::path(arguments.cold).filename().c_str(),
              arguments.starts);
  bool failed = false;
  for (const Way& way : ways) {
    std::printf("  %-20s %8.1f ms, with the cache %8.1f ms, x%.3f\n", way.name, way.without,
                way.with, way.with / way.without);
    failed = failed || way.with < 0 || way.without < 0;
  }
  return failed ? tenon::error(tenon::Error::Internal, "a start failed") : tenon::ok();
}

std::int64_t resident_kib() {
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  long long size = 0;
  long long resident = 0;
  const bool read = file && std::fscanf(file, "%lld %lld", &size, &resident) == 2;
  if (file) std::fclose(file);
  return read ? resident * ::sysconf(_SC_PAGESIZE) / 1024 : -1;
}

/// Prints how the resident memory grows while `load` loads, runs and destroys again and again.
template <class Load>
Status grow(const char* name, int loads, const Load& load) {
  std::int64_t first = 0;
  for (int i = 0; i < loads; ++i) {
    if (i == loads / 10) first = resident_kib();
    TENON_RETURN_IF_ERROR(load());
  }
  const std::int64_t last = resident_kib();
  std::printf("  %-24s %lld KiB after %d loads, %lld KiB after %d\n", name,
              static_cast<long long>(first), loads / 10, static_cast<long long>(last), loads);
  return tenon::ok();
}

Status loads(const Arguments& arguments) {
  const fs::path directory = arguments.directory;
  TENON_TRY(const auto program, tenon::host::Program::open((directory / "model.pte").string()));
  TENON_TRY(const auto input, tenon::host::read_npy((directory / "in0_0.npy").string()));
  TENON_TRY(const auto* plan, program->plan("forward"));
  const auto payload = program->view().delegate_data(*plan->delegates()->Get(0));
  Settings settings;
  settings.device = "CPU";
  settings.inference_num_threads = arguments.threads;
  std::printf("%s: resident memory\n", directory.filename().c_str());
  {
    Cores cores;
    TENON_TRY(const auto core, cores.find(settings));
    const auto& api = core->api();
    const auto load = [&]() -> Status {
      OwnedCompiledModel model(api);
      OwnedRequest request(api);
      const std::string_view text = tenon::as_text(payload);
      TENON_RETURN_IF_ERROR(check(
          api,
          api.core_import_model(core->object.get(), text.data(), text.size(), "CPU", model.out()),
          "import"));
      TENON_RETURN_IF_ERROR(
          check(api, api.compiled_model_create_infer_request(model.get(), request.out()), "load"));
      return check(api, api.infer_request_infer(request.get()), "run");
    };
    TENON_RETURN_IF_ERROR(grow("OpenVINO's C API", arguments.loads, load));
  }
  tenon::host::BackendRegistry registry;
  TENON_RETURN_IF_ERROR(registry.register_backend(fs::path(arguments.plugin)));
  return grow("plugin in tenon's host", arguments.loads, [&]() -> Status {
    TENON_TRY(Ours ours, Ours::load(program, registry, input, settings));
    return ours.method->execute();
  });
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Times OpenVINO through the plugin, its C API and the stock runtime.",
               "bench-openvino");
  app.add_option("--plugin", arguments.plugin, "openvino.so")->required();
  app.add_option("--case", arguments.directory,
                 "directory with model.pte of OpenvinoBackend, in0_0.npy");
  app.add_option("--stock", arguments.stock, "the wheel's libexecutorch_backend_openvino.so");
  app.add_option("--cold", arguments.cold, "directory like --case, of TenonOpenvino's IR");
  app.add_option("--rounds", arguments.rounds)->capture_default_str();
  app.add_option("--calls", arguments.calls, "in each round")->capture_default_str();
  app.add_option("--starts", arguments.starts, "of processes")->capture_default_str();
  app.add_option("--loads", arguments.loads, "of the case; prints the memory instead of times")
      ->capture_default_str();
  app.add_option("--threads", arguments.threads, "for one run; 0: OpenVINO chooses")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  // Before anything here has started a thread.
  Status status = arguments.cold.empty() ? tenon::ok() : cold_starts(arguments);
  if (status.ok() && !arguments.directory.empty()) {
    status = arguments.loads == 0 ? calls(arguments) : loads(arguments);
  }
  if (status.ok()) return 0;
  std::fprintf(stderr, "bench-openvino: %s\n", tenon::describe(status).c_str());
  return 1;
}
