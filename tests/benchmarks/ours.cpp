// SPDX-License-Identifier: MIT
#include "ours.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string_view>
#include <utility>

#include "tenon/host/async.hpp"
#include "tenon/host/backend_registry.hpp"
#include "tenon/host/layers/discovery/discovery.hpp"
#include "tenon/host/loader/method/method.hpp"
#include "tenon/host/loader/program/program.hpp"

namespace tenon::bench::ours {
namespace {

constexpr const char* noop_id = "NoopBackend";

[[noreturn]] void fail(std::string_view what, const Status& status) {
  throw Failure(fmt::format("our host: {}: {}", what, describe(status)));
}

/// The value of `result`, or the end of the benchmark.
template <class T>
T checked(Result<T>&& result, std::string_view what) {
  if (!result.ok()) [[unlikely]]
    fail(what, std::move(result).status());
  return *std::move(result);
}

void check(const Status& status, std::string_view what) {
  if (!status.ok()) [[unlikely]]
    fail(what, status);
}

/// Plugins that are linked in, all with the functions of one backend and each with an id of its
/// own.
class StaticPlugins {
 public:
  explicit StaticPlugins(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      Object& object = objects_.emplace_back();
      constexpr std::uint8_t magic[] = TENON_PLUGIN_MAGIC;
      std::copy(std::begin(magic), std::end(magic), object.head.magic);
      object.head.head_size = sizeof object.head;
      object.head.object_size = sizeof object;
      object.head.abi_major = TENON_ABI_MAJOR;
      object.head.abi_minor = TENON_ABI_MINOR;
      object.head.pointer_size = sizeof(void*);
      object.head.little_endian = 1;
      object.head.num_backends = 1;
      object.head.records_offset = offsetof(Object, record);
      object.head.record_size = sizeof object.record;
      object.head.body_offset = offsetof(Object, body);
      object.record.struct_size = sizeof object.record;
      const auto id = fmt::format("BenchmarkBackend{}", 1000 + i);
      id.copy(object.head.name, sizeof object.head.name - 1);
      id.copy(object.record.id, sizeof object.record.id - 1);
      object.body = {sizeof object.body, 1, &functions};
      ids_.push_back(id);
    }
  }

  [[nodiscard]] const std::vector<std::string>& ids() const { return ids_; }
  [[nodiscard]] const tenon_plugin_head* head(std::size_t i) const { return &objects_[i].head; }

 private:
  struct Object {
    tenon_plugin_head head;
    tenon_backend_record record;
    tenon_plugin_body body;
  };

  static constexpr tenon_backend_api api = {
      sizeof(tenon_backend_api),
      0,
      [](const tenon_host*, tenon_backend** out) -> tenon_status {
        *out = nullptr;
        return TENON_STATUS_OK;
      },
      [](tenon_backend*) {},
      [](tenon_backend*) -> tenon_status { return TENON_STATUS_OK; },
      [](tenon_backend*, const tenon_init_context*, tenon_delegate**) -> tenon_status {
        return TENON_STATUS_NOT_IMPLEMENTED;
      },
      [](tenon_backend*, tenon_delegate*, const tenon_execution_context*, tenon_value* const*,
         std::uint32_t) -> tenon_status { return TENON_STATUS_NOT_IMPLEMENTED; },
      [](tenon_backend*, tenon_delegate*) {},
      [](tenon_backend*, const char*) -> const void* { return nullptr; },
  };
  static constexpr const tenon_backend_api* functions = &api;

  std::deque<Object> objects_;  // Addresses stay.
  std::vector<std::string> ids_;
};

/// A registry in which every backend is loaded already.
struct LoadedRegistry {
  explicit LoadedRegistry(std::size_t count) : plugins(count) {
    for (std::size_t i = 0; i < count; ++i) {
      check(registry.register_backend(plugins.head(i)), "add_static_plugin");
      backends.push_back(checked(registry.lookup_backend(plugins.ids()[i]), "lookup_backend"));
    }
  }

  StaticPlugins plugins;
  host::BackendRegistry registry;
  std::vector<host::BackendRef> backends;
};

/// Inputs begin on a line of the processor's cache, as the stock side's do, which are in planned
/// memory.
struct alignas(64) CacheLine {
  std::byte bytes[64];
};

/// An open program and a registry that knows its plugins. A single one is loaded already.
struct OpenProgram {
  OpenProgram(const std::string& path, const std::string& plugin)
      : OpenProgram(path, std::vector{plugin}) {
    backend = checked(registry.lookup_backend(noop_id), "lookup_backend");
  }
  OpenProgram(const std::string& path, const std::vector<std::string>& plugins)
      : program(checked(host::Program::open(path), "Program::open")) {
    for (const auto& plugin : plugins) check(registry.register_backend(plugin), "add_plugin_file");
  }

  [[nodiscard]] Result<std::unique_ptr<host::Method>> load(host::Executor executor = {}) const {
    host::MethodOptions options;
    options.registry = &registry;
    if (executor) options.layers.add(host::Async(std::move(executor)));
    return host::Method::load(program, "forward", std::move(options));
  }

  std::shared_ptr<const host::Program> program;
  host::BackendRegistry registry;
  host::BackendRef backend;
};

class LoadedMethod {
 public:
  template <class Plugins>
  LoadedMethod(const std::string& path, const Plugins& plugins)
      : LoadedMethod(std::make_shared<const OpenProgram>(path, plugins)) {}
  explicit LoadedMethod(std::shared_ptr<const OpenProgram> program)
      : program_(std::move(program)),
        method_(
            checked(program_->load(&run_at_once), "Method::load of " + program_->program->name())) {
    for (std::size_t i = 0; i < method_->num_inputs(); ++i) {
      const tenon_tensor& tensor = *method_->input(i).as.tensor;
      auto& data = inputs_.emplace_back(tensor.nbytes / sizeof(CacheLine) + 1);
      check(method_->set_input(i, {static_cast<ScalarType>(tensor.scalar_type),
                                   {tensor.dl.shape, static_cast<std::size_t>(tensor.dl.ndim)},
                                   std::as_bytes(std::span(data)).first(tensor.nbytes)}),
            "set_input");
    }
  }

  void run(std::uint64_t repeats) {
    for (std::uint64_t i = 0; i < repeats; ++i) check(method_->execute(), "execute");
  }
  void run_async(std::uint64_t repeats) {
    for (std::uint64_t i = 0; i < repeats; ++i) {
      check(method_->execute_async([](const Status& outcome) { check(outcome, "a run"); }),
            "execute_async");
    }
  }

 private:
  static Status run_at_once(const std::function<void()>& task) {
    task();
    return ok();
  }

  std::shared_ptr<const OpenProgram> program_;
  std::deque<std::vector<CacheLine>> inputs_;
  std::unique_ptr<host::Method> method_;
};

}  // namespace

Work execute(const std::string& program, const std::string& plugin) {
  const auto method = std::make_shared<LoadedMethod>(program, plugin);
  return [method](std::uint64_t repeats) { method->run(repeats); };
}

Work execute(const std::string& program, const std::vector<std::string>& plugins) {
  const auto method = std::make_shared<LoadedMethod>(program, plugins);
  return [method](std::uint64_t repeats) { method->run(repeats); };
}

std::vector<Work> execute_methods(const std::string& program, const std::string& plugin,
                                  std::size_t count) {
  const auto opened = std::make_shared<const OpenProgram>(program, plugin);
  std::vector<Work> works;
  for (std::size_t i = 0; i < count; ++i) {
    const auto method = std::make_shared<LoadedMethod>(opened);
    works.emplace_back([method](std::uint64_t repeats) { method->run(repeats); });
  }
  return works;
}

Work execute_async(const std::string& program, const std::string& plugin) {
  const auto method = std::make_shared<LoadedMethod>(program, plugin);
  return [method](std::uint64_t repeats) { method->run_async(repeats); };
}

Work load(const std::string& program, const std::string& plugin) {
  const auto opened = std::make_shared<OpenProgram>(program, plugin);
  return [opened](std::uint64_t repeats) {
    for (std::uint64_t i = 0; i < repeats; ++i) keep(checked(opened->load(), "Method::load"));
  };
}

Work open(const std::string& program) {
  return [program](std::uint64_t repeats) {
    for (std::uint64_t i = 0; i < repeats; ++i) {
      keep(checked(host::Program::open(program), "Program::open"));
    }
  };
}

Work look_up(std::size_t count, Name name) {
  const auto loaded = std::make_shared<LoadedRegistry>(count);
  if (name == Name::Missing) {
    return [loaded](std::uint64_t repeats) {
      const std::string id = "BenchmarkBackendXXXX";
      for (std::uint64_t i = 0; i < repeats; ++i) {
        if (loaded->registry.contains(id)) throw Failure("our host knows a missing backend");
      }
    };
  }
  if (name == Name::Kept) {
    const host::BackendRef kept = loaded->backends.front();
    return [loaded, kept](std::uint64_t repeats) {
      for (std::uint64_t i = 0; i < repeats; ++i) {
        keep(kept);
        if (kept->id().empty()) throw Failure("our host has a backend without an id");
      }
    };
  }
  auto ids = loaded->plugins.ids();
  if (name == Name::First) ids = {ids.front()};
  if (name == Name::Last) ids = {ids.back()};
  // Not the order of registration, in which the processor could fetch ahead.
  std::shuffle(ids.begin(), ids.end(), std::mt19937(1));
  return [loaded, ids, next = std::size_t{0}](std::uint64_t repeats) mutable {
    for (std::uint64_t i = 0; i < repeats; ++i) {
      const auto backend = loaded->registry.lookup_backend(ids[next]);
      if (!backend.ok()) throw Failure("our host does not find " + ids[next]);
      next = next + 1 == ids.size() ? 0 : next + 1;
    }
  };
}

Work add_plugin(const std::string& plugin) {
  return [plugin](std::uint64_t repeats) {
    for (std::uint64_t i = 0; i < repeats; ++i) {
      host::BackendRegistry registry;
      check(registry.register_backend(plugin), "add_plugin_file");
      keep(checked(registry.lookup_backend(noop_id), "lookup_backend"));
    }
  };
}

Work list(const std::vector<std::string>& plugins) {
  return [plugins](std::uint64_t repeats) {
    for (std::uint64_t i = 0; i < repeats; ++i) {
      host::BackendRegistry registry;
      for (const auto& plugin : plugins)
        check(registry.register_backend(plugin), "add_plugin_file");
      if (registry.list_backends({}).size() != plugins.size()) throw Failure("a plugin is missing");
    }
  };
}

Work discover(const std::string& directory, std::size_t count) {
  return [directory, count](std::uint64_t repeats) {
    for (std::uint64_t i = 0; i < repeats; ++i) {
      host::BackendRegistry registry;
      registry.add_search(
          host::discovery({.paths = {directory}, .use_environment = false, .installed = {}}));
      if (registry.list_backends({}).size() != count) throw Failure("a plugin is missing");
    }
  };
}

}  // namespace tenon::bench::ours
