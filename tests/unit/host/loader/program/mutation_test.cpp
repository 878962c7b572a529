// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "fuzz/offset_verdicts.hpp"
#include "fuzz/program_walk.hpp"
#include "rich_program.hpp"
#include "support/rounds.hpp"
#include "unit/host/layers/data/data_file_builder.hpp"

using namespace tenon;
using namespace tenon::test;

namespace {

struct Subject {
  std::string name;
  AlignedBytes bytes;
};

/// Every program and data file of the fixtures, and built ones that use what no fixture does.
std::vector<Subject> subjects() {
  std::vector<Subject> all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(TENON_TEST_FIXTURES)) {
    const auto extension = entry.path().extension();
    if (extension != ".pte" && extension != ".ptd") continue;
    // Like mlp_xnnpack, and much longer; and like the programs of another machine.
    const auto directory = entry.path().parent_path();
    if (directory.filename().string().starts_with("xnnpack_")) continue;
    if (directory.parent_path().filename() == "arm64") continue;
    all.push_back({entry.path().string(), read_file(entry.path().string())});
  }
  all.push_back({"rich.pte", rich_program().build()});
  DataFileBuilder data;
  data.data("blob", "some bytes");
  data.tensor("weight", ScalarType::Float, {2, 2}, std::string(16, 'w'));
  all.push_back({"two.ptd", data.build()});
  return all;
}

bool opens(const AlignedBytes& file) { return open_and_walk(file.bytes()) != 0; }

TEST_CASE("every truncation of a file is refused") {
  for (auto& [name, bytes] : subjects()) {
    INFO(name);
    REQUIRE(opens(bytes));
    const auto size = bytes.bytes().size();
    // The middle of a large file is a model's code, where neighbouring lengths behave alike: every
    // 97th is tried.
    constexpr std::size_t near_an_end = rounds(32768u);
    constexpr std::size_t stride = 97 * rounds_divisor;
    for (auto length = size; length-- > 0;) {
      const bool in_the_middle = length > near_an_end && length + near_an_end < size;
      if (in_the_middle && length % stride != 0) continue;
      bytes.cut(length);
      // Nothing but zero bytes of padding may be missing from what still opens.
      if (!opens(bytes)) continue;
      bytes.cut(size);
      const auto lost = bytes.bytes().subspan(length);
      const bool padding = std::all_of(lost.begin(), lost.end(),
                                       [](std::byte byte) { return byte == std::byte{0}; });
      INFO("length " << length << " of " << size);
      REQUIRE(padding);
    }
  }
}

/// Damages one to four places: a bit, a byte, or a number that is likely to be wrong.
class Damage {
 public:
  Damage(AlignedBytes& file, std::mt19937_64& random) : file_(file) {
    const auto places = 1 + random() % 4;
    for (std::uint64_t i = 0; i < places; ++i) once(random);
  }
  Damage(const Damage&) = delete;
  Damage& operator=(const Damage&) = delete;
  ~Damage() {
    while (!undo_.empty()) {
      file_.bytes()[undo_.back().first] = undo_.back().second;
      undo_.pop_back();
    }
  }

 private:
  void once(std::mt19937_64& random) {
    static constexpr std::uint32_t numbers[] = {
        0, 1, 2, 3, 4, 7, 8, 12, 16, 64, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffe};
    const auto size = file_.bytes().size();
    const auto place = static_cast<std::size_t>(random() % size);
    switch (random() % 4) {
      case 0:
        return set(place, file_.bytes()[place] ^ std::byte{1} << (random() % 8));
      case 1:
        return set(place, static_cast<std::byte>(random()));
      case 2:
        return word(place / 4 * 4, numbers[random() % std::size(numbers)]);
      default: {
        const auto aligned = place / 4 * 4;
        if (aligned + 4 > size) return;
        const auto old = flatbuffers::ReadScalar<std::uint32_t>(&file_.bytes()[aligned]);
        return word(aligned, old + static_cast<std::uint32_t>(random() % 33) - 16);
      }
    }
  }
  void word(std::size_t place, std::uint32_t number) {
    for (std::size_t i = 0; i < 4 && place + i < file_.bytes().size(); ++i) {
      set(place + i, static_cast<std::byte>(number >> (8 * i)));
    }
  }
  void set(std::size_t place, std::byte byte) {
    undo_.emplace_back(place, file_.bytes()[place]);
    file_.bytes()[place] = byte;
  }

  AlignedBytes& file_;
  std::vector<std::pair<std::size_t, std::byte>> undo_;
};

TEST_CASE("the check of offsets accepts intact files, and nothing that flatbuffers refuses") {
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;
  for (auto& [name, bytes] : subjects()) {
    INFO(name);
    const OffsetVerdicts intact = offset_verdicts(bytes.bytes());
    REQUIRE(intact.ours);  // What it does not accept is verified a second time.
    const std::span<std::byte> file = bytes.bytes().first(intact.nbytes);
    const auto size = static_cast<std::uint32_t>(file.size());
    // Not every word of a long one is tried: the checks of many tables take long.
    constexpr std::size_t most_words = 64;
    const std::size_t stride = 4 * (file.size() / 4 / most_words + 1) * rounds_divisor;
    for (std::size_t at = 0; at + 4 <= file.size(); at += stride) {
      const auto old = flatbuffers::ReadScalar<std::uint32_t>(&file[at]);
      const auto left = size - static_cast<std::uint32_t>(at);
      // Offsets and lengths: off by an alignment, up to the end and beyond, back and forth.
      for (const std::uint32_t number :
           {0u, 1u, old + 1, old + 2, old - 4, old + 4, old ^ 0x100u, old + 0x10000, left, left - 1,
            left - 4, left - 5, 0u - static_cast<std::uint32_t>(at), 0x80000000 | old, ~0u}) {
        std::memcpy(&file[at], &number, sizeof number);
        const OffsetVerdicts verdicts = offset_verdicts(bytes.bytes());
        if (!verdicts.agree()) {
          FAIL("accepted, but not by flatbuffers: " << number << " for " << old << " at " << at);
        }
        ++(verdicts.ours ? accepted : refused);
      }
      std::memcpy(&file[at], &old, sizeof old);
    }
  }
  // Both outcomes must be common, or the numbers would prove little.
  CHECK(accepted > 1000);
  CHECK(refused > 1000);
}

TEST_CASE("a damaged file is refused or can be walked") {
  const auto flips = number_from_environment("TENON_TEST_FLIPS", rounds(2000));
  const auto seed = number_from_environment("TENON_TEST_SEED", 20260101);
  INFO("TENON_TEST_SEED=" << seed << " TENON_TEST_FLIPS=" << flips);
  std::uint64_t refused = 0;
  std::uint64_t walked = 0;
  for (auto& [name, bytes] : subjects()) {
    INFO(name);
    std::mt19937_64 random(seed);
    for (std::uint64_t i = 0; i < flips; ++i) {
      const Damage damage(bytes, random);
      ++(opens(bytes) ? walked : refused);
      if (i % 16 != 0) continue;
      if (!offset_verdicts(bytes.bytes()).agree()) FAIL("accepted, but not by flatbuffers");
    }
    REQUIRE(opens(bytes));
  }
  // Both outcomes must be common, or the damage would prove little.
  if (flips >= 1000) {
    CHECK(refused > flips);
    CHECK(walked > flips);
  }
  WARN("seed " << seed << ": " << refused << " refused, " << walked << " walked");
}

}  // namespace
