// SPDX-License-Identifier: MIT
#include "program_ids.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>

#include "tenon/host/program/file_header.hpp"
#include "tenon/host/program/program.hpp"
#include "tenon/host/schema/program_objects_generated.h"

namespace tenon::make_new {
namespace {

constexpr std::size_t header_at = 8;  // Behind the root's offset and the file identifier.
constexpr std::uint32_t header_size = 32;

template <class Number>
void put(std::vector<std::byte>& bytes, std::size_t at, Number number) {
  std::memcpy(bytes.data() + at, &number, sizeof number);
}

/// The flatbuffer with an extended header in it, and behind it `segments`, which began at
/// `old_base`: they keep the alignment that they had there.
std::vector<std::byte> put_together(std::span<const std::byte> flatbuffer,
                                    std::span<const std::byte> segments, std::uint64_t old_base) {
  std::vector<std::byte> out(flatbuffer.begin(), flatbuffer.end());
  if (segments.empty()) return out;
  out.insert(out.begin() + header_at, header_size, std::byte{});
  const std::uint64_t program_size = out.size();
  const std::size_t alignment = std::size_t{1} << std::min(std::countr_zero(old_base), 12);
  out.resize((out.size() + alignment - 1) / alignment * alignment);
  const std::uint64_t base = out.size();
  out.insert(out.end(), segments.begin(), segments.end());

  std::uint32_t root = 0;
  std::memcpy(&root, out.data(), sizeof root);
  put(out, 0, root + header_size);
  std::memcpy(out.data() + header_at, "eh00", 4);
  put(out, header_at + 4, header_size);
  put(out, header_at + 8, program_size);
  put(out, header_at + 16, base);
  put(out, header_at + 24, std::uint64_t{segments.size()});
  return out;
}

}  // namespace

Result<std::vector<std::byte>> rename_backends(
    std::span<const std::byte> file, const std::function<std::string(std::string_view)>& rename) {
  // Programs are read in place, from an address that suits their largest elements.
  struct alignas(16) Block {
    std::byte bytes[16];
  };
  auto blocks = std::make_shared<std::vector<Block>>(file.size() / sizeof(Block) + 1);
  const std::span<std::byte> aligned(blocks->front().bytes, file.size());
  std::ranges::copy(file, aligned.begin());
  TENON_RETURN_IF_ERROR(host::Program::from_bytes(aligned, blocks, "program"));
  TENON_TRY(const auto parts, host::detail::read_program_header(FileBytes(file), file.size()));

  const std::unique_ptr<schema::objects::ProgramT> unpacked(
      schema::objects::GetProgram(aligned.data())->UnPack());
  for (const auto& plan : unpacked->execution_plan) {
    for (const auto& delegate : plan->delegates) delegate->id = rename(delegate->id);
  }
  flatbuffers::FlatBufferBuilder builder;
  schema::objects::FinishProgramBuffer(builder,
                                       schema::objects::CreateProgram(builder, unpacked.get()));
  return put_together(std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())),
                      file.subspan(static_cast<std::size_t>(parts.segment_base),
                                   static_cast<std::size_t>(parts.segment_size)),
                      parts.segment_base);
}

}  // namespace tenon::make_new
