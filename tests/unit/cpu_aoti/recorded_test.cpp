// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "kernel_support.hpp"
#include "support/catch.hpp"

using namespace kernel_test;
using namespace tenon::cpu_aoti;

// Kernels give what PyTorch returned (tests/live/exporters/record_kernels.py has the format of the
// file).
namespace recorded_test {
namespace {

using tenon::aoti::ShimError;

ScalarType type_of(const std::string& name) {
  for (std::int32_t number = 0; number < 64; ++number) {
    const auto type = static_cast<ScalarType>(number);
    if (tenon::size_of(type) != 0 && tenon::name_of(type) == name) return type;
  }
  FAIL("no dtype " << name);
  return ScalarType::Byte;
}

bool is_complex(ScalarType type) {
  return type == ScalarType::ComplexFloat || type == ScalarType::ComplexDouble;
}

ScalarType part_type(ScalarType type) {
  if (!is_complex(type)) return type;
  return type == ScalarType::ComplexFloat ? ScalarType::Float : ScalarType::Double;
}

Shape read_list(const std::string& text) {
  Shape out;
  std::istringstream numbers(text == "-" ? "" : text);
  for (std::string one; std::getline(numbers, one, ',');) out.push_back(std::stoll(one));
  return out;
}

/// A tensor of the file. Complex elements are two numbers.
struct Recorded {
  ScalarType type{};
  Shape sizes, strides;
  std::int64_t offset = 0;
  std::vector<double> values;

  explicit Recorded(std::istream& line) {
    std::string dtype, shape, step;
    line >> dtype >> shape >> step;
    type = type_of(dtype);
    sizes = read_list(shape);
    const auto at = step.find('@');
    if (at != std::string::npos) offset = std::stoll(step.substr(at + 1));
    strides = read_list(step.substr(0, at));
    for (std::string one; line >> one;) values.push_back(std::strtod(one.c_str(), nullptr));
  }

  Handle make_tensor() const {
    auto& pool = tenon::aoti::current_pool();
    std::int64_t last = offset;
    for (std::size_t d = 0; d < sizes.size(); ++d) last += (sizes[d] - 1) * strides[d];
    const Handle memory = make({std::max<std::int64_t>(last + 1, 0)}, type);
    Handle out(pool.view(*memory, sizes, strides.data(), offset));
    const std::int64_t parts = is_complex(type) ? 2 : 1;
    for (std::int64_t i = 0; i < out->numel * parts; ++i) {
      write(part_type(type), out->data, offset_of(*out, i / parts) * parts + i % parts,
            values[static_cast<std::size_t>(i)]);
    }
    return out;
  }
};

struct Case {
  std::string name;
  std::vector<Recorded> inputs, outputs;
  std::vector<bool> given;  ///< For each tensor argument in order; false for `none`.
  std::vector<double> numbers;
  std::vector<Shape> lists;
  std::vector<std::string> texts;
};

std::vector<Case> read_cases() {
  std::ifstream file(TENON_TEST_RECORDED);
  REQUIRE(file.good());
  std::vector<Case> out;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string what;
    line >> what;
    if (what == "#") continue;
    if (what == "case") {
      out.emplace_back();
      line >> out.back().name;
    } else if (what == "in") {
      out.back().inputs.emplace_back(line);
      out.back().given.push_back(true);
    } else if (what == "none") {
      out.back().given.push_back(false);
    } else if (what == "out") {
      out.back().outputs.emplace_back(line);
    } else if (what == "list") {
      std::string list;
      line >> list;
      out.back().lists.push_back(read_list(list));
    } else if (what == "text") {
      line >> out.back().texts.emplace_back();
    } else {
      REQUIRE(what == "number");
      std::string number;
      line >> number;
      out.back().numbers.push_back(std::strtod(number.c_str(), nullptr));
    }
  }
  return out;
}

/// The arguments of one call, and its results.
struct Call {
  const Case& of;
  std::vector<ModelTensor*> tensors;  ///< Null where none is given.
  std::vector<Handle> owned;
  Handle results[3];

  explicit Call(const Case& one) : of(one) {
    auto input = one.inputs.begin();
    for (const bool given : one.given) {
      if (given) owned.push_back((input++)->make_tensor());
      tensors.push_back(given ? owned.back().get() : nullptr);
    }
  }
  ModelTensor* in(std::size_t i) const { return tensors[i]; }
  double number(std::size_t i) const { return of.numbers[i]; }
  std::int64_t whole(std::size_t i) const { return static_cast<std::int64_t>(of.numbers[i]); }
  std::int32_t flag(std::size_t i) const { return static_cast<std::int32_t>(of.numbers[i]); }
  const std::int64_t* list(std::size_t i) const { return of.lists[i].data(); }
  std::int64_t length(std::size_t i) const { return static_cast<std::int64_t>(of.lists[i].size()); }
  ModelTensor** out(std::size_t i = 0) { return results[i].out(); }
  /// A list of optional tensors from the one with number `first` on.
  std::vector<ModelTensor* const*> optional_from(std::size_t first) const {
    std::vector<ModelTensor* const*> out;
    for (std::size_t i = first; i < tensors.size(); ++i) {
      out.push_back(tensors[i] ? &tensors[i] : nullptr);
    }
    return out;
  }
  /// The result of a function that writes to a given tensor.
  ModelTensor* made_out() {
    results[0] = make(of.outputs[0].sizes, of.outputs[0].type, of.outputs[0].strides);
    return results[0].get();
  }
};

using Pool = ShimError (*)(ModelTensor*, const std::int64_t*, std::int64_t, const std::int64_t*,
                           std::int64_t, const std::int64_t*, std::int64_t, std::int32_t,
                           std::int32_t, std::int64_t*, ModelTensor**) noexcept;

ShimError pool(Pool function, Call& c) {
  std::int64_t divisor = c.whole(2);
  return function(c.in(0), c.list(0), c.length(0), c.list(1), c.length(1), c.list(2), c.length(2),
                  c.flag(0), c.flag(1), divisor != 0 ? &divisor : nullptr, c.out());
}

using Kernel = std::function<ShimError(Call&)>;

void add_selection(std::map<std::string, Kernel>& k) {
  k["median"] = [](Call& c) { return aoti_torch_cpu_median(c.in(0), c.out()); };
  k["nanmedian"] = [](Call& c) { return aoti_torch_cpu_nanmedian(c.in(0), c.out()); };
  k["kthvalue"] = [](Call& c) {
    return aoti_torch_cpu_kthvalue(c.in(0), c.whole(0), c.whole(1), c.flag(2), c.out(), c.out(1));
  };
  k["mode"] = [](Call& c) {
    return aoti_torch_cpu_mode(c.in(0), c.whole(0), c.flag(1), c.out(), c.out(1));
  };
  k["bucketize_Tensor"] = [](Call& c) {
    return aoti_torch_cpu_bucketize_Tensor(c.in(0), c.in(1), c.flag(0), c.flag(1), c.out());
  };
  k["searchsorted_Tensor"] = [](Call& c) {
    const char* side = c.of.texts[0].c_str();
    ModelTensor* sorter = c.in(2);
    return aoti_torch_cpu_searchsorted_Tensor(c.in(0), c.in(1), c.flag(0), c.flag(1), &side,
                                              sorter ? &sorter : nullptr, c.out());
  };
  k["searchsorted_Scalar"] = [](Call& c) {
    const char* side = c.of.texts[0].c_str();
    return aoti_torch_cpu_searchsorted_Scalar(c.in(0), c.number(0), c.flag(1), c.flag(2), &side,
                                              nullptr, c.out());
  };
  k["histc"] = [](Call& c) {
    return aoti_torch_cpu_histc(c.in(0), c.whole(0), c.number(1), c.number(2), c.out());
  };
  k["masked_scatter"] = [](Call& c) {
    return aoti_torch_cpu_masked_scatter(c.in(0), c.in(1), c.in(2), c.out());
  };
  k["masked_select"] = [](Call& c) {
    return aoti_torch_cpu_masked_select(c.in(0), c.in(1), c.out());
  };
  k["nonzero"] = [](Call& c) { return aoti_torch_cpu_nonzero(c.in(0), c.out()); };
  k["nonzero_static"] = [](Call& c) {
    return aoti_torch_cpu_nonzero_static(c.in(0), c.whole(0), c.whole(1), c.out());
  };
  k["repeat_interleave_Tensor"] = [](Call& c) {
    return aoti_torch_cpu_repeat_interleave_Tensor(c.in(0), nullptr, c.out());
  };
  k["index_Tensor"] = [](Call& c) {
    const auto indices = c.optional_from(1);
    return aoti_torch_cpu_index_Tensor(c.in(0), indices.data(),
                                       static_cast<std::int64_t>(indices.size()), c.out());
  };
  k["index_put"] = [](Call& c) {
    const auto indices = c.optional_from(2);
    return aoti_torch_cpu_index_put(c.in(0), indices.data(),
                                    static_cast<std::int64_t>(indices.size()), c.in(1), c.flag(0),
                                    c.out());
  };
  k["index_reduce"] = [](Call& c) {
    return aoti_torch_cpu_index_reduce(c.in(0), c.whole(0), c.in(1), c.in(2), c.of.texts[0].c_str(),
                                       c.flag(1), c.out());
  };
}

void add_numeric(std::map<std::string, Kernel>& k) {
  k["cummax"] = [](Call& c) {
    return aoti_torch_cpu_cummax(c.in(0), c.whole(0), c.out(), c.out(1));
  };
  k["cummin"] = [](Call& c) {
    return aoti_torch_cpu_cummin(c.in(0), c.whole(0), c.out(), c.out(1));
  };
  k["logcumsumexp"] = [](Call& c) {
    return aoti_torch_cpu_logcumsumexp(c.in(0), c.whole(0), c.out());
  };
  k["avg_pool2d"] = [](Call& c) { return pool(aoti_torch_cpu_avg_pool2d, c); };
  k["avg_pool3d"] = [](Call& c) { return pool(aoti_torch_cpu_avg_pool3d, c); };
  k["_cdist_forward"] = [](Call& c) {
    return aoti_torch_cpu__cdist_forward(c.in(0), c.in(1), c.number(0), nullptr, c.out());
  };
  k["_pdist_forward"] = [](Call& c) {
    return aoti_torch_cpu__pdist_forward(c.in(0), c.number(0), c.out());
  };
  k["_trilinear"] = [](Call& c) {
    return aoti_torch_cpu__trilinear(c.in(0), c.in(1), c.in(2), c.list(0), c.length(0), c.list(1),
                                     c.length(1), c.list(2), c.length(2), c.list(3), c.length(3), 1,
                                     c.out());
  };
  k["grid_sampler_3d"] = [](Call& c) {
    return aoti_torch_cpu_grid_sampler_3d(c.in(0), c.in(1), c.whole(0), c.whole(1), c.flag(2),
                                          c.out());
  };
  k["addbmm"] = [](Call& c) {
    return aoti_torch_cpu_addbmm(c.in(0), c.in(1), c.in(2), c.number(0), c.number(1), c.out());
  };
  k["cholesky_solve"] = [](Call& c) {
    return aoti_torch_cpu_cholesky_solve(c.in(0), c.in(1), c.flag(0), c.out());
  };
  k["cholesky_inverse"] = [](Call& c) {
    return aoti_torch_cpu_cholesky_inverse(c.in(0), c.flag(0), c.out());
  };
  k["triangular_solve"] = [](Call& c) {
    return aoti_torch_cpu_triangular_solve(c.in(0), c.in(1), c.flag(0), c.flag(1), c.flag(2),
                                           c.out(), c.out(1));
  };
  k["geqrf"] = [](Call& c) { return aoti_torch_cpu_geqrf(c.in(0), c.out(), c.out(1)); };
  k["ormqr"] = [](Call& c) {
    return aoti_torch_cpu_ormqr(c.in(0), c.in(1), c.in(2), c.flag(0), c.flag(1), c.out());
  };
  k["lu_unpack"] = [](Call& c) {
    return aoti_torch_cpu_lu_unpack(c.in(0), c.in(1), c.flag(0), c.flag(1), c.out(), c.out(1),
                                    c.out(2));
  };
  k["_grouped_mm"] = [](Call& c) {
    ModelTensor* ends = c.in(2);
    return aoti_torch_cpu__grouped_mm(c.in(0), c.in(1), ends ? &ends : nullptr, nullptr, nullptr,
                                      c.out());
  };
  k["_int_mm_out"] = [](Call& c) {
    return aoti_torch_cpu__int_mm_out(c.made_out(), c.in(0), c.in(1));
  };
  k["_weight_int8pack_mm"] = [](Call& c) {
    return aoti_torch_cpu__weight_int8pack_mm(c.in(0), c.in(1), c.in(2), c.out());
  };
}

void add_views(std::map<std::string, Kernel>& k) {
  k["slice_Tensor"] = [](Call& c) {
    std::int64_t start = c.whole(1), end = c.whole(2);
    return aoti_torch_cpu_slice_Tensor(c.in(0), c.whole(0), &start, &end, c.whole(3), c.out());
  };
  k["narrow"] = [](Call& c) {
    return aoti_torch_cpu_narrow(c.in(0), c.whole(0), c.whole(1), c.whole(2), c.out());
  };
  k["permute"] = [](Call& c) {
    return aoti_torch_cpu_permute(c.in(0), c.list(0), c.length(0), c.out());
  };
  k["squeeze_dim"] = [](Call& c) {
    return aoti_torch_cpu_squeeze_dim(c.in(0), c.whole(0), c.out());
  };
  k["reshape"] = [](Call& c) {
    return aoti_torch_cpu_reshape(c.in(0), c.list(0), c.length(0), c.out());
  };
  k["view_dtype"] = [](Call& c) { return aoti_torch_cpu_view_dtype(c.in(0), c.flag(0), c.out()); };
  k["view_as_real"] = [](Call& c) { return aoti_torch_cpu_view_as_real(c.in(0), c.out()); };
  k["view_as_complex"] = [](Call& c) { return aoti_torch_cpu_view_as_complex(c.in(0), c.out()); };
  k["cat"] = [](Call& c) {
    return aoti_torch_cpu_cat(c.tensors.data(), static_cast<std::int64_t>(c.tensors.size()),
                              c.whole(0), c.out());
  };
}

void add_arithmetic(std::map<std::string, Kernel>& k) {
  k["abs"] = [](Call& c) { return aoti_torch_cpu_abs(c.in(0), c.out()); };
  k["angle"] = [](Call& c) { return aoti_torch_cpu_angle(c.in(0), c.out()); };
  k["polar"] = [](Call& c) { return aoti_torch_cpu_polar(c.in(0), c.in(1), c.out()); };
  k["add_Tensor"] = [](Call& c) {
    return aoti_torch_cpu_add_Tensor(c.in(0), c.in(1), c.number(0), c.out());
  };
  k["mul_Tensor"] = [](Call& c) { return aoti_torch_cpu_mul_Tensor(c.in(0), c.in(1), c.out()); };
  k["mul_Scalar"] = [](Call& c) {
    return aoti_torch_cpu_mul_Scalar(c.in(0), c.number(0), c.out());
  };
  k["add_Scalar"] = [](Call& c) {
    return aoti_torch_cpu_add_Scalar(c.in(0), c.number(0), c.number(1), c.out());
  };
  k["gcd"] = [](Call& c) { return aoti_torch_cpu_gcd(c.in(0), c.in(1), c.out()); };
  k["pow_Tensor_Tensor"] = [](Call& c) {
    return aoti_torch_cpu_pow_Tensor_Tensor(c.in(0), c.in(1), c.out());
  };
  k["pow_Tensor_Scalar"] = [](Call& c) {
    return aoti_torch_cpu_pow_Tensor_Scalar(c.in(0), c.number(0), c.out());
  };
  k["pow_Scalar"] = [](Call& c) {
    return aoti_torch_cpu_pow_Scalar(c.number(0), c.in(0), c.out());
  };
}

std::map<std::string, Kernel> kernels() {
  std::map<std::string, Kernel> out;
  add_selection(out);
  add_numeric(out);
  add_views(out);
  add_arithmetic(out);
  return out;
}

/// Elements in row-major order; complex ones as two numbers.
std::vector<double> values_of(const ModelTensor& tensor) {
  std::vector<double> out;
  const std::int64_t parts = is_complex(tensor.scalar_type) ? 2 : 1;
  for (std::int64_t i = 0; i < tensor.numel * parts; ++i) {
    out.push_back(read(part_type(tensor.scalar_type), tensor.data,
                       offset_of(tensor, i / parts) * parts + i % parts));
  }
  return out;
}

bool close(double found, double expected, double relative) {
  if (found == expected || (std::isnan(found) && std::isnan(expected))) return true;
  // Without this the limit below is infinite for an infinite number.
  if (!std::isfinite(found) || !std::isfinite(expected)) return false;
  return std::abs(found - expected) <= relative * std::max(1.0, std::abs(expected));
}

void check(const ModelTensor& found, const Recorded& expected) {
  REQUIRE(tenon::name_of(found.scalar_type) == tenon::name_of(expected.type));
  REQUIRE(Shape(found.shape().begin(), found.shape().end()) == expected.sizes);
  for (std::size_t d = 0; found.numel > 0 && d < expected.sizes.size(); ++d) {
    INFO("stride of dimension " << d);
    if (expected.sizes[d] != 1) CHECK(found.strides[d] == expected.strides[d]);
  }
  if (found.numel > 0) CHECK(found.storage_offset == expected.offset);
  const double limit = tolerance(part_type(expected.type), 1);
  const std::vector<double> values = values_of(found);
  for (std::size_t i = 0; i < values.size(); ++i) {
    INFO("element " << i << ": expected " << expected.values[i] << ", found " << values[i]);
    CHECK(close(values[i], expected.values[i], limit));
  }
}

}  // namespace

TEST_CASE("the comparison takes an infinite number only for itself", "[cpu_aoti]") {
  const double infinity = HUGE_VAL;
  CHECK(close(infinity, infinity, 1e-6));
  CHECK_FALSE(close(-infinity, infinity, 1e-6));
  CHECK_FALSE(close(1, -infinity, 1e-6));
}

TEST_CASE("kernels return what PyTorch returned, and allocate nothing again", "[cpu_aoti]") {
  Fixture fixture;
  const auto table = kernels();
  std::set<std::string> tried;
  std::int64_t number = 0;
  for (const Case& one : read_cases()) {
    INFO("case " << number++ << " of the file: " << one.name);
    REQUIRE(table.contains(one.name));
    tried.insert(one.name);
    std::size_t before = 0;
    for (int run = 0; run < 2; ++run) {
      Call call(one);
      before = allocations();
      const ShimError failed = table.at(one.name)(call);
      INFO(fixture.pool.take_failure());
      REQUIRE(failed == 0);
      for (std::size_t i = 0; i < one.outputs.size(); ++i) {
        INFO("result " << i);
        check(*call.results[i], one.outputs[i]);
      }
    }
    CHECK(allocations() == before);
    CHECK(fixture.pool.num_live() == 0);
  }
  CHECK(tried.size() == table.size());
}

}  // namespace recorded_test
