// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "mirror_support.hpp"
#include "support/catch.hpp"
#include "tenon/abi/private/changes.h"
#include "tenon/executorch/backend/argument_mirror.hpp"
#include "unit/core/test_tensor.hpp"

using namespace tenon;
using namespace tenon::test;
namespace et = ::executorch::runtime;
using tenon::bridge::detail::ArgumentMirror;
using tenon::bridge::detail::SharedMirrors;

namespace shared_mirrors_test {

std::span<tenon_value* const> span_of(const std::vector<tenon_value*>& args) { return args; }

/// A call site of a kernel that has been made.
struct Site {
  Site(const std::shared_ptr<SharedMirrors>& mirrors, std::vector<tenon_value*> of)
      : mirror(mirrors), args(std::move(of)) {
    REQUIRE(mirror.update(span_of(args), false).ok());
    mirror.is_bound = true;
  }

  /// The values for a call.
  et::Span<et::EValue*> prepare() {
    if (!mirror.is_current()) REQUIRE(mirror.update(span_of(args)).ok());
    return mirror.values();
  }
  void finish() {
    if (mirror.was_written()) REQUIRE(mirror.write_back(test_host(), false).ok());
  }

  ArgumentMirror mirror;
  std::vector<tenon_value*> args;
};

}  // namespace shared_mirrors_test
using namespace shared_mirrors_test;

TEST_CASE("calls with a value in common have one mirror of it", "[executorch]") {
  const auto mirrors = std::make_shared<SharedMirrors>();
  TestTensor tensor(ScalarType::Float, {4});
  tenon_value input = tensor.value(), number = integer_value(1);
  {
    Site first(mirrors, {&input, &number});
    CHECK(mirrors->size() == 3);  // Two values and a tensor.
    Site second(mirrors, {&number, &input, &number});
    CHECK(mirrors->size() == 3);
    CHECK(first.prepare()[0] == second.prepare()[1]);
    CHECK(first.prepare()[1] == second.prepare()[2]);
    // Another name of the tensor is another value, of the same tensor.
    tenon_value alias = input;
    Site third(mirrors, {&alias});
    CHECK(third.prepare()[0] != first.prepare()[0]);
    CHECK(third.prepare()[0]->toTensor().unsafeGetTensorImpl() ==
          first.prepare()[0]->toTensor().unsafeGetTensorImpl());
  }
  CHECK(mirrors->size() == 0);
}

TEST_CASE("a mirror in common is up to date for each call, whichever call updated it last",
          "[executorch]") {
  const auto mirrors = std::make_shared<SharedMirrors>();
  std::vector<float> other(4);
  TestTensor tensor(ScalarType::Float, {4});
  void* const data = tensor.raw().dl.data;
  tenon_value input = tensor.value(), number = integer_value(1);
  Site first(mirrors, {&input, &number});
  Site second(mirrors, {&input, &number});
  first.prepare();
  second.prepare();
  CHECK(first.mirror.is_current());
  CHECK(second.mirror.is_current());
  number.as.integer = 2;
  tensor.raw().dl.data = other.data();
  CHECK(first.prepare()[1]->toInt() == 2);
  CHECK(first.prepare()[0]->toTensor().const_data_ptr() == other.data());
  // As they were when the second call updated them.
  number.as.integer = 1;
  tensor.raw().dl.data = data;
  CHECK(second.prepare()[1]->toInt() == 1);
  CHECK(second.prepare()[0]->toTensor().const_data_ptr() == data);
  // What a call writes is seen by the next one, which has nothing to update.
  *second.prepare()[1] = et::EValue(std::int64_t{7});
  second.finish();
  CHECK(number.as.integer == 7);
  CHECK(first.mirror.is_current());
  CHECK(first.prepare()[1]->toInt() == 7);
  // Also when it is of another kind.
  *second.prepare()[1] = et::EValue(0.5);
  second.finish();
  CHECK(number.kind == TENON_VALUE_DOUBLE);
  CHECK(first.prepare()[1]->toDouble() == 0.5);
}

TEST_CASE("a tensor without data that one call takes is refused by another", "[executorch]") {
  const auto mirrors = std::make_shared<SharedMirrors>();
  TestTensor tensor(ScalarType::Float, {4});
  tenon_value value = tensor.value();
  Site view(mirrors, {&value}), reader(mirrors, {&value});
  view.mirror.unset_argument = 0;
  tensor.raw().dl.data = nullptr;
  REQUIRE(view.mirror.update(span_of(view.args)).ok());
  view.finish();
  CHECK_FALSE(reader.mirror.is_current());
  const Status refused = reader.mirror.update(span_of(reader.args));
  CHECK(refused.error() == Error::InvalidState);
  CHECK(refused.text() == "argument 0: the tensor has no data");
}

TEST_CASE("an element in common that becomes of another kind is refused in each list",
          "[executorch]") {
  const auto mirrors = std::make_shared<SharedMirrors>();
  tenon_value number = integer_value(1);
  tenon_value* elements[] = {&number};
  tenon_value list{};
  list.kind = TENON_VALUE_INT_LIST;
  list.as.span = {elements, 1};
  Site of_list(mirrors, {&list}), of_number(mirrors, {&number});
  number = tenon_value{};
  number.kind = TENON_VALUE_DOUBLE;
  number.as.real = 0.5;
  REQUIRE(of_number.mirror.update(span_of(of_number.args)).ok());
  const Status refused = of_list.mirror.update(span_of(of_list.args));
  CHECK(refused.error() == Error::InvalidType);
  CHECK(refused.text() == "argument 0: element 0: expected Int, found Double");
}

TEST_CASE("a call that resizes a tensor in common resizes it for the next call", "[executorch]") {
  const auto mirrors = std::make_shared<SharedMirrors>();
  TestTensor tensor(ScalarType::Float, {4});
  tensor.raw().shape_dynamism = TENON_SHAPE_DYNAMIC_BOUND;
  tenon_value value = tensor.value();
  Site writer(mirrors, {&value});
  Site reader(mirrors, {&value});
  reader.prepare();
  const std::int32_t smaller[] = {2};
  REQUIRE(et::resize_tensor(writer.prepare()[0]->toTensor(), {smaller, 1}) == et::Error::Ok);
  writer.finish();
  CHECK(tensor.raw().dl.shape[0] == 2);
  CHECK(reader.mirror.is_current());
  CHECK(reader.prepare()[0]->toTensor().size(0) == 2);
}

TEST_CASE("a value in common that becomes another tensor or list does so for each call",
          "[executorch]") {
  const auto mirrors = std::make_shared<SharedMirrors>();
  TestTensor one(ScalarType::Float, {4}), two(ScalarType::Long, {2, 2});
  tenon_value value = one.value(), four = integer_value(4), five = integer_value(5);
  const std::vector<tenon_value*> few{&four}, more{&four, &five};
  tenon_value list = span_value<tenon_value*>(TENON_VALUE_INT_LIST, few);
  Site first(mirrors, {&value, &list});
  Site second(mirrors, {&value, &list});
  first.prepare();
  second.prepare();
  first.mirror.is_judged = second.mirror.is_judged = true;
  value = two.value();
  list = span_value<tenon_value*>(TENON_VALUE_INT_LIST, more);
  CHECK(first.prepare()[0]->toTensor().const_data_ptr() == two.raw().dl.data);
  CHECK(first.prepare()[1]->toIntList().size() == 2);
  // The second call has to look at the arguments anew, too.
  CHECK_FALSE(second.mirror.is_current());
  CHECK(second.prepare()[0]->toTensor().const_data_ptr() == two.raw().dl.data);
  CHECK(second.prepare()[1]->toIntList()[1] == 5);
  CHECK_FALSE(first.mirror.is_judged);
  CHECK_FALSE(second.mirror.is_judged);
  // Neither makes the other one's mirrors anew again.
  CHECK(first.mirror.is_current());
  CHECK(second.mirror.is_current());
  five.as.integer = 50;
  CHECK(second.prepare()[1]->toIntList()[1] == 50);
  CHECK(first.prepare()[1]->toIntList()[1] == 50);
}

TEST_CASE("a call that failed leaves mirrors in common as they were", "[executorch]") {
  const auto mirrors = std::make_shared<SharedMirrors>();
  TestTensor fixed(ScalarType::Float, {4}), bounded(ScalarType::Float, {3});
  bounded.raw().shape_dynamism = TENON_SHAPE_DYNAMIC_BOUND;
  const std::string_view text = "text";
  tenon_value a = fixed.value(), b = bounded.value(), number = integer_value(1),
              name = span_value<char>(TENON_VALUE_STRING, text);
  Site failing(mirrors, {&a, &b, &number, &name});
  Site other(mirrors, {&a, &b, &number, &name});
  other.prepare();
  const auto values = failing.prepare();
  std::vector<float> foreign(4);
  values[0]->toTensor().unsafeGetTensorImpl()->set_data(foreign.data());
  const std::int32_t smaller[] = {1};
  REQUIRE(et::resize_tensor(values[1]->toTensor(), {smaller, 1}) == et::Error::Ok);
  *values[2] = et::EValue(7.5);
  *values[3] = et::EValue();
  failing.mirror.clear();
  const auto kept = other.prepare();
  CHECK(kept[0]->toTensor().const_data_ptr() == fixed.raw().dl.data);
  CHECK(kept[1]->toTensor().size(0) == 3);
  CHECK(kept[2]->toInt() == 1);
  CHECK(kept[3]->toString() == "text");
  CHECK(failing.prepare()[2]->toInt() == 1);
}

TEST_CASE("a value in common that ExecuTorch cannot hold is an error of each call",
          "[executorch]") {
  const auto mirrors = std::make_shared<SharedMirrors>();
  TestTensor good(ScalarType::Float, {4}), bad(ScalarType::Float, {4});
  bad.raw().scalar_type = 99;
  tenon_value value = good.value();
  Site first(mirrors, {&value});
  Site second(mirrors, {&value});
  second.prepare();
  value = bad.value();
  for (Site* site : {&first, &second, &first}) {
    CHECK(site->mirror.update(span_of(site->args)).error() == Error::InvalidType);
  }
  value = good.value();
  CHECK(second.prepare()[0]->toTensor().const_data_ptr() == good.raw().dl.data);
  CHECK(first.prepare()[0]->toTensor().const_data_ptr() == good.raw().dl.data);
}

TEST_CASE("each size that a call changes is found, of an output and of any other tensor",
          "[executorch]") {
  const bool has_outputs_alone = GENERATE(false, true);
  const auto resized = GENERATE(std::size_t{0}, std::size_t{1});
  const auto dimension = GENERATE(std::size_t{0}, std::size_t{1}, std::size_t{2});
  TestTensor input(ScalarType::Float, {4, 4, 4}), output(ScalarType::Float, {4, 4, 4});
  TestTensor* const tensors[] = {&input, &output};
  for (TestTensor* each : tensors) each->raw().shape_dynamism = TENON_SHAPE_DYNAMIC_BOUND;
  tenon_value from = input.value(), to = output.value();
  Site site(std::make_shared<SharedMirrors>(), {&from, &to, &to});
  site.mirror.writes_outputs_alone = has_outputs_alone;
  tenon_changes changes{sizeof(tenon_changes), 0, 5};
  site.prepare();
  CHECK_FALSE(site.mirror.is_remembered(changes));
  site.mirror.remember(changes);
  REQUIRE(site.mirror.is_remembered(changes));
  REQUIRE(site.mirror.finish_remembered(test_host(), changes, false).ok());
  CHECK(changes.counted == 1);
  CHECK(changes.count == 5);

  std::int32_t sizes[] = {4, 4, 4};
  sizes[dimension] = 3;
  REQUIRE(et::resize_tensor(site.mirror.values()[resized]->toTensor(), {sizes, 3}) ==
          et::Error::Ok);
  changes.counted = 0;
  REQUIRE(site.mirror.finish_remembered(test_host(), changes, false).ok());
  CHECK(changes.counted == 1);
  CHECK(changes.count == 6);
  CHECK(tensors[resized]->raw().dl.shape[dimension] == 3);
  CHECK_FALSE(site.mirror.is_remembered(changes));
}

TEST_CASE("a call that puts another value, or other memory, in place of its output is found",
          "[executorch]") {
  TestTensor input(ScalarType::Float, {4}), output(ScalarType::Float, {4});
  tenon_value from = input.value(), to = output.value();
  Site site(std::make_shared<SharedMirrors>(), {&from, &to});
  // Which arguments are outputs decides how the mirrors are compared.
  site.mirror.writes_outputs_alone = GENERATE(false, true);
  tenon_changes changes{sizeof(tenon_changes), 0, 5};
  et::EValue& mirror = *site.prepare()[1];
  site.mirror.remember(changes);
  SECTION("a number") {
    mirror = et::EValue(std::int64_t{7});
    CHECK(site.mirror.finish_remembered(test_host(), changes, false).error() ==
          Error::NotSupported);
  }
  SECTION("another tensor") {
    mirror = et::EValue(site.mirror.values()[0]->toTensor());
    CHECK(site.mirror.finish_remembered(test_host(), changes, false).error() ==
          Error::NotSupported);
  }
  SECTION("memory of another argument") {
    mirror.toTensor().unsafeGetTensorImpl()->set_data(input.raw().dl.data);
    REQUIRE(site.mirror.finish_remembered(test_host(), changes, true).ok());
    CHECK(output.raw().dl.data == input.raw().dl.data);
    CHECK(changes.count == 6);
    return;
  }
  CHECK(changes.count == 5);
  CHECK(changes.counted == 0);
  // The next call makes its list anew, whatever the count is.
  changes.count = tenon::bridge::detail::Remembered::nothing;
  CHECK_FALSE(site.mirror.is_remembered(changes));
}
