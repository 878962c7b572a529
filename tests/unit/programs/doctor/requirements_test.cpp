// SPDX-License-Identifier: MIT
#include "tenon/host/layers/variants/requirements.hpp"
#include "tenon/host/loader/program/device_buffers.hpp"
#include "tenon/host/schema/program_generated.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tenon/host/layers/data/data_file.hpp"
#include "tenon/host/layers/data/merged_data_map.hpp"
#include "tenon/host/layers/devices/impl/copy_kernels.hpp"
#include "tenon/host/loader/method/kernels.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "unit/host/layers/data/data_file_builder.hpp"
#include "unit/host/loader/program/rich_program.hpp"

using namespace tenon;
using namespace tenon::host;
using tenon::test::AlignedBytes;
using tenon::test::ProgramBuilder;
using Names = std::vector<std::string>;

namespace {

std::shared_ptr<const Program> program_of(const AlignedBytes& file) {
  auto program = Program::from_bytes(file.bytes(), nullptr, "model.pte");
  INFO(program.text());
  REQUIRE(program.ok());
  return *program;
}

schema::objects::TensorT external(std::string name) {
  auto out = test::tensor(ScalarType::Float, {2});
  out.extra_tensor_info = std::make_unique<schema::objects::ExtraTensorInfoT>();
  out.extra_tensor_info->fully_qualified_name = std::move(name);
  out.extra_tensor_info->location = schema::TensorDataLocation::EXTERNAL;
  return out;
}

}  // namespace

TEST_CASE("operators without a kernel are found with each call in each chain", "[requirements]") {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto value = plan.value(test::int_value(1));
  const auto sin = plan.op("aten::sin", "out");
  const auto bare = plan.op("acme::sleep", "");
  plan.op("aten::never_called", "out");
  plan.instruction(test::kernel_call(sin, {value}));
  plan.instruction(test::move_call(value, value));
  plan.instruction(test::kernel_call(bare, {value}));
  plan.instruction(test::kernel_call(sin, {value}));
  plan.table().chains.push_back(std::make_unique<schema::objects::ChainT>());
  plan.instruction(test::kernel_call(sin, {value}));
  const AlignedBytes file = builder.build();
  const auto program = program_of(file);
  using Missing = std::map<std::string, std::string>;
  CHECK(find_missing_operators(**program->plan("forward"), nullptr) ==
        Missing{{"acme::sleep", "0:2"}, {"aten::sin.out", "0:0, 0:3, 1:0"}});

  CHECK(is_built_in("et_copy::_h2d_copy.out"));
  CHECK(is_built_in("et_copy::_d2h_copy.out"));
  CHECK_FALSE(is_built_in("et_copy::_h2d_copy"));

  KernelTable kernels;
  REQUIRE(kernels.add("aten::sin.out", Kernel()).ok());
  CHECK(find_missing_operators(**program->plan("forward"), &kernels) ==
        Missing{{"acme::sleep", "0:2"}});
}

TEST_CASE("external tensors that no data file has are found once each", "[requirements]") {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  for (const char* name : {"b", "a", "b", "there"}) plan.value(external(name));
  const AlignedBytes file = builder.build();
  const auto program = program_of(file);
  CHECK(find_missing_tensors(**program->plan("forward"), nullptr) == Names{"b", "a", "there"});

  test::DataFileBuilder data;
  data.tensor("there", ScalarType::Float, {2}, std::string(8, '\0'));
  const AlignedBytes bytes = data.build();
  const auto weights = *DataFile::from_bytes(bytes.bytes(), nullptr, "weights.ptd");
  const auto map = *MergedDataMap::create(nullptr, {weights});
  CHECK(find_missing_tensors(**program->plan("forward"), map.get()) == Names{"b", "a"});
}

TEST_CASE("memory that is planned on a device is found", "[requirements]") {
  const AlignedBytes file = test::rich_program().build();
  const auto program = program_of(file);
  const auto buffers = find_device_buffers(**program->plan("forward"));
  REQUIRE(buffers.size() == 1);
  CHECK(buffers[0].text() == "planned buffer 2 of 16 bytes on CUDA device 1");
  CHECK(find_backend_ids(**program->plan("forward")) ==
        std::vector<std::string_view>{"Outside", "Inside"});
  CHECK(find_device_buffers(**program->plan("backward")).empty());
}

TEST_CASE("what a changed program needs is found without harm", "[requirements]") {
  AlignedBytes file = test::rich_program().build();
  std::size_t opened = 0;
  for (std::size_t at = 0; at < file.bytes().size(); ++at) {
    const std::byte before = file.bytes()[at];
    for (const unsigned change : {0x01u, 0x80u, 0xffu}) {
      file.bytes()[at] = before ^ static_cast<std::byte>(change);
      const auto program = Program::from_bytes(file.bytes(), nullptr, "changed.pte");
      if (!program.ok()) continue;
      ++opened;
      for (const std::string_view name : (*program)->method_names()) {
        const schema::ExecutionPlan& plan = **(*program)->plan(name);
        CHECK(find_missing_operators(plan, nullptr).size() <= 2);
        static_cast<void>(find_missing_tensors(plan, nullptr));
        static_cast<void>(find_device_buffers(plan));
      }
    }
    file.bytes()[at] = before;
  }
  CHECK(opened > 100);
}
