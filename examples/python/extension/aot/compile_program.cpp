// SPDX-License-Identifier: MIT
#include "compile_program.hpp"

#include <nanobind/stl/string.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "../interpreter.hpp"
#include "module.hpp"
#include "tenon/abi/version.h"
#include "tenon/aot/compiler/compile_methods.hpp"
#include "tenon/aot/compiler/emit/emit.hpp"
#include "tenon/aot/compiler/lower/delegation_info.hpp"
#include "tenon/aot/compiler/write/ptd_writer.hpp"
#include "tenon/aot/compiler/write/pte_writer.hpp"
#include "tenon/host/layers/trust/impl/field_hasher.hpp"
#include "tenon/host/loader/impl/plugin/host_table.hpp"

namespace nb = nanobind;

namespace tenon::python {

namespace {

/// A compiled program, before it becomes objects of Python.
struct Compiled {
  aot::FileImage program;
  std::vector<std::pair<std::string, aot::FileImage>> files;
  std::vector<std::string> lines;
  aot::DelegationInfo delegation;
};

Result<Compiled> compile(const Program& program, const std::vector<BackendOfCall>& backends,
                         bool whole) {
  std::vector<aot::BackendToUse> uses;
  for (const BackendOfCall& one : backends) {
    uses.push_back({one.backend, one.specs, whole && uses.empty()});
  }
  const aot::EdgeProgram method = program.program.view();
  TENON_TRY(const auto methods, aot::compile_methods(std::span(&method, 1), uses));
  TENON_TRY(const aot::ProgramData data, aot::emit(methods));
  TENON_TRY(aot::FileImage image, aot::make_pte(data));
  Compiled out{std::move(image), {}, {}, aot::get_delegation_info(methods.front().program)};
  for (const aot::ExternalData& external : data.named_data.external_data) {
    TENON_TRY(aot::FileImage file, aot::make_ptd(data.named_data.buffers, external.entries));
    out.files.emplace_back(external.tag, std::move(file));
  }
  for (const aot::PreprocessResult& result : methods.front().results) {
    out.lines.push_back(result.delegate_info);
  }
  return out;
}

/// The bytes that a store keeps of one program.
class Kept {
 public:
  /// Nothing when the plugin has no file by which it could be known.
  static std::optional<Kept> open(const host::PreparedCache& store, const Program& program,
                                  const std::vector<BackendOfCall>& backends) {
    host::detail::FieldHasher hasher;
    hasher.text("tenon.dynamo/1 " TENON_VERSION_STRING);
    for (const BackendOfCall& one : backends) {
      const auto plugin = host::HostTable::plugin_digest(one.backend.backend().host());
      if (!plugin.ok()) return std::nullopt;
      hasher.bytes(std::as_bytes(std::span(plugin->bytes)));
      hasher.text(one.backend.id());
      hasher.number(one.specs.size());
      for (const aot::CompileSpecData& spec : one.specs) {
        hasher.text(spec.key);
        hasher.bytes(spec.value.bytes());
      }
    }
    hasher.bytes(std::as_bytes(std::span(program.calls.bytes)));
    for (const Bytes weight : program.weights) hasher.bytes(weight);
    const host::LoadedBackend& first = backends.front().backend.backend();
    const host::PreparedKey key{hasher.finish(), first.id(), first.host()->plugin_path};
    Kept out;
    // A store that fails costs time alone.
    if (!store.open(key, *first.host(), &out.prepared_).ok()) return std::nullopt;
    return out;
  }

  Kept(Kept&& other) noexcept : prepared_(std::exchange(other.prepared_, nullptr)) {}
  Kept& operator=(Kept&&) = delete;
  ~Kept() {
    if (prepared_) prepared_->release(prepared_);
  }

  /// The program and the line about its delegate.
  [[nodiscard]] std::optional<std::pair<Bytes, Bytes>> found() const {
    const Bytes all(static_cast<const std::byte*>(prepared_->data),
                    static_cast<std::size_t>(prepared_->nbytes));
    std::uint64_t line = 0;
    if (all.size() < sizeof line) return std::nullopt;
    std::memcpy(&line, all.data(), sizeof line);
    const Bytes rest = all.subspan(sizeof line);
    if (line > rest.size()) return std::nullopt;
    const auto size = static_cast<std::size_t>(line);
    return std::pair(rest.subspan(size), rest.first(size));
  }

  void store(Bytes program, std::string_view line) {
    const std::uint64_t size = line.size();
    const tenon_span parts[] = {
        {&size, sizeof size}, {line.data(), line.size()}, {program.data(), program.size()}};
    static_cast<void>(prepared_->store(prepared_, parts, std::size(parts)));  // It logs a failure.
  }

 private:
  Kept() = default;

  tenon_prepared* prepared_ = nullptr;
};

Bytes view(const nb::bytes& bytes) {
  return {static_cast<const std::byte*>(bytes.data()), bytes.size()};
}

nb::bytes copy(Bytes bytes) { return nb::bytes(bytes.data(), bytes.size()); }

}  // namespace

nb::bytes bytes_of(const aot::FileImage& image) {
  PyObject* const object =
      PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(image.size()));
  if (!object) throw nb::python_error();
  auto out = nb::steal<nb::bytes>(object);
  char* to = PyBytes_AsString(object);
  const Status written = image.stream([&](Bytes part) -> Status {
    std::memcpy(to, part.data(), part.size());
    to += part.size();
    return ok();
  });
  if (!written.ok()) raise(written);
  return out;
}

nb::tuple compile_program(const Program& program, const std::vector<BackendOfCall>& backends,
                          bool whole, const ProgramStore* store) {
  std::optional<Kept> kept;
  if (store) {
    const ReleasedGil released;
    auto opened = Kept::open(*store->cache, program, backends);
    if (opened) kept.emplace(*std::move(opened));
  }
  nb::list lines;
  nb::list files;
  nb::list operators;
  if (kept) {
    if (const auto found = kept->found()) {
      const auto [bytes, line] = *found;
      lines.append(nb::str(reinterpret_cast<const char*>(line.data()), line.size()));
      return nb::make_tuple(copy(bytes), false, lines, files, operators);
    }
  }
  const Compiled compiled = take([&] {
    const ReleasedGil released;
    return compile(program, backends, whole);
  }());
  const nb::bytes bytes = bytes_of(compiled.program);
  for (const std::string& line : compiled.lines) lines.append(line);
  for (const auto& [tag, image] : compiled.files)
    files.append(nb::make_tuple(tag, bytes_of(image)));
  for (const auto& [name, count] : compiled.delegation.delegation_by_operator) {
    operators.append(nb::make_tuple(name, count.delegated, count.non_delegated));
  }
  if (kept && compiled.files.empty()) {
    const ReleasedGil released;
    kept->store(view(bytes), compiled.lines.empty() ? std::string_view() : compiled.lines.front());
  }
  return nb::make_tuple(bytes, true, lines, files, operators);
}

void bind_program_store(nb::module_& module) {
  nb::class_<ProgramStore>(module, "ProgramStore")
      .def("__init__", [](ProgramStore* self, const std::string& directory) {
        const std::filesystem::path path = directory.empty()
                                               ? take(host::default_prepared_directory())
                                               : std::filesystem::path(directory);
        auto cache = take(host::PreparedCache::open(path));
        new (self) ProgramStore{std::make_unique<const host::PreparedCache>(std::move(cache))};
      });
}

}  // namespace tenon::python
