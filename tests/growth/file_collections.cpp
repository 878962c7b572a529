// SPDX-License-Identifier: MIT
//
// What other files can hold any number of: manifests, plugins, libraries, arrays, payloads.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>

#include "collection.hpp"
#include "support/elf_builder.hpp"
#include "support/payload_bytes.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/aoti/input_signature.hpp"
#include "tenon/aoti/library/elf_editor.hpp"
#include "tenon/aoti/payload.hpp"
#include "tenon/aoti/weights/named_weights.hpp"
#include "tenon/aoti/weights/shared_by_content.hpp"
#include "tenon/host.hpp"
#include "tenon/host/arrays.hpp"
#include "tenon/host/inspect.hpp"
#include "tenon/host/layers/discovery/impl/glob.hpp"
#include "tenon/host/layers/discovery/impl/manifest.hpp"
#include "unit/host/layers/inspect/macho_builder.hpp"
#include "unit/host/layers/inspect/object_builder.hpp"

namespace tenon::test {
namespace {

using namespace host;
using Json = nlohmann::json;

/// As many entries of a manifest as fit its largest size.
constexpr std::size_t most_in_manifest = 16'000;
/// As many as fit the largest dynamic section that is read.
constexpr std::size_t most_needed = 65'000;

Task parses_manifest(const Json& change) {
  Json json = {
      {"manifest_version", 1}, {"library", "a.so"}, {"backends", Json::array({{{"id", "A"}}})}};
  json.update(change);
  return [text = json.dump()] {
    return outcome_of(parse_manifest(text, "acme.json", "linux-x86_64"));
  };
}

Task parses_backends(std::size_t count) {
  Json backends = Json::array();
  for (std::size_t i = 0; i < count; ++i) backends.push_back({{"id", concat("B", i)}});
  return parses_manifest({{"backends", backends}});
}

Task parses_tags(std::size_t count) {
  Json tags = Json::array();
  for (std::size_t i = 0; i < count; ++i) tags.push_back(concat("t", i));
  return parses_manifest({{"backends", Json::array({{{"id", "A"}, {"tags", tags}}})}});
}

Task parses_facts(std::size_t count) {
  Json facts = Json::object();
  for (std::size_t i = 0; i < count; ++i) facts[concat("f", i)] = "x";
  return parses_manifest({{"facts", facts}});
}

Task parses_platforms(std::size_t count) {
  Json libraries = {{"linux-x86_64", "a.so"}};
  for (std::size_t i = 0; i < count; ++i) libraries[concat("other", i)] = "b.so";
  return parses_manifest({{"library", libraries}});
}

/// A library of `size` bytes behind the small library's tables.
ByteVector library_of(std::size_t size) { return elf::build(ByteVector(size)); }

void set_entry(ByteVector& file, std::size_t at, std::uint64_t tag, std::uint64_t value) {
  put_number(file, at, tag);
  put_number(file, at + 8, value);
}

/// Puts a string table with `count` names at `at` and returns where each begins in it.
std::vector<std::uint32_t> put_names(ByteVector& file, std::size_t at, std::size_t count) {
  std::vector<std::uint32_t> begins;
  std::size_t next = at + 1;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = concat("name", i);
    begins.push_back(static_cast<std::uint32_t>(next - at));
    std::memcpy(&file.at(next), name.data(), name.size());
    next += name.size() + 1;
  }
  return begins;
}

constexpr std::size_t bytes_of_name = 16;

/// A library with `count` symbols, of other libraries or its own.
ByteVector library_with_symbols(std::size_t count, bool defined) {
  const std::size_t symbols = elf::object, names = symbols + (count + 1) * 24;
  ByteVector file = library_of((count + 1) * (24 + bytes_of_name));
  const std::vector<std::uint32_t> begins = put_names(file, names, count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = symbols + (i + 1) * 24;
    put_number(file, at, begins[i]);
    put_number(file, at + 4, std::uint8_t{0x12});
    put_number(file, at + 6, static_cast<std::uint16_t>(defined ? 1 : 0));
  }
  set_entry(file, elf::entry(0), 12, 0);  // Without the GNU hash table.
  set_entry(file, elf::entry(2), 6, elf::base + symbols);
  set_entry(file, elf::entry(3), 5, elf::base + names);
  set_entry(file, elf::entry(4), 10, (count + 1) * bytes_of_name);
  put_number(file, elf::sysv_hash + 4, static_cast<std::uint32_t>(count + 1));
  return file;
}

/// A library that needs `count` others.
ByteVector library_that_needs(std::size_t count) {
  const std::size_t entries = elf::object, num_entries = count + 8;
  const std::size_t names = entries + num_entries * 16;
  ByteVector file = library_of(num_entries * 16 + (count + 1) * bytes_of_name);
  const std::vector<std::uint32_t> begins = put_names(file, names, count);
  std::copy_n(file.begin() + elf::dynamic, 7 * 16,
              file.begin() + static_cast<std::ptrdiff_t>(entries));
  set_entry(file, entries + 3 * 16, 5, elf::base + names);
  set_entry(file, entries + 4 * 16, 10, (count + 1) * bytes_of_name);
  for (std::size_t i = 0; i < count; ++i) set_entry(file, entries + (7 + i) * 16, 1, begins[i]);
  put_number(file, elf::dynamic_header + 8, std::uint64_t{entries});
  put_number(file, elf::dynamic_header + 16, elf::base + entries);
  put_number(file, elf::dynamic_header + 32, std::uint64_t{num_entries * 16});
  put_number(file, elf::dynamic_header + 40, std::uint64_t{num_entries * 16});
  return file;
}

Task reads_library(ByteVector file, std::size_t count) {
  auto bytes = std::make_shared<const ByteVector>(std::move(file));
  return [bytes, count]() -> Status {
    TENON_TRY(const ElfLibrary library, read_elf_library(*bytes, 62));
    const std::size_t found = std::max(
        {library.exported.size(), library.undefined.size(), library.dependencies.needed.size()});
    if (found != count) return error(Error::Internal, "found ", found, " of ", count);
    return lint_plugin(library).empty() ? error(Error::Internal, "no checks") : ok();
  };
}

/// Opens a library as one of a compiled model.
Task edits_library(ByteVector file, std::size_t count) {
  auto bytes = std::make_shared<ByteVector>(std::move(file));
  return [bytes, count]() -> Status {
    TENON_TRY(aoti::ElfEditor editor, aoti::ElfEditor::open(*bytes));
    std::size_t found = 0;
    for (const aoti::DynamicSymbol& symbol : editor.symbols()) found += symbol.is_undefined ? 1 : 0;
    return std::max(found, editor.needed().size()) == count
               ? ok()
               : error(Error::Internal, "found ", found);
  };
}

Task reads_record(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(concat("Backend", i));
  const std::vector<std::string_view> ids(names.begin(), names.end());
  auto object = std::make_shared<const ByteVector>(ObjectBuilder(ids).bytes());
  return [object] { return outcome_of(read_record(*object, "plugin.so")); };
}

/// Registers `count` backends, looks one up that is not there, and lists all.
Task registers(std::size_t count) {
  return [count]() -> Status {
    BackendRegistry registry;
    for (std::size_t i = 0; i < count; ++i) {
      Registration registration;
      registration.name = concat("Backend", i);
      TENON_RETURN_IF_ERROR(registry.register_backend(
          []() -> Result<std::shared_ptr<const LoadedBackend>> { return nullptr; },
          std::move(registration)));
    }
    if (registry.lookup_backend("Backen").ok()) return error(Error::Internal, "found");
    return registry.list_backends().size() == count ? ok() : error(Error::Internal, "lost");
  };
}

Task parses_array(std::size_t count) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (0,), }";
  header += std::string(count, ' ') + "\n";
  std::string file("\x93NUMPY\x02\0", 8);
  const auto size = static_cast<std::uint32_t>(header.size());
  file.append(reinterpret_cast<const char*>(&size), sizeof size);
  file += header;
  return [file] { return outcome_of(parse_npy(std::as_bytes(std::span(file)))); };
}

std::string weights_payload(std::size_t count) {
  PayloadBytes out;
  out.text("library").number(static_cast<std::uint32_t>(count));
  for (std::size_t i = 0; i < count; ++i) {
    out.weight({.name = concat("weight", i),
                .key = concat("k", i),
                .nbytes = 16,
                .device = 0,
                .sizes = {4},
                .strides = {1}});
  }
  return out.bytes();
}

/// Finds or makes an object for each of `count` weights of different contents.
Task shares_weights(std::size_t count) {
  struct Weight {
    std::size_t content;
    [[nodiscard]] std::size_t nbytes() const { return sizeof content; }
  };
  return [count]() -> Status {
    aoti::SharedByContent<Weight> store;
    std::vector<std::shared_ptr<const Weight>> used;
    for (std::size_t i = 0; i < count; ++i) {
      TENON_TRY(auto weight,
                store.get(
                    std::as_bytes(std::span(&i, 1)),
                    [&](const Weight& known) -> Result<bool> { return known.content == i; },
                    [&]() -> Result<std::shared_ptr<const Weight>> {
                      return std::make_shared<const Weight>(Weight{i});
                    }));
      used.push_back(std::move(weight));
    }
    return store.nbytes() == count * sizeof(std::size_t) ? ok() : error(Error::Internal, "lost");
  };
}

Task writes_trace(std::size_t count) {
  auto trace = std::make_shared<Trace>();
  for (std::size_t i = 0; i < count; ++i) {
    trace->add("event", "category", i, i + 1, {{"key", concat(i)}});
  }
  return [trace] {
    return trace->json().empty() ? error(Error::Internal, "nothing was written") : ok();
  };
}

Task matches_patterns(std::size_t count) {
  std::string patterns;
  for (std::size_t i = 0; i < count; ++i) patterns += concat("Other", i, "*,");
  return [patterns] {
    return GlobList(patterns).matches("Backend") ? error(Error::Internal, "matches") : ok();
  };
}

}  // namespace

std::vector<Collection> file_collections() {
  return {
      {"manifest: backends", parses_backends, {}, 1'024},
      {"manifest: tags of a backend", parses_tags, {}, most_in_manifest},
      {"manifest: facts", parses_facts, {}, most_in_manifest},
      {"manifest: platforms", parses_platforms, {}, most_in_manifest},
      {"library: needed libraries",
       [](std::size_t count) { return reads_library(library_that_needs(count), count); },
       {},
       most_needed},
      {"library: symbols of other libraries",
       [](std::size_t count) { return reads_library(library_with_symbols(count, false), count); }},
      {"library: exported symbols",
       [](std::size_t count) { return reads_library(library_with_symbols(count, true), count); }},
      {"library of a model: needed libraries",
       [](std::size_t count) { return edits_library(library_that_needs(count), count); },
       {},
       most_needed},
      {"library of a model: symbols of other libraries",
       [](std::size_t count) { return edits_library(library_with_symbols(count, false), count); }},
      {"plugin: backends", reads_record, {}, 1024},
      {"registry: backends", registers},
      {"array: bytes of the header", parses_array, {}, 60'000},
      {"payload: weights",
       [](std::size_t count) {
         return Task([text = weights_payload(count)] {
           return outcome_of(aoti::parse_named_weights(text));
         });
       }},
      {"payload: weights that are shared by content", shares_weights},
      {"trace: events", writes_trace, {}, 60'000},
      {"patterns of TENON_SELECT", matches_patterns},
  };
}

}  // namespace tenon::test
