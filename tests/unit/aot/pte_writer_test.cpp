// SPDX-License-Identifier: MIT
#include "tenon/aot/compiler/write/pte_writer.hpp"
#include "tenon/host/schema/program_generated.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/program_difference.hpp"
#include "tenon/aot/named_data_store.hpp"
#include "tenon/core/bytes.hpp"
#include "tenon/host/loader/program/program.hpp"

namespace tenon::test::pte_writer {

using aot::BlobPlacement;
using aot::ProgramData;
using aot::SharedBytes;

SharedBytes text(std::string_view value) { return SharedBytes::copy_of(value); }

std::shared_ptr<const host::Program> open(Bytes file, std::shared_ptr<const void> owner = nullptr) {
  auto program = host::Program::from_bytes(file, std::move(owner), "written");
  INFO(program.text());
  REQUIRE(program.ok());
  return *program;
}
std::shared_ptr<const host::Program> open(std::vector<std::byte>&& file) {
  const auto owner = std::make_shared<std::vector<std::byte>>(std::move(file));
  return open(*owner, owner);
}

std::vector<std::byte> write(const ProgramData& program, const aot::PteOptions& options = {}) {
  const auto image = aot::make_pte(program, options);
  INFO(image.text());
  REQUIRE(image.ok());
  const auto bytes = image->bytes();
  REQUIRE(bytes.size() == image->size());
  return bytes;
}

/// The distance of a part of a file from its start.
std::size_t offset_in(const std::vector<std::byte>& file, Bytes part) {
  return static_cast<std::size_t>(part.data() - file.data());
}

aot::TensorValue constant(std::uint32_t index, std::int32_t size) {
  aot::TensorValue out;
  out.layout = {ScalarType::Byte, {size}};
  out.data = aot::storage::Constant{index};
  return out;
}

/// One of everything that has bytes.
ProgramData program_with_bytes() {
  ProgramData out;
  auto& method = out.methods.emplace_back();
  const auto first = out.add_constant(text("constant one"));
  const auto again = out.add_constant(text("constant one"));
  const auto second = out.add_constant(text("2"));
  method.add(constant(first, 12));
  method.add(constant(again, 12));
  method.add(constant(second, 1));
  aot::TensorValue state;
  state.layout = {ScalarType::Byte, {3}};
  state.data = aot::storage::InitialState{out.add_initial_state(text("abc")), {1, 0}};
  method.planned_memory.push_back({16, {}});
  method.add(state);
  method.add_delegate({"A", text("blob"), {}, BlobPlacement::Default});
  method.add_delegate({"B", text("blob"), {}, BlobPlacement::Segment});
  method.add_delegate({"C", text("small"), {}, BlobPlacement::Inline});
  method.add_delegate({"D", text("small"), {}, BlobPlacement::Inline});
  method.add_delegate({"E", {}, {}, BlobPlacement::Segment});
  aot::NamedDataStore store;
  REQUIRE(store.add_named_data("k", text("named"), {64}).ok());
  REQUIRE(store.add_named_data("same", text("named"), {4096}).ok());
  REQUIRE(store.add_named_data("elsewhere", text("far"), {1, "file"}).ok());
  out.named_data = store.get_named_data_store_output();
  return out;
}

TEST_CASE("A written program has ExecuTorch's extended header and segments that fill the file") {
  const auto file = write(program_with_bytes());
  const Bytes bytes = file;
  REQUIRE(as_text(bytes.subspan(4, 8)) == "ET12eh00");
  REQUIRE(read_le<std::uint32_t>(bytes, 12) == 32u);
  const auto program_size = *read_le<std::uint64_t>(bytes, 16);
  const auto base = *read_le<std::uint64_t>(bytes, 24);
  const auto data_size = *read_le<std::uint64_t>(bytes, 32);
  REQUIRE(base >= program_size);
  REQUIRE(base + data_size == file.size());
  REQUIRE(base % 4096 == 0);  // A key asks for it.
  const auto program = open(file);
  for (std::size_t i = 0; i < program->view().num_segments(); ++i) {
    REQUIRE(offset_in(file, program->view().segment(i)) % 128 == 0);
  }
  REQUIRE(offset_in(file, program->key_data(0)) % 4096 == 0);
}

TEST_CASE("Equal constants, blobs and named data are stored once") {
  const auto data = program_with_bytes();
  const auto file = write(data);
  const auto program = open(file);
  REQUIRE(ProgramDifference(data, *program).find().empty());
  // Constants, initial states, the blob of A and B, the named data.
  REQUIRE(program->view().num_segments() == 4);
  REQUIRE(program->view().segment(0).size() == 17);
  REQUIRE(program->flatbuffer().constant_segment()->offsets()->size() == 3);
  REQUIRE(program->flatbuffer().backend_delegate_data()->size() == 2);
  REQUIRE(program->num_keys() == 2);
  REQUIRE(program->key_data(0).data() == program->key_data(1).data());
  const auto& plan = *program->flatbuffer().execution_plan()->Get(0);
  for (const auto* delegate : *plan.delegates()) {
    const auto blob = program->view().delegate_data(*delegate);
    if (!blob.empty()) REQUIRE(offset_in(file, blob) % 16 == 0);
  }
}

TEST_CASE("The same description gives the same bytes, and options move its parts") {
  const auto data = program_with_bytes();
  REQUIRE(write(data) == write(program_with_bytes()));

  const auto file = write(data, {1 << 14, 64, 512, BlobPlacement::Segment});
  const auto program = open(file);
  REQUIRE(ProgramDifference(data, *program).find().empty());
  for (std::size_t i = 0; i < program->view().num_segments(); ++i) {
    REQUIRE(offset_in(file, program->view().segment(i)) % (1 << 14) == 0);
  }
  REQUIRE(program->flatbuffer().constant_segment()->offsets()->Get(2) == 64);

  // Alignments hold in the file even where the segments' is smaller.
  const auto small = write(data, {16, 256, 1024, BlobPlacement::Segment});
  const auto aligned = open(small);
  REQUIRE(offset_in(small, *aligned->view().constant_data(2, 1)) % 256 == 0);
  const auto& delegates = *aligned->flatbuffer().execution_plan()->Get(0)->delegates();
  REQUIRE(offset_in(small, aligned->view().delegate_data(*delegates.Get(0))) % 1024 == 0);

  const auto inside = open(write(data, {128, 16, 16, BlobPlacement::Inline}));
  const auto& first = *inside->flatbuffer().execution_plan()->Get(0)->delegates()->Get(0);
  REQUIRE(first.processed()->location() == schema::DataLocation::INLINE);
  REQUIRE(as_text(inside->view().delegate_data(first)) == "blob");
}

TEST_CASE("An empty program, and one without any bytes, can be written and read") {
  REQUIRE(open(write({}))->num_methods() == 0);
  ProgramData data;
  data.methods.emplace_back().name = "nothing";
  const auto program = open(write(data));
  REQUIRE(program->method_names() == std::vector<std::string_view>{"nothing"});
  REQUIRE(ProgramDifference(data, *program).find().empty());
}

TEST_CASE("Large data reaches the file without being copied, and outlives its program") {
  const auto owner = std::make_shared<std::string>(1 << 20, 'w');
  const auto bytes = SharedBytes::borrow(std::as_bytes(std::span(*owner)), owner);
  const auto make = [&] {
    ProgramData data;
    data.methods.emplace_back().add(constant(data.add_constant(bytes), 1 << 20));
    return aot::make_pte(data);
  };
  const auto image = make();
  REQUIRE(image.ok());
  std::size_t found = 0;
  const auto status = image->stream([&](Bytes part) {
    found += static_cast<const void*>(part.data()) == owner->data() && part.size() == owner->size();
    return ok();
  });
  REQUIRE(status.ok());
  REQUIRE(found == 1);
}

TEST_CASE("Streaming gives the bytes of the file and stops at the first failure") {
  const auto image = aot::make_pte(program_with_bytes());
  REQUIRE(image.ok());
  std::vector<std::byte> all;
  std::size_t calls = 0;
  REQUIRE(image
              ->stream([&](Bytes part) {
                all.insert(all.end(), part.begin(), part.end());
                ++calls;
                return ok();
              })
              .ok());
  REQUIRE(all == image->bytes());
  for (std::size_t fail_at = 0; fail_at < calls; ++fail_at) {
    std::size_t call = 0;
    const auto status = image->stream(
        [&](Bytes) { return call++ == fail_at ? error(Error::OutOfResources, "full") : ok(); });
    REQUIRE(status.error() == Error::OutOfResources);
    REQUIRE(call == fail_at + 1);
  }
}

TEST_CASE("Wrong options are refused by name") {
  const auto refusal = [](const aot::PteOptions& options) {
    const auto image = aot::make_pte({}, options);
    REQUIRE(image.error() == Error::InvalidArgument);
    return std::string(image.text());
  };
  REQUIRE(refusal({100}) ==
          "segment_alignment is 100, expected a power of two from 16 to 1073741824");
  REQUIRE(refusal({128, 8}).find("constant_alignment is 8") == 0);
  REQUIRE(refusal({128, 16, 0}).find("delegate_alignment is 0") == 0);
  REQUIRE(refusal({128, 16, 16, BlobPlacement::Default}) ==
          "delegate_placement is Default, expected a placement");
}

TEST_CASE("Blobs inside that would pass the format's 2 GiB are refused before anything is built") {
  // One small piece of memory replaces many gigabytes: nothing reads them.
  ProgramData data;
  auto& method = data.methods.emplace_back();
  const std::vector<std::byte> block(std::size_t{1} << 20);
  for (std::size_t i = 0; i < 2100; ++i) {
    auto bytes = Bytes(block).first(block.size() - i);
    method.add_delegate({"B", SharedBytes::borrow(bytes, nullptr), {}, BlobPlacement::Inline});
  }
  const auto image = aot::make_pte(data);
  REQUIRE(image.error() == Error::NotSupported);
  REQUIRE_THAT(std::string(image.text()), ContainsSubstring("put them in segments"));
  for (auto& delegate : method.delegates) delegate.placement = BlobPlacement::Segment;
  REQUIRE(aot::make_pte(data).ok());
}

TEST_CASE("Alignments that no buffer can have together are refused") {
  ProgramData data;
  data.named_data = {{text("1")}, {{"a", {0, 1 << 30}}, {"b", {0, 3}}}, {}};
  const auto image = aot::make_pte(data);
  REQUIRE(image.error() == Error::InvalidArgument);
  REQUIRE_THAT(std::string(image.text()), ContainsSubstring("'b'"));
  REQUIRE_THAT(std::string(image.text()), ContainsSubstring("3221225472"));
}

}  // namespace tenon::test::pte_writer
