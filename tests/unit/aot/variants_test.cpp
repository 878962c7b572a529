// SPDX-License-Identifier: MIT
#include "tenon/aot/compiler/variants/variants.hpp"

#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "tenon/aot/compiler/variants/read_program.hpp"
#include "tenon/aot/compiler/write/pte_writer.hpp"
#include "tenon/aot/named_data_store.hpp"
#include "tenon/core/bytes.hpp"
#include "tenon/host/layers/inspect/method_meta.hpp"
#include "tenon/host/layers/variants/impl/read_variants.hpp"
#include "tenon/host/layers/variants/variants.hpp"
#include "tenon/host/loader/program/program.hpp"

namespace tenon::test::variants {

using aot::ProgramData;
using aot::SharedBytes;
using aot::VariantToMerge;

SharedBytes text(std::string_view value) { return SharedBytes::copy_of(value); }

aot::TensorValue planned(std::vector<std::int32_t> sizes, std::uint64_t offset) {
  aot::TensorValue out;
  out.layout = {ScalarType::Float, std::move(sizes)};
  out.data = aot::storage::Planned{{1, offset}};
  return out;
}

/// A method of one input and one output of four floats, a constant, and a delegate with `blob`.
void add_method(ProgramData& program, std::string name, std::string id, std::string_view blob) {
  aot::MethodData& method = program.methods.emplace_back();
  method.name = std::move(name);
  method.planned_memory.push_back({32, {}});
  method.inputs.push_back(method.add(planned({4}, 0)));
  method.outputs.push_back(method.add(planned({4}, 16)));
  aot::TensorValue constant;
  constant.layout = {ScalarType::Byte, {5}};
  constant.data = aot::storage::Constant{program.add_constant(text(blob.substr(0, 5)))};
  method.add(std::move(constant));
  if (id.empty()) return;
  const auto delegate = method.add_delegate({std::move(id), text(blob), {{"mode", text(blob)}}});
  method.instructions.push_back(aot::DelegateCall{delegate, {0, 1}});
}

ProgramData program_of(std::string id, std::string_view blob,
                       std::vector<std::pair<std::string, std::string>> data = {}) {
  ProgramData out;
  add_method(out, "forward", std::move(id), blob);
  aot::NamedDataStore store;
  for (const auto& [key, value] : data) REQUIRE(store.add_named_data(key, text(value)).ok());
  out.named_data = store.get_named_data_store_output();
  return out;
}

std::vector<std::byte> write(const ProgramData& program) {
  const auto image = aot::make_pte(program);
  INFO(image.text());
  REQUIRE(image.ok());
  return image->bytes();
}

std::shared_ptr<const host::Program> open(const ProgramData& program) {
  const auto owner = std::make_shared<std::vector<std::byte>>(write(program));
  auto opened = host::Program::from_bytes(*owner, owner, "written");
  INFO(opened.text());
  REQUIRE(opened.ok());
  return *opened;
}

ProgramData merge(std::vector<VariantToMerge> variants) {
  auto merged = aot::merge_variants(std::move(variants));
  INFO(merged.text());
  REQUIRE(merged.ok());
  return *std::move(merged);
}

std::string fault(std::vector<VariantToMerge> variants) {
  const auto merged = aot::merge_variants(std::move(variants));
  REQUIRE(merged.error() == Error::InvalidArgument);
  return std::string(merged.text());
}

std::vector<std::string_view> all_keys(const host::Program& program) {
  std::vector<std::string_view> out;
  for (std::uint32_t i = 0; i < program.num_keys(); ++i) out.push_back(program.key(i));
  return out;
}

/// Three variants: "A", "B:big" with the highest priority, and "kernels".
ProgramData three() {
  std::vector<VariantToMerge> variants;
  variants.push_back({program_of("A", "blob a", {{"shared", "same"}, {"of a", "1"}}), {}, 0, {}});
  variants.push_back(
      {program_of("B", "blob b",
                  {{"shared", "same"}, {"of b", "2"}, {"tenon.debug_handles/forward", "handles"}}),
       "B:big",
       2,
       {{"B", {"big", 3, {"avx2", "fma"}}}}});
  variants.push_back({program_of("", "blob c"), {}, 1, {}});
  return merge(std::move(variants));
}

TEST_CASE("Merged programs are variants of one method, and the first keeps its name") {
  const auto program = open(three());
  REQUIRE(program->num_methods() == 3);
  CHECK(program->method_name(0) == "forward");
  CHECK(program->method_name(1) == "forward@B:big");
  CHECK(program->method_name(2) == "forward@kernels");
  const auto all = *host::Variants::of(*program);
  const auto variants = all.of_method("forward");
  REQUIRE(variants.size() == 3);
  CHECK(variants[0].name == "B:big");
  CHECK(variants[1].name == "kernels");
  CHECK(variants[1].needs.empty());
  CHECK(variants[2].name == "A");
  CHECK(variants[2].is_default);
  REQUIRE(variants[0].needs.size() == 1);
  const host::VariantNeed& need = variants[0].needs[0];
  CHECK(need.backend_id == "B");
  CHECK(need.target == "big");
  CHECK(need.payload_version == 3);
  CHECK(need.cpu_features == std::vector<std::string_view>{"avx2", "fma"});
  const auto meta = host::MethodMeta::of(*program, "forward@B:big");
  REQUIRE(meta.ok());
  const auto delegate = meta->delegate(0);
  REQUIRE(delegate.ok());
  CHECK(as_text(delegate->blob) == "blob b");
  CHECK(all_keys(*program) == std::vector<std::string_view>{"shared", "of a", "of b",
                                                            "tenon.debug_handles/forward@B:big",
                                                            "tenon.variants/1"});
}

TEST_CASE("A program that was merged and stripped is the one that there was before") {
  const auto merged = open(three());
  const auto stripped = [&](const char* name) {
    auto program = aot::strip_variants(merged, {{"forward", name}});
    INFO(program.text());
    REQUIRE(program.ok());
    return write(*program);
  };
  CHECK(stripped("A") == write(program_of("A", "blob a", {{"shared", "same"}, {"of a", "1"}})));
  CHECK(stripped("B:big") ==
        write(program_of(
            "B", "blob b",
            {{"shared", "same"}, {"of b", "2"}, {"tenon.debug_handles/forward", "handles"}})));
  CHECK(stripped("kernels") == write(program_of("", "blob c")));

  const auto by_default = aot::strip_variants(merged, {});
  REQUIRE(by_default.ok());
  CHECK(write(*by_default) == stripped("A"));
  CHECK(aot::strip_variants(merged, {{"forward", "C"}}).error() == Error::InvalidArgument);
  CHECK(aot::strip_variants(merged, {{"backward", "A"}}).error() == Error::InvalidArgument);
  const auto single = open(program_of("A", "blob a"));
  const auto same = aot::strip_variants(single, {});
  REQUIRE(same.ok());
  CHECK(write(*same) == write(program_of("A", "blob a")));
}

TEST_CASE("A program that has variants takes more") {
  auto read = aot::read_program(open(three()));
  REQUIRE(read.ok());
  std::vector<VariantToMerge> variants;
  variants.push_back({*std::move(read), {}, 0, {}});
  variants.push_back({program_of("D", "blob d", {{"of d", "4"}}), {}, 7, {}});
  const auto program = open(merge(std::move(variants)));
  const auto found = host::Variants::of(*program)->of_method("forward");
  REQUIRE(found.size() == 4);
  CHECK(found[0].name == "D");
  CHECK(found[1].name == "B:big");
  const auto stripped = aot::strip_variants(program, {{"forward", "D"}});
  REQUIRE(stripped.ok());
  CHECK(write(*stripped) == write(program_of("D", "blob d", {{"of d", "4"}})));

  const auto again = [&](std::string name, ProgramData first) {
    std::vector<VariantToMerge> two;
    two.push_back({std::move(first), {}, 0, {}});
    two.push_back({program_of("A", "blob"), std::move(name), 0, {}});
    return fault(std::move(two));
  };
  CHECK_THAT(again("B:big", three()), ContainsSubstring("another variant has this name"));
  std::vector<VariantToMerge> wrong;
  wrong.push_back({program_of("A", "blob a"), {}, 0, {}});
  wrong.push_back({three(), "many", 0, {}});
  CHECK_THAT(fault(std::move(wrong)), ContainsSubstring("variant 'many': has variants itself"));
}

TEST_CASE("A variant may lack methods of the first program") {
  ProgramData first = program_of("A", "blob a");
  add_method(first, "decode", "A", "blob a2");
  std::vector<VariantToMerge> variants;
  variants.push_back({std::move(first), {}, 0, {}});
  variants.push_back({program_of("B", "blob b"), {}, 1, {}});
  const auto program = open(merge(std::move(variants)));
  const auto found = *host::Variants::of(*program);
  CHECK(found.visible_methods() == std::vector<std::string_view>{"forward", "decode"});
  CHECK(found.of_method("forward").size() == 2);
  CHECK(found.of_method("decode").size() == 1);
  CHECK(found.of_method("encode").empty());
}

TEST_CASE("Programs that are not for one model are not merged") {
  CHECK(aot::merge_variants({}).error() == Error::InvalidArgument);
  const auto two = [](ProgramData second, std::string name = {}) {
    std::vector<VariantToMerge> variants;
    variants.push_back({program_of("A", "blob a", {{"key", "1"}}), {}, 0, {}});
    variants.push_back({std::move(second), std::move(name), 0, {}});
    return variants;
  };
  CHECK_THAT(fault(two(program_of("A", "blob b"))),
             ContainsSubstring("variant 'A': another variant has this name"));
  CHECK_THAT(fault(two(program_of("B", "blob b", {{"key", "2"}}))),
             ContainsSubstring("variant 'B'") && ContainsSubstring("duplicate key 'key'"));
  CHECK_THAT(fault(two(program_of("B", "blob b"), "a\nb")),
             ContainsSubstring("has a control character"));
  ProgramData other = program_of("B", "blob b");
  other.methods[0].name = "backward";
  CHECK_THAT(fault(two(std::move(other))),
             ContainsSubstring("variant 'B': method 'backward' is not in the first program"));
  other = program_of("B", "blob b");
  other.methods[0].inputs.push_back(0);
  CHECK_THAT(fault(two(std::move(other))), ContainsSubstring("has 2 inputs, expected 1"));
  other = program_of("B", "blob b");
  other.methods[0].values[1] = planned({2, 2}, 16);
  CHECK_THAT(fault(two(std::move(other))), ContainsSubstring("output 0 differs in kind, type"));
  other = program_of("B", "blob b");
  other.methods[0].values[0] = std::int64_t{4};
  CHECK_THAT(fault(two(std::move(other))), ContainsSubstring("input 0 differs in kind, type"));
}

TEST_CASE("A program states the needs that its exporter wrote") {
  ProgramData program =
      program_of("Aoti", "0123_so_blob\n4567_weights_blob", {{"0123_cpu_features", "avx2,fma"}});
  program.methods[0].delegates[0].compile_specs = {{"target_device", text("cuda:0")}};
  const auto needs = aot::find_needs(program);
  REQUIRE(needs.size() == 1);
  const aot::VariantNeeds expected{"cuda:0", 0, {"avx2", "fma"}};
  CHECK(needs.find("Aoti")->second == expected);
  CHECK(aot::find_needs(program_of("", "blob a")).empty());
  CHECK(aot::default_variant_name(program) == "Aoti");
  ProgramData several = program_of("A", "blob a");
  add_method(several, "decode", "B", "blob b");
  add_method(several, "encode", "A", "blob c");
  CHECK(aot::default_variant_name(several) == "A+B");
  CHECK(aot::default_variant_name(program_of("", "blob a")) == "kernels");
}

TEST_CASE("A host sees in the first bytes of a file whether it has variants") {
  const std::vector<std::byte> with = write(three());
  const std::vector<std::byte> without = write(program_of("A", "blob a", {{"key", "value"}}));
  const auto seems = [](const std::vector<std::byte>& file, std::size_t size) {
    return host::detail::seems_to_have_variants(Bytes(file).first(size));
  };
  CHECK(seems(with, with.size()));
  CHECK(seems(with, 512));
  CHECK_FALSE(seems(without, without.size()));
  for (std::size_t size = 0; size < 512; ++size) {
    CHECK_FALSE(seems(without, size));
    static_cast<void>(seems(with, size));
  }
}

TEST_CASE("The time to merge and to strip variants grows with their number") {
  const auto milliseconds = [](int count) {
    const std::clock_t start = std::clock();  // Of this process: others do not count.
    std::vector<VariantToMerge> variants;
    for (int i = 0; i < count; ++i) {
      variants.push_back({program_of("A", concat("blob ", i), {{concat("key ", i), concat(i)}}),
                          concat("variant ", i),
                          i,
                          {}});
    }
    const auto program = open(merge(std::move(variants)));
    const auto stripped =
        aot::strip_variants(program, {{"forward", concat("variant ", count - 1)}});
    REQUIRE(stripped.ok());
    CHECK(stripped->methods.size() == 1);
    CHECK(stripped->constants.size() == 1);
    return 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  milliseconds(100);
  const double few = milliseconds(250);
  const double many = milliseconds(4000);
  INFO(few << " ms for 250, " << many << " ms for 4000");
  CHECK(many < (few + 1) * 16 * 8);
}

}  // namespace tenon::test::variants
