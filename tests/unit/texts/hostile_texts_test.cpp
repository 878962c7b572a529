// SPDX-License-Identifier: MIT
//
// One hostile text in every name that a file, a manifest or a plugin can hold: no message repeats
// what a terminal would obey.
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kit/report/json_reader.hpp"
#include "support/aligned_bytes.hpp"
#include "support/catch.hpp"
#include "support/payload_bytes.hpp"
#include "support/program_builder.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/aot/compiler/write/program_check.hpp"
#include "tenon/aoti/weights/named_weights.hpp"
#include "tenon/conformance/case.hpp"
#include "tenon/conformance/subject.hpp"
#include "tenon/host.hpp"
#include "tenon/host/arrays.hpp"
#include "tenon/host/inspect.hpp"
#include "tenon/host/layers/discovery/impl/manifest.hpp"
#include "tenon/host/layers/trust/sha256.hpp"
#include "tenon/host/loader/impl/plugin/host_table.hpp"
#include "tenon/host/loader/plugin/last_error.hpp"
#include "unit/host/layers/data/data_file_builder.hpp"

using namespace tenon;
using namespace tenon::host;
using namespace tenon::test;

namespace hostile_texts_test {
namespace {

/// ESC with a sequence that clears the screen, a line that looks like another message, C1 as a
/// character, an override of the direction of writing, and DEL.
const std::string hostile = "a\x1b[2J\ntenon: ok\u009b\u202e\x7f";
/// The hostile text with a byte that is not UTF-8, for what is not JSON.
const std::string hostile_bytes = hostile + "\xff";

/// The first thing in `text` that must not be there; empty when there is none. Lines of the library
/// itself begin with two blanks.
std::string defect(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte == '\n' && text.substr(i + 1).starts_with("  ")) continue;
    if (byte < 0x20 || byte == 0x7f || byte == 0xff) return "byte " + std::to_string(byte);
  }
  for (const std::string_view part : {"\u009b", "\u202e"}) {
    if (text.find(part) != text.npos) return "a character above U+007F";
  }
  return {};
}

template <class T>
Status of(Result<T> result) {
  return result.ok() ? ok() : std::move(result).status();
}

Result<std::shared_ptr<const Program>> open(const ProgramBuilder& builder,
                                            std::string name = "test.pte") {
  auto bytes = std::make_shared<AlignedBytes>(builder.build());
  return Program::from_bytes(std::as_const(*bytes).bytes(), bytes, std::move(name));
}

Status load(const ProgramBuilder& builder, MethodOptions options = {},
            const std::string& method = "forward") {
  auto program = open(builder);
  if (!program.ok()) return of(std::move(program));
  const BackendRegistry registry;
  if (!options.registry) options.registry = &registry;
  return of(Method::load(*program, method, std::move(options)));
}

Result<std::shared_ptr<const DataFile>> data_file(const DataFileBuilder& builder,
                                                  std::string name = "test.ptd") {
  auto bytes = std::make_shared<AlignedBytes>(builder.build());
  return DataFile::from_bytes(std::as_const(*bytes).bytes(), bytes, std::move(name));
}

/// A program whose only input is external data named `key`.
ProgramBuilder external_program(const std::string& key) {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  auto external = tensor(ScalarType::Float, {2});
  external.extra_tensor_info = std::make_unique<schema::objects::ExtraTensorInfoT>();
  external.extra_tensor_info->location = schema::TensorDataLocation::EXTERNAL;
  external.extra_tensor_info->fully_qualified_name = key;
  plan.value(std::move(external));
  return builder;
}

Status patched_program(std::size_t offset, std::string_view bytes) {
  auto file = std::make_shared<AlignedBytes>(delegate_program("A", "blob").build());
  std::memcpy(&file->bytes()[offset], bytes.data(), bytes.size());
  return of(Program::from_bytes(std::as_const(*file).bytes(), file, "test.pte"));
}

using Json = nlohmann::json;

Status manifest(const std::function<void(Json&)>& change) {
  Json json = {
      {"manifest_version", 1}, {"library", "a.so"}, {"backends", Json::array({{{"id", "A"}}})}};
  change(json);
  return of(parse_manifest(json.dump(), "acme.json", "linux-x86_64"));
}

Status npy(const std::string& header) {
  std::string file("\x93NUMPY\x01\0", 8);
  file.push_back(static_cast<char>(header.size()));
  file.push_back('\0');
  file += header;
  return of(parse_npy(bytes_of(file)));
}

/// What a plugin's `set_last_error` leads to.
Status of_plugin(const std::string& text) {
  const HostTable table(HostInfo{}, "/plugins/a.so");
  table.get()->set_last_error(table.get(), TENON_STATUS_INTERNAL, text.data(), text.size());
  return take_last_error(table.get(), TENON_STATUS_INTERNAL);
}

Status of_log(const std::string& text) {
  std::string line;
  HostInfo info;
  info.log = [&](std::int32_t, std::string_view, std::string_view logged) { line = logged; };
  const HostTable table(std::move(info), "/plugins/a.so");
  table.get()->log(table.get(), TENON_LOG_INFO, text.data(), text.size());
  // The line as it came: a Status would make it visible.
  const std::string found = defect(line);
  return error(Error::Internal, found.empty() ? "logged " + line : "a defect: " + found);
}

Status of_factory(BackendFactory factory) {
  BackendRegistry registry;
  Registration registration;
  registration.name = "A";
  TENON_RETURN_IF_ERROR(registry.register_backend(std::move(factory), std::move(registration)));
  return of(registry.lookup_backend("A"));
}

/// The texts of all checks of a library, as they are: they are no Status.
Status of_lint(const std::function<void(ElfLibrary&)>& change) {
  ElfLibrary library;
  change(library);
  std::string all;
  for (const LintResult& result : lint_plugin(library)) all += result.text;
  const std::string found = defect(all);
  return error(Error::Internal, found.empty() ? all : "a defect: " + found);
}

std::string weights_payload(const std::string& name) {
  PayloadBytes out;
  out.text("library").number(std::uint32_t{1});
  // The storage has too few bytes for one element.
  const PayloadWeight weight{
      .name = name, .key = "key", .nbytes = 0, .device = 0, .sizes = {4}, .strides = {1}};
  return out.weight(weight).bytes();
}

Status json_file(const std::string& text, const std::function<Status(const std::string&)>& read) {
  const TemporaryDirectory directory;
  directory.write("case.json", text);
  return read(directory.path().string());
}

Status aot_program(const std::function<void(aot::MethodData&)>& change) {
  aot::ProgramData program;
  change(program.methods.emplace_back());
  return aot::check_program(program);
}

Status invalid_backend(const std::function<void(InvalidBackend&)>& change) {
  InvalidBackend found;
  change(found);
  return found.status();
}

struct Row {
  std::string_view place;
  std::function<Status(const std::string&)> make;
  bool is_json = false;  ///< Holds no bytes that are not UTF-8.
  /// Shows that the text was seen: its escape, or why it is refused without repeating it.
  std::string_view shown = "\\x1b[2J";
};

constexpr std::string_view refused = "holds control character 27";
constexpr std::string_view refused_by_json = "control character U+001B (ESC)";

const std::vector<Row>& rows() {
  static const std::vector<Row> all{
      {"the name of a program",
       [](const auto& text) {
         ProgramBuilder builder;
         builder.plan("forward").table().inputs = {7};
         return of(open(builder, text));
       }},
      {"a name that two methods have",
       [](const auto& text) {
         ProgramBuilder builder;
         builder.plan(text);
         builder.plan(text);
         return of(open(builder));
       }},
      {"the name of a method that is damaged",
       [](const auto& text) {
         ProgramBuilder builder;
         builder.plan(text).table().inputs = {7};
         return of(open(builder));
       }},
      {"the method that is asked for",
       [](const auto& text) { return load(delegate_program("A", "b"), {}, text); }},
      {"a method of a program without the one that is asked for",
       [](const auto& text) {
         ProgramBuilder builder;
         builder.plan(text);
         return load(builder);
       }},
      {"an operator",
       [](const auto& text) {
         ProgramBuilder builder;
         auto plan = builder.plan("forward");
         plan.instruction(kernel_call(plan.op(text, "out"), {}));
         return load(builder);
       }},
      {"the overload of an operator",
       [](const auto& text) {
         ProgramBuilder builder;
         auto plan = builder.plan("forward");
         plan.instruction(kernel_call(plan.op("aten::add", text), {}));
         return load(builder);
       }},
      {"the id of a delegate",
       [](const auto& text) { return load(delegate_program(text, "blob")); }},
      {"an external tensor that no file has",
       [](const auto& text) { return load(external_program(text)); }},
      {"an external tensor of another shape",
       [](const auto& text) {
         DataFileBuilder data;
         data.tensor(text, ScalarType::Float, {3}, std::string(12, 'x'));
         auto file = data_file(data);
         if (!file.ok()) return of(std::move(file));
         MethodOptions options;
         options.layers.add(host::DataFiles({*file}));
         return load(external_program(text), options);
       }},
      {"a key of named data that is there twice",
       [](const auto& text) {
         ProgramBuilder builder;
         const auto segment = builder.segment(bytes_of("data"));
         builder.named_data(text, segment);
         builder.named_data(text, segment);
         return of(open(builder));
       }},
      {"the identifier of a file",
       [](const auto& text) { return patched_program(4, text.substr(0, 4)); }, false, "a\\x1b[2"},
      {"a key of a data file that is there twice",
       [](const auto& text) {
         DataFileBuilder data;
         data.data(text, "a");
         data.data(text, "b");
         return of(data_file(data));
       }},
      {"a key of two data files and their names",
       [](const auto& text) {
         DataFileBuilder data;
         data.data(text, "a");
         return of(
             MergedDataMap::create(nullptr, {*data_file(data, text), *data_file(data, text)}));
       }},
      {"an unknown key of a manifest",
       [](const auto& text) { return manifest([&](Json& json) { json[text] = 1; }); }, true},
      {"the id of a manifest's backend",
       [](const auto& text) {
         return manifest([&](Json& json) { json["backends"][0]["id"] = text; });
       },
       true, refused},
      {"the tag of a manifest's backend",
       [](const auto& text) {
         return manifest([&](Json& json) { json["backends"][0]["tags"] = {text}; });
       },
       true, refused},
      {"the library of a manifest",
       [](const auto& text) { return manifest([&](Json& json) { json["library"] = text; }); }, true,
       refused},
      {"a platform of a manifest",
       [](const auto& text) {
         return manifest([&](Json& json) { json["library"] = {{text, "a"}}; });
       },
       true, refused},
      {"a key of a manifest's facts",
       [](const auto& text) {
         return manifest([&](Json& json) { json["facts"] = {{text, "a"}}; });
       },
       true, refused},
      {"the hash of a manifest",
       [](const auto& text) { return manifest([&](Json& json) { json["sha256"] = text; }); }, true,
       refused},
      {"a manifest that is not JSON",
       [](const auto& text) {
         return of(parse_manifest("{\"" + text, "acme.json", "linux-x86_64"));
       },
       false, refused_by_json},
      {"the name of a manifest",
       [](const auto& text) { return of(parse_manifest("{", text, "linux-x86_64")); }},
      {"the type of an array",
       [](const auto& text) {
         return npy("{'descr': '" + text + "', 'fortran_order': False, 'shape': (), }\n");
       }},
      {"a key of an array's header", [](const auto& text) { return npy("{'" + text + "': 1}\n"); }},
      {"the name of a plugin of another ABI",
       [](const auto& text) {
         PluginRecord record;
         record.name = text;
         record.abi_major = 9;
         return check_abi(record);
       }},
      {"the error text of a plugin", of_plugin},
      {"a log line of a plugin", of_log},
      {"what a factory throws",
       [](const auto& text) {
         return of_factory([text]() -> Result<std::shared_ptr<const LoadedBackend>> {
           throw std::runtime_error(text);
         });
       }},
      {"what a factory returns",
       [](const auto& text) {
         return of_factory([text]() -> Result<std::shared_ptr<const LoadedBackend>> {
           return error(Error::Internal, text);
         });
       }},
      {"the id that a backend is registered with",
       [](const auto& text) {
         BackendRegistry registry;
         Registration registration;
         registration.name = text;
         return registry.register_backend(
             []() -> Result<std::shared_ptr<const LoadedBackend>> { return nullptr; },
             std::move(registration));
       },
       false, refused},
      {"the path of a plugin",
       [](const auto& text) {
         BackendRegistry registry;
         return registry.register_backend(std::filesystem::path("/nowhere/" + text));
       }},
      {"the path of a program",
       [](const auto& text) { return of(Program::open("/nowhere/" + text)); }},
      {"the id, the paths and the refusals of a failed search",
       [](const auto& text) {
         return invalid_backend([&](InvalidBackend& found) {
           found.id = text;
           auto& path = found.search_paths.emplace_back();
           path.kind = SearchPathKind::plugin_path;
           path.path = text;
         });
       }},
      {"a needed library, by path",
       [](const auto& text) {
         return of_lint([&](ElfLibrary& library) {
           library.dependencies.needed = {"./" + text};
           library.dependencies.run_path = text;
         });
       }},
      {"an exported symbol",
       [](const auto& text) {
         return of_lint([&](ElfLibrary& library) {
           library.exported = {{TENON_PLUGIN_SYMBOL}, {text, LibrarySymbol::Binding::gnu_unique}};
         });
       }},
      {"a weight of a payload",
       [](const auto& text) { return of(aoti::parse_named_weights(weights_payload(text))); }},
      {"a method to be written",
       [](const auto& text) {
         return aot_program([&](aot::MethodData& method) {
           method.name = text.substr(0, text.size() - 1);
           method.inputs = {7};
         });
       }},
      {"a key of a case",
       [](const auto& text) {
         return json_file(Json{{text, 1}}.dump(), [](const auto& directory) {
           return of(conformance::read_case(directory));
         });
       },
       true},
      {"a key of a subject",
       [](const auto& text) {
         return json_file(Json{{text, 1}}.dump(), [](const auto& directory) {
           return of(conformance::read_subject(directory + "/case.json"));
         });
       },
       true},
      {"a report that is not JSON",
       [](const auto& text) { return of(conformance::report_from_json("{\"" + text)); }, false,
       refused_by_json},
      {"a SHA-256", [](const auto& text) { return of(parse_sha256(text)); }},
  };
  return all;
}

}  // namespace

TEST_CASE("no message repeats what a terminal would obey", "[texts]") {
  for (const Row& row : rows()) {
    DYNAMIC_SECTION(row.place) {
      const Status status = row.make(row.is_json ? hostile : hostile_bytes);
      REQUIRE_FALSE(status.ok());
      INFO(status.text());
      CHECK(defect(status.text()) == "");
      CHECK(defect(describe(status)) == "");
      CHECK(status.text().find("a defect") == std::string_view::npos);
      CHECK_THAT(std::string(status.text()), ContainsSubstring(std::string(row.shown)));
    }
  }
}

TEST_CASE("letters of all languages stay in messages", "[texts]") {
  for (const std::string_view text : {"größer", "模型", "модель", "עברית", "🙂", "क्‍ष"}) {
    CHECK_THAT(std::string(load(delegate_program(std::string(text), "blob")).text()),
               ContainsSubstring(std::string(text)));
  }
}

}  // namespace hostile_texts_test
