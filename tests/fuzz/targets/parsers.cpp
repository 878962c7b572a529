// SPDX-License-Identifier: MIT
//
// fuzz-parsers: every parser except for programs and data files.
#include "parsers.hpp"

#include "fuzz/fuzz_target.hpp"
#include "fuzz/mutate/elf.hpp"
#include "fuzz/mutate/json.hpp"
#include "fuzz/mutate/words.hpp"
#include "fuzz/mutate/zip.hpp"

namespace tenon::fuzz {
namespace {

constexpr Target all[] = {
    {"case", &test_case, &mutate_json},
    {"channel", &channel, &mutate_json_lines},
    {"elf", &elf, &mutate_elf},
    {"expression", &expression},
    {"mach_o", &mach_o, &mutate_words},
    {"manifest", &manifest, &mutate_json},
    {"model_library", &model_library, &mutate_elf},
    {"npy", &npy},
    {"payload", &payload},
    {"pe", &pe, &mutate_words},
    {"pt2", &pt2, &mutate_zip},
    {"publishers", &publishers, &mutate_json},
    {"report", &report, &mutate_json},
    {"signature", &signature},
    {"subject", &subject, &mutate_json},
};

}  // namespace

const std::span<const Target> targets = all;

}  // namespace tenon::fuzz
