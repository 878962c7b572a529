// SPDX-License-Identifier: MIT
#include "groups.hpp"

#if defined(TENON_HAS_ZYDIS)

#include <Zydis/Zydis.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/instruction_decoder.hpp"
#include "tenon/aoti/library/code_places.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "turns.hpp"

namespace tenon::bench {
namespace {

/// Zydis as a program uses it that wants nothing but lengths. It stays loaded.
class BareDecoder {
 public:
  BareDecoder() {
    const auto name = fmt::format("libZydis.so.{}.{}", ZYDIS_VERSION_MAJOR(ZYDIS_VERSION),
                                  ZYDIS_VERSION_MINOR(ZYDIS_VERSION));
    void* const library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw Failure(fmt::format("cannot load {}", name));
    const auto find = [&]<class Function>(Function*& into, const char* function) {
      into = reinterpret_cast<Function*>(::dlsym(library, function));
      if (into == nullptr) throw Failure(fmt::format("{} has no {}", name, function));
    };
    decltype(&ZydisDecoderInit) init = nullptr;
    decltype(&ZydisDecoderEnableMode) enable = nullptr;
    find(init, "ZydisDecoderInit");
    find(enable, "ZydisDecoderEnableMode");
    find(decode_, "ZydisDecoderDecodeInstruction");
    if (!ZYAN_SUCCESS(init(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
        !ZYAN_SUCCESS(enable(&decoder_, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE))) {
      throw Failure("ZydisDecoderInit failed");
    }
  }

  /// The number of instructions. Bytes that are none are skipped one by one.
  [[nodiscard]] std::size_t count(Bytes code) const {
    std::size_t out = 0;
    ZydisDecodedInstruction instruction;
    for (std::size_t at = 0; at < code.size();) {
      const bool is_one = ZYAN_SUCCESS(
          decode_(&decoder_, nullptr, code.data() + at, code.size() - at, &instruction));
      out += is_one;
      at += is_one ? instruction.length : 1;
    }
    return out;
  }

 private:
  ZydisDecoder decoder_{};
  decltype(&ZydisDecoderDecodeInstruction) decode_ = nullptr;
};

/// The program, and the library in it.
struct Library {
  explicit Library(const std::string& path) {
    auto opened = host::Program::open(path);
    if (!opened.ok()) throw Failure(describe(std::move(opened).status()));
    program = *std::move(opened);
    for (std::uint32_t i = 0; i < program->num_keys(); ++i) {
      if (program->key(i).ends_with("so_blob")) bytes = program->key_data(i);
    }
    for (const Bytes part : aoti::code_places(bytes)) code_nbytes += part.size();
    if (code_nbytes == 0) throw Failure(path + " has no code");
  }

  std::shared_ptr<const host::Program> program;
  Bytes bytes;
  std::size_t code_nbytes = 0;
};

/// For a megabyte of instructions.
Figure per_megabyte(const Figure& figure, std::size_t nbytes) {
  if (!figure) return std::nullopt;
  return slope({}, *figure, static_cast<double>(nbytes) / 1e6);
}

}  // namespace

std::vector<Row> decode_rows(const Setup& setup) {
  const aoti::DecodeX86 decode = aoti_common::instruction_decoder();
  if (!setup.ours || decode == nullptr) return {};
  const BareDecoder bare;
  const Library library(setup.model);
  if (!aoti::decode_library(library.bytes, decode).is_known) {
    throw Failure(setup.model + " has no library for x86-64");
  }
  const auto places = aoti::code_places(library.bytes);

  Turns turns;
  const auto floor = turns.add(true, [&]() -> Work {
    return [&](std::uint64_t repeats) {
      for (std::uint64_t i = 0; i < repeats; ++i) {
        for (const Bytes part : places) keep(bare.count(part));
      }
    };
  });
  const auto ours = turns.add(true, [&]() -> Work {
    return [&](std::uint64_t repeats) {
      for (std::uint64_t i = 0; i < repeats; ++i) keep(aoti::decode_library(library.bytes, decode));
    };
  });
  turns.run(setup.plan);
  const auto kilobytes = library.code_nbytes / 1000;
  return {{"", fmt::format("1 MB of instructions, from {} KB (floor: a loop of Zydis)", kilobytes),
           "ns", per_megabyte(turns[floor], library.code_nbytes), std::nullopt,
           per_megabyte(turns[ours], library.code_nbytes), floor_times(1.2)}};
}

}  // namespace tenon::bench

#else

namespace tenon::bench {

std::vector<Row> decode_rows(const Setup&) { return {}; }

}  // namespace tenon::bench

#endif
