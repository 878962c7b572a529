// SPDX-License-Identifier: MIT
#include "scratch.hpp"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tenon/host/schema/program_generated.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "harness.hpp"
#include "tenon/abi/plugin.h"

namespace tenon::bench {
namespace {

constexpr std::array caught_signals{SIGINT, SIGTERM, SIGHUP};

// What the signal handler removes: the files made so far, by addresses that stay, and the
// directory.
std::string directory;
std::deque<std::string> files;
std::array<const char*, 1100> file_names{};
volatile sig_atomic_t file_count = 0;

void remove_all() {
  for (int i = 0; i < file_count; ++i) ::unlink(file_names[static_cast<std::size_t>(i)]);
  ::rmdir(directory.c_str());
}

void on_signal(int number) {
  remove_all();
  ::signal(number, SIG_DFL);
  ::raise(number);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (bytes.empty()) throw Failure("cannot read " + path);
  return bytes;
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw Failure("cannot write " + path);
}

template <class T>
T load_from(const std::string& bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

}  // namespace

Scratch::Scratch() {
  std::string pattern = (std::filesystem::temp_directory_path() / "tenon-bench-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw Failure("cannot make the directory " + pattern);
  directory = pattern;
  for (const int number : caught_signals) ::signal(number, on_signal);
}

Scratch::~Scratch() {
  for (const int number : caught_signals) ::signal(number, SIG_DFL);
  remove_all();
  file_count = 0;
  files.clear();
}

std::string Scratch::file(std::string_view name) {
  const int count = file_count;
  if (static_cast<std::size_t>(count) == file_names.size()) throw Failure("too many scratch files");
  const std::string& path = files.emplace_back(directory + "/" + std::string(name));
  file_names[static_cast<std::size_t>(count)] = path.c_str();
  file_count = count + 1;
  return path;
}

void write_large_program(const std::string& source, std::uint64_t segment_size,
                         const std::string& path) {
  // The offsets of the numbers in the extended header (ExecuTorch: schema/extended_header.h).
  constexpr std::size_t segment_base_offset_at = 24;
  constexpr std::size_t segment_data_size_at = 32;

  std::string bytes = read_file(source);
  const auto base = load_from<std::uint64_t>(bytes, segment_base_offset_at);
  bytes.resize(base);
  const auto* program = schema::GetProgram(bytes.data());
  const auto* segment = program->segments()->Get(program->segments()->size() - 1);
  using Segment = schema::DataSegment;
  // The generated class hides its base, which has what is needed to change a number in place.
  auto* table = reinterpret_cast<flatbuffers::Table*>(const_cast<Segment*>(segment));
  if (!table->SetField<std::uint64_t>(Segment::VT_SIZE, segment_size, 0)) {
    throw Failure(source + ": the last segment has no size field to change");
  }
  const std::uint64_t data_size = segment->offset() + segment_size;
  std::memcpy(bytes.data() + segment_data_size_at, &data_size, sizeof data_size);

  write_file(path, bytes);
  if (::truncate(path.c_str(), static_cast<off_t>(base + data_size)) != 0) {
    throw Failure("cannot make " + path + " " + std::to_string(base + data_size) + " bytes long");
  }
}

void write_renamed_plugin(const std::string& source, std::string_view id, const std::string& path) {
  constexpr std::array<unsigned char, 8> magic TENON_PLUGIN_MAGIC;
  std::string bytes = read_file(source);
  const auto at = bytes.find(std::string(magic.begin(), magic.end()));
  if (at == std::string::npos) throw Failure(source + " is not a plugin");
  const auto head = load_from<tenon_plugin_head>(bytes, at);
  std::array<char, TENON_ID_SIZE> field{};
  std::copy_n(id.begin(), std::min(id.size(), field.size() - 1), field.begin());
  bytes.replace(at + head.records_offset + offsetof(tenon_backend_record, id), field.size(),
                field.data(), field.size());
  write_file(path, bytes);
}

}  // namespace tenon::bench
