// SPDX-License-Identifier: MIT
#include "program.hpp"
#include "budget.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include "array.hpp"
#include "error.hpp"
#include "interpreter.hpp"
#include "long_work.hpp"
#include "method.hpp"
#include "tenon/core/args.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/isolation.hpp"
#include "tenon/host/layers/budget/budget.hpp"
#include "tenon/host/layers/data/data_files.hpp"
#include "tenon/host/layers/data/merged_data_map.hpp"
#include "tenon/host/layers/inspect/method_meta.hpp"
#include "tenon/host/layers/scheduling/scheduling_hints.hpp"
#include "tenon/host/layers/variants/variant.hpp"
#include "tenon/host/layers/variants/variants.hpp"
#include "tenon/host/loader/program/device_buffers.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon::python {

namespace nb = nanobind;

namespace {

/// A buffer of another object, and a copy of it where it is not aligned as programs are, or may be
/// changed: what was verified must stay as it is.
class HeldBytes {
 public:
  explicit HeldBytes(PyObject* object) : buffer_(object) {
    const Py_buffer& view = buffer_.view;
    bytes_ = {static_cast<const std::byte*>(view.buf), static_cast<std::size_t>(view.len)};
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(view.buf) % alignment == 0;
    if (is_aligned && is_constant(object)) return;
    copy_.reset(new (std::align_val_t(alignment)) std::byte[bytes_.size()]);
    std::memcpy(copy_.get(), view.buf, bytes_.size());
    bytes_ = {copy_.get(), bytes_.size()};
  }

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  static constexpr std::size_t alignment = 16;

  /// `bytes` and views of them. A read-only buffer may refer to memory that is written, as a NumPy
  /// array does whose base is written to.
  [[nodiscard]] static bool is_constant(PyObject* object) {
    return PyBytes_Check(object) ||
           (PyMemoryView_Check(object) &&
            PyBytes_Check(nb::object(nb::handle(object).attr("obj")).ptr()));
  }

  struct Buffer {
    explicit Buffer(PyObject* object) {
      if (PyObject_GetBuffer(object, &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
    }
    /// Programs are also destroyed by threads without the GIL.
    ~Buffer() {
      const HeldGil held;
      PyBuffer_Release(&view);
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    Py_buffer view;
  };
  struct Free {
    void operator()(std::byte* bytes) const noexcept {
      ::operator delete[](bytes, std::align_val_t(alignment));
    }
  };

  Buffer buffer_;
  std::unique_ptr<std::byte[], Free> copy_;
  std::span<const std::byte> bytes_;
};

/// Opens a file or bytes: `File` is Program or DataFile, `Opener` has the function for paths.
template <class File, class Opener = File>
std::shared_ptr<const File> open(nb::handle from, const host::HostLimits& limits) {
  if (PyObject_CheckBuffer(from.ptr()) != 0) {
    auto held = std::make_shared<const HeldBytes>(from.ptr());
    const std::span<const std::byte> bytes = held->bytes();
    return take(File::from_bytes(bytes, std::move(held), "<bytes>", limits));
  }
  PyObject* const path = PyOS_FSPath(from.ptr());
  if (!path) throw nb::python_error();
  const nb::object held = nb::steal(path);
  PyObject* const encoded =
      PyUnicode_Check(path) ? PyUnicode_EncodeFSDefault(path) : Py_NewRef(path);
  if (!encoded) throw nb::python_error();
  const nb::bytes text = nb::steal<nb::bytes>(encoded);
  const std::filesystem::path file(std::string(text.c_str(), text.size()));
  return take(Opener::open(file, limits));
}

tool::ToolLimits read_limits(const nb::dict& given) {
  tool::ToolLimits limits;
  for (const auto& [name, value] : given) {
    const nb::object text =
        value.is_none() ? nb::object(nb::str("none")) : nb::object(nb::str(value));
    check(limits.set(concat(nb::cast<std::string>(name), "=", nb::cast<std::string>(text))));
  }
  return limits;
}

std::vector<host::DeviceBytes> read_budget(const nb::dict& given) {
  std::vector<host::DeviceBytes> budget;
  for (const auto& [device, value] : given) {
    const auto bytes = nb::cast<std::string>(nb::str(value));
    auto entry = tool::parse_budget(concat(nb::cast<std::string>(device), "=", bytes));
    if (!entry.ok()) raise(std::move(entry).status().with_context("budget"));
    budget.push_back(*entry);
  }
  return budget;
}

OptionValue read_value(nb::handle value, std::string_view backend, std::string_view key) {
  PyObject* const object = value.ptr();
  if (PyBool_Check(object)) return object == Py_True;
  if (PyLong_Check(object)) return nb::cast<std::int64_t>(value);
  if (PyFloat_Check(object)) return nb::cast<double>(value);
  if (PyUnicode_Check(object)) return nb::cast<std::string>(value);
  if (PyBytes_Check(object)) {
    const nb::bytes bytes = nb::borrow<nb::bytes>(value);
    const auto* const first = static_cast<const std::byte*>(bytes.data());
    return std::vector<std::byte>(first, first + bytes.size());
  }
  throw nb::type_error(concat("options: ", backend, ".", key,
                              ": expected bool, int, float, str or bytes, found ",
                              name_of_type(object))
                           .c_str());
}

/// The text of `value`, or a TypeError that names it.
std::string read_name(nb::handle value, std::string_view what) {
  if (PyUnicode_Check(value.ptr())) return nb::cast<std::string>(value);
  throw nb::type_error(concat("options: expected ", what, " as str, found ", name_of_type(value),
                              " ", nb::repr(value).c_str())
                           .c_str());
}

std::vector<host::BackendOption> read_options(const nb::dict& given) {
  std::vector<host::BackendOption> options;
  for (const auto& [backend, values] : given) {
    const std::string id = read_name(backend, "the id of a backend");
    if (!PyDict_Check(values.ptr())) {
      throw nb::type_error(
          concat("options: ", id, ": expected a dict of its options, found ", name_of_type(values))
              .c_str());
    }
    for (const auto& [key, value] : nb::cast<nb::dict>(values)) {
      const std::string name = read_name(key, concat("the key of an option of ", id));
      options.push_back({id, name, read_value(value, id, name)});
    }
  }
  return options;
}

/// Priority, goal and power, each by its name or None.
using Hints = std::array<std::optional<std::string>, 3>;

/// The value of a hint of that name: the number of the name among `names`, from 1.
template <class Hint>
void read_hint(const std::optional<std::string>& given, std::string_view name,
               std::initializer_list<std::string_view> names, Hint& to) {
  if (!given) return;
  const auto found = std::ranges::find(names, *given);
  if (found != names.end()) {
    to = static_cast<Hint>(found - names.begin() + 1);
    return;
  }
  std::string expected;
  for (const std::string_view one : names) expected += concat(expected.empty() ? "" : ", ", one);
  raise(error(Error::InvalidArgument, name, ": expected ", expected, " or None, found '",
              std::string_view(*given), "'"));
}

Scheduling read_hints(const Hints& hints) {
  Scheduling out;
  read_hint(hints[0], "priority", {"low", "normal", "high"}, out.priority);
  read_hint(hints[1], "goal", {"latency", "throughput"}, out.goal);
  read_hint(hints[2], "power", {"low", "balanced", "high"}, out.power);
  return out;
}

const host::Program& opened(const ProgramObject& self) {
  if (self.program) return *self.program;
  raise(error(Error::InvalidState, self.name, ": expected an open program, found a closed one"));
}

std::unique_ptr<ProgramObject> open_program(
    nb::handle model, const nb::sequence& data, const Registry& registry, const nb::dict& options,
    const std::string& embedded_code, const nb::dict& limits, const nb::dict& budget,
    std::shared_ptr<host::Trace> trace, std::shared_ptr<host::WorkerPool> threads,
    const Hints& hints, std::shared_ptr<host::PreparedCache> prepared,
    const std::optional<std::string>& isolate, std::optional<bool> prove) {
  auto self = std::make_unique<ProgramObject>();
  self->limits = read_limits(limits);
  self->budget = read_budget(budget);
  self->embedded_code = take(host::EmbeddedCodePolicy::parse(embedded_code));
  self->backend_options = read_options(options);
  self->program = open<host::Program, host::Variants>(model, self->limits.of_host);
  static_cast<void>(take(host::Variants::of(*self->program)));  // Of bytes as well.
  self->name = self->program->name();
  for (const nb::handle file : data) {
    self->data_files.push_back(open<host::DataFile>(file, self->limits.of_host));
  }
  self->registry = registry.registry;
  self->trace = std::move(trace);
  self->threads = std::move(threads);
  self->scheduling = read_hints(hints);
  self->prepared = std::move(prepared);
  self->prove = prove;
  if (isolate) {
    auto rules = host::parse_isolation_rules(*isolate);
    if (!rules.ok()) raise(std::move(rules).status().with_context("isolate"));
    self->isolation = std::make_shared<host::WorkerIsolation>(*std::move(rules), registry.worker);
  }
  return self;
}

std::vector<std::string_view> visible_methods(const host::Program& program) {
  return take(host::Variants::of(program)).visible_methods();
}

/// Whether a delegate of the method, in any of its variants, is of the backend.
bool uses_backend(const host::Program& program, std::string_view method, std::string_view id) {
  const host::Variants variants = take(host::Variants::of(program));
  for (const host::ProgramVariant& variant : variants.of_method(method)) {
    for (const host::VariantNeed& need : variant.needs) {
      if (need.backend_id == id) return true;
    }
  }
  return take(host::MethodMeta::of(program, method)).uses_backend(id);
}

/// Options of the program for the backends of one method: the others would be refused.
std::vector<host::BackendOption> options_of(const ProgramObject& self, std::string_view name) {
  std::vector<host::BackendOption> options;
  for (const host::BackendOption& option : self.backend_options) {
    bool is_of_another = false;
    for (const std::string_view method : visible_methods(*self.program)) {
      is_of_another |= uses_backend(*self.program, method, option.backend_id);
    }
    if (!is_of_another || uses_backend(*self.program, name, option.backend_id)) {
      options.push_back(option);
    }
  }
  return options;
}

std::unique_ptr<MethodObject> load_one(const ProgramObject& self, const std::string& name,
                                       std::optional<nb::dict> options,
                                       std::optional<std::string> embedded_code,
                                       std::optional<std::string> variant, nb::object progress) {
  static_cast<void>(take(opened(self).plan(name)));
  LoadArguments arguments{
      self.program, name, {}, self.registry, self.trace, self.threads, self.limits.output_bytes,
      self.prepared};
  arguments.options.layers.add(host::DataFiles(self.data_files));
  arguments.options.limits = self.limits.of_host;
  arguments.options.layers.add(host::SchedulingHints(self.scheduling));
  arguments.options.layers.add(host::Budget(self.budget));
  if (self.isolation) arguments.options.layers.add(host::Isolation(self.isolation));
  if (!self.prove) {
    check(host::add_prove_of_environment(arguments.options.layers));
  } else {
    arguments.options.layers.add(*self.prove ? host::Prove() : host::Prove::nothing());
  }
  arguments.options.backend_options = options ? read_options(*options) : options_of(self, name);
  arguments.options.layers.add(embedded_code ? take(host::EmbeddedCodePolicy::parse(*embedded_code))
                                             : self.embedded_code);
  if (variant) arguments.options.layers.add(host::Variant(*std::move(variant)));
  return load_method(std::move(arguments), std::move(progress));
}

nb::list method_names(const ProgramObject& self) {
  nb::list names;
  for (const std::string_view name : visible_methods(opened(self))) {
    names.append(nb::str(name.data(), name.size()));
  }
  return names;
}

nb::dict tensor_dict(const host::TensorMeta& tensor) {
  nb::dict out;
  const ScalarTypeInfo& info =
      *find_scalar_type(static_cast<std::int64_t>(tensor.layout.scalar_type));
  out["dtype"] = nb::str(info.torch_name.data(), info.torch_name.size());
  nb::list sizes, order;
  for (const auto size : tensor.layout.sizes) sizes.append(static_cast<std::int64_t>(size));
  for (const auto dim : tensor.layout.dim_order) order.append(static_cast<std::int64_t>(dim));
  out["sizes"] = nb::tuple(sizes);
  out["dim_order"] = nb::tuple(order);
  constexpr const char* dynamism[] = {"static", "dynamic_bound", "dynamic_unbound"};
  out["shape_dynamism"] = dynamism[std::min<std::uint32_t>(tensor.shape_dynamism, 2)];
  out["is_memory_planned"] = tensor.is_memory_planned;
  out["device"] = host::device_name(tensor.device);
  out["name"] = nb::str(tensor.name.data(), tensor.name.size());
  return out;
}

nb::dict value_dict(std::uint32_t kind) {
  nb::dict out;
  const std::string_view name = value_kind_name(kind);
  out["kind"] = nb::str(name.data(), name.size());
  return out;
}

/// Facts of a method, which the package makes a dataclass of.
nb::dict method_meta(const ProgramObject& self, const std::string& name) {
  const host::MethodMeta meta = take(host::MethodMeta::of(opened(self), name));
  nb::list inputs, outputs, backends, buffers;
  for (std::size_t i = 0; i < meta.num_inputs(); ++i) {
    const std::uint32_t kind = take(meta.input_tag(i));
    nb::dict about = value_dict(kind);
    if (kind == TENON_VALUE_TENSOR) about["tensor"] = tensor_dict(take(meta.input_tensor_meta(i)));
    inputs.append(about);
  }
  for (std::size_t i = 0; i < meta.num_outputs(); ++i) {
    const std::uint32_t kind = take(meta.output_tag(i));
    nb::dict about = value_dict(kind);
    if (kind == TENON_VALUE_TENSOR) about["tensor"] = tensor_dict(take(meta.output_tensor_meta(i)));
    outputs.append(about);
  }
  for (const std::string_view id : meta.backends()) backends.append(nb::str(id.data(), id.size()));
  for (std::size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
    buffers.append(take(meta.memory_planned_buffer_size(i)));
  }
  nb::dict variants;
  const host::Variants all = take(host::Variants::of(*self.program));
  for (const host::ProgramVariant& variant : all.of_method(name)) {
    nb::list ids;
    for (const host::VariantNeed& need : variant.needs) {
      ids.append(nb::str(need.backend_id.data(), need.backend_id.size()));
    }
    variants[nb::str(variant.name.data(), variant.name.size())] = ids;
  }
  nb::dict out;
  out["name"] = name;
  out["variants"] = variants;
  out["inputs"] = inputs;
  out["outputs"] = outputs;
  out["backends"] = backends;
  out["memory_planned_buffers"] = buffers;
  out["num_instructions"] = meta.num_instructions();
  return out;
}

/// Named data of the program and of its data files. Fails as `Method::load` for a key twice.
nb::dict named_data(const ProgramObject& self) {
  const auto map = take(host::MergedDataMap::create((opened(self), self.program), self.data_files));
  nb::dict out;
  const auto add = [&](const auto& file) {
    for (std::uint32_t i = 0; i < file->num_keys(); ++i) {
      const std::string_view key = file->key(i);
      out[nb::str(key.data(), key.size())] = nb::cast(borrow_bytes(file->key_data(i), file));
    }
  };
  add(self.program);
  for (const auto& file : self.data_files) add(file);
  return out;
}

}  // namespace

void bind_program(nb::module_& module) {
  nb::class_<host::Trace> trace(
      module, "Trace",
      R"(Events of loading and running methods, with their times. `load` takes one.

    trace = tenon.Trace()
    method = tenon.load("model.pte", trace=trace)["forward"]
    method(x)
    trace.write("trace.json")  # for Perfetto, or chrome://tracing

Recording makes runs slower.)");
  trace.attr("__module__") = "tenon";
  trace.def(nb::init<>(), "Starts the clock: all times are relative to this moment.")
      .def("json", &host::Trace::json, nb::call_guard<ReleasedGil>(),
           "The events as JSON trace events.")
      .def(
          "write",
          [](const host::Trace& self, const nb::object& path) {
            const nb::object text = nb::steal(PyOS_FSPath(path.ptr()));
            if (!text) throw nb::python_error();
            check(self.write(nb::cast<std::string>(text)));
          },
          nb::arg("path"), "Writes the events to a file.")
      .def(
          "_repr_svg_",
          [](const nb::handle& self) {
            return nb::module_::import_("tenon._pictures").attr("trace_svg")(self);
          },
          "The events as a picture, in a notebook.")
      .def("__len__", &host::Trace::size)
      .def_prop_ro("dropped", &host::Trace::dropped, "Number of lost events.");

  nb::class_<host::PreparedCache>(module, "PreparedCache",
                                  "Where backends keep what they prepare from programs.")
      .def(nb::new_([](const std::string& directory) {
             const auto path = directory.empty() ? take(host::default_prepared_directory())
                                                 : host::path_of(directory);
             return std::make_shared<host::PreparedCache>(take(host::PreparedCache::open(path)));
           }),
           nb::arg("directory"));

  nb::class_<host::WorkerPool> threads(
      module, "ThreadPool",
      R"(Threads on which backends compute, shared by programs. `load` takes one.

    pool = tenon.ThreadPool(2)
    encoder = tenon.load("encoder.pte", threads=pool)["forward"]
    decoder = tenon.load("decoder.pte", threads=pool)["forward"]

The thread that runs a method computes, too. Some backends use only their own threads.)");
  threads.attr("__module__") = "tenon";
  threads
      .def(nb::new_([](std::uint32_t num_threads) {
             return std::shared_ptr<host::WorkerPool>(take(host::WorkerPool::create(num_threads)));
           }),
           nb::arg("num_threads"))
      .def_prop_ro("num_threads", &host::WorkerPool::num_threads, "Threads that compute at once.");

  nb::class_<ProgramObject>(module, "Program")
      .def_ro("name", &ProgramObject::name)
      .def_prop_ro("is_closed", [](const ProgramObject& self) { return !self.program; })
      .def("load_method", &load_one, nb::arg("name"), nb::arg("options").none(),
           nb::arg("embedded_code").none(), nb::arg("variant").none(), nb::arg("progress").none())
      .def("method_names", &method_names)
      .def("method_meta", &method_meta, nb::arg("name"))
      .def("named_data", &named_data)
      .def("close", [](ProgramObject& self) {
        self.program.reset();
        self.data_files.clear();
      });
  module.def("open_program", &open_program, nb::arg("model"), nb::arg("data"), nb::arg("registry"),
             nb::arg("options"), nb::arg("embedded_code"), nb::arg("limits"), nb::arg("budget"),
             nb::arg("trace").none(), nb::arg("threads").none(), nb::arg("hints"),
             nb::arg("prepared").none(), nb::arg("isolate").none(), nb::arg("prove").none());
}

}  // namespace tenon::python
