// SPDX-License-Identifier: MIT
// Kernels by a library: operators of PyTorch's linear algebra by BLAS and LAPACK, for Float and
// Double, in batches. Results are computed in place, so that a run needs no memory of its own.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tenon/tenon.hpp>
#include <type_traits>

// Fortran passes addresses, and the lengths of texts behind everything else.
extern "C" {
void strsm_(const char* side, const char* uplo, const char* trans, const char* diag, const int* m,
            const int* n, const float* alpha, const float* a, const int* lda, float* b,
            const int* ldb, std::size_t, std::size_t, std::size_t, std::size_t);
void dtrsm_(const char* side, const char* uplo, const char* trans, const char* diag, const int* m,
            const int* n, const double* alpha, const double* a, const int* lda, double* b,
            const int* ldb, std::size_t, std::size_t, std::size_t, std::size_t);
void spotri_(const char* uplo, const int* n, float* a, const int* lda, int* info, std::size_t);
void dpotri_(const char* uplo, const int* n, double* a, const int* lda, int* info, std::size_t);
}

namespace {

using tenon::Args;
using tenon::Error;
using tenon::Result;
using tenon::Status;

/// A batch of matrices in memory: rows behind one another, or columns as PyTorch's own results have
/// them and Fortran expects them.
struct Layout {
  std::size_t count = 1;
  int rows = 0, columns = 0;
  bool has_rows = true;

  static Result<Layout> of(const tenon::TensorView& tensor, std::size_t index) {
    const auto sizes = tensor.sizes();
    const std::size_t rank = sizes.size();
    if (rank < 2) {
      return tenon::error(Error::InvalidArgument, "argument ", index,
                          ": expected a matrix or a batch of them, found ",
                          tenon::shape_text(sizes));
    }
    constexpr std::int64_t most = std::numeric_limits<int>::max();
    const std::int64_t rows = sizes[rank - 2], columns = sizes[rank - 1];
    if (rows > most || columns > most) {
      return tenon::error(Error::NotSupported, "argument ", index,
                          ": LAPACK takes matrices of up to ", most, " rows and columns, found ",
                          tenon::shape_text(sizes));
    }
    const auto order = tensor.dim_order();
    Layout out{1, static_cast<int>(rows), static_cast<int>(columns), order[rank - 1] == rank - 1};
    for (std::size_t i = 0; i < rank; ++i) {
      const std::size_t dim = out.has_rows || i + 2 < rank ? i : 2 * rank - 3 - i;
      if (order[i] == dim) continue;
      return tenon::error(Error::NotSupported, "argument ", index,
                          ": expected matrices behind one another, of rows or of columns");
    }
    for (const std::int64_t size : sizes.first(rank - 2)) {
      out.count *= static_cast<std::size_t>(size);
    }
    return out;
  }

  [[nodiscard]] std::size_t size() const {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  }
  [[nodiscard]] std::size_t at(int row, int column) const {
    return has_rows ? static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) +
                          static_cast<std::size_t>(column)
                    : static_cast<std::size_t>(column) * static_cast<std::size_t>(rows) +
                          static_cast<std::size_t>(row);
  }
  /// Of a triangle of such matrices: to Fortran, rows are columns, and upper is lower.
  [[nodiscard]] const char* uplo(bool upper) const { return upper != has_rows ? "U" : "L"; }
};

template <class T>
void copy_matrix(const T* from, const Layout& of_from, T* to, const Layout& of_to) {
  for (int row = 0; row < of_to.rows; ++row) {
    for (int column = 0; column < of_to.columns; ++column) {
      to[of_to.at(row, column)] = from[of_from.at(row, column)];
    }
  }
}

/// How a triangular matrix A is meant.
struct Form {
  bool upper;
  bool left = true;  ///< A X = B, and not X A = B.
  bool transposed = false;
  bool unit = false;  ///< The diagonal counts as ones.
};

/// Replaces B at `x` by the solution X. Fortran solves the transposed equation where X has rows.
template <class T>
void solve(const T* a, const Layout& of_a, const Form& form, T* x, const Layout& of_x) {
  const T one = 1;
  const auto trsm = [] {
    if constexpr (std::is_same_v<T, float>) {
      return &strsm_;
    } else {
      return &dtrsm_;
    }
  }();
  const bool transposed = (form.transposed != of_x.has_rows) != of_a.has_rows;
  const int m = of_x.has_rows ? of_x.columns : of_x.rows;
  const int n = of_x.has_rows ? of_x.rows : of_x.columns;
  trsm(form.left != of_x.has_rows ? "L" : "R", of_a.uplo(form.upper), transposed ? "T" : "N",
       form.unit ? "U" : "N", &m, &n, &one, a, &of_a.rows, x, &m, 1, 1, 1, 1);
}

/// The frame of both operators that solve: triangular matrices, and right sides that become
/// results.
template <class T, class Solve>
Status solve_each(const Args& args, std::size_t triangular, std::size_t sides, std::size_t out,
                  bool left, const Solve& solve_one) {
  TENON_TRY(const auto a, args.tensor<const T>(triangular));
  TENON_TRY(const auto b, args.tensor<const T>(sides));
  TENON_TRY(const Layout of_a, Layout::of(a, triangular));
  TENON_TRY(const Layout of_b, Layout::of(b, sides));
  const auto batch = [](const auto& tensor) {
    return tensor.sizes().first(tensor.sizes().size() - 2);
  };
  if (of_a.rows != of_a.columns || of_a.rows != (left ? of_b.rows : of_b.columns) ||
      !std::ranges::equal(batch(a), batch(b))) {
    return tenon::error(Error::NotSupported,
                        "expected square matrices, and as many right sides that fit, found ",
                        tenon::shape_text(a.sizes()), " and ", tenon::shape_text(b.sizes()));
  }
  TENON_RETURN_IF_ERROR(args.resize(out, b.sizes()));
  TENON_TRY(const auto x, args.tensor<T>(out));
  TENON_TRY(const Layout of_x, Layout::of(x, out));
  for (std::size_t i = 0; of_b.size() != 0 && i < of_a.count; ++i) {
    T* const one = x.data() + i * of_x.size();
    copy_matrix(b.data() + i * of_b.size(), of_b, one, of_x);
    solve_one(a.data() + i * of_a.size(), of_a, one, of_x);
  }
  return tenon::ok();
}

/// linalg_solve_triangular.out(self, B, *, upper, left, unitriangular, out)
template <class T>
Status solve_triangular(const Args& args) {
  TENON_TRY(const bool upper, args.boolean(2));
  TENON_TRY(const bool left, args.boolean(3));
  TENON_TRY(const bool unit, args.boolean(4));
  return solve_each<T>(args, 0, 1, 5, left,
                       [&](const T* a, const Layout& of_a, T* x, const Layout& of_x) {
                         solve(a, of_a, {upper, left, false, unit}, x, of_x);
                       });
}

/// cholesky_solve.out(self, input2, upper, *, out): `self` are the right sides, `input2` the
/// factors.
template <class T>
Status cholesky_solve(const Args& args) {
  TENON_TRY(const bool upper, args.boolean(2));
  return solve_each<T>(args, 1, 0, 3, true,
                       [&](const T* factor, const Layout& of_factor, T* x, const Layout& of_x) {
                         solve(factor, of_factor, {upper, true, upper}, x, of_x);
                         solve(factor, of_factor, {upper, true, !upper}, x, of_x);
                       });
}

/// cholesky_inverse.out(self, upper, *, out)
template <class T>
Status cholesky_inverse(const Args& args) {
  TENON_TRY(const auto factors, args.tensor<const T>(0));
  TENON_TRY(const bool upper, args.boolean(1));
  TENON_TRY(const Layout of_factor, Layout::of(factors, 0));
  const int n = of_factor.rows;
  if (n != of_factor.columns) {
    return tenon::error(Error::InvalidArgument, "argument 0: expected square matrices, found ",
                        tenon::shape_text(factors.sizes()));
  }
  TENON_RETURN_IF_ERROR(args.resize(2, factors.sizes()));
  TENON_TRY(const auto out, args.tensor<T>(2));
  TENON_TRY(const Layout of_out, Layout::of(out, 2));
  const auto potri = [] {
    if constexpr (std::is_same_v<T, float>) {
      return &spotri_;
    } else {
      return &dpotri_;
    }
  }();
  for (std::size_t i = 0; n != 0 && i < of_out.count; ++i) {
    T* const inverse = out.data() + i * of_out.size();
    copy_matrix(factors.data() + i * of_factor.size(), of_factor, inverse, of_out);
    int info = 0;
    potri(of_out.uplo(upper), &n, inverse, &n, &info, 1);
    if (info > 0) {
      return tenon::error(Error::InvalidArgument, "argument 0: matrix ", i,
                          " is singular: element ", info - 1, " of its diagonal is 0");
    }
    // The other triangle still has what was copied.
    for (int row = 0; row < n; ++row) {
      for (int column = 0; column < row; ++column) {
        T& below = inverse[of_out.at(row, column)];
        T& above = inverse[of_out.at(column, row)];
        (upper ? below : above) = upper ? above : below;
      }
    }
  }
  return tenon::ok();
}

class LinalgKernels final : public tenon::Backend<LinalgKernels>,
                            public tenon::WithKernels<LinalgKernels> {
 public:
  static constexpr std::string_view id = "LinalgKernels";
  static constexpr std::string_view description = "linear algebra of Float and Double by LAPACK";
  static constexpr std::array<std::string_view, 3> operators{"aten::linalg_solve_triangular.out",
                                                             "aten::cholesky_solve.out",
                                                             "aten::cholesky_inverse.out"};

  struct Kernel {
    Status (*run_operator)(const Args& args);

    Status run(tenon::ExecutionContext&, Args args) { return run_operator(args); }
  };

  Result<Kernel> create_kernel(std::string_view op, Args args) {
    struct Operator {
      std::size_t num_tensors, num_args;
      Status (*of_float)(const Args&);
      Status (*of_double)(const Args&);
    };
    static constexpr std::array<Operator, 3> all{{
        {2, 7, &solve_triangular<float>, &solve_triangular<double>},
        {2, 5, &cholesky_solve<float>, &cholesky_solve<double>},
        {1, 4, &cholesky_inverse<float>, &cholesky_inverse<double>},
    }};
    const auto found = std::ranges::find(operators, op);
    if (found == operators.end()) return tenon::error(Error::OperatorMissing, op);
    const Operator& one = all[static_cast<std::size_t>(found - operators.begin())];
    TENON_RETURN_IF_ERROR(args.expect(one.num_args));
    TENON_TRY(const auto first, args.tensor(0));
    const tenon::ScalarType dtype = first.scalar_type();
    if (dtype != tenon::ScalarType::Float && dtype != tenon::ScalarType::Double) {
      return tenon::error(Error::OperatorMissing, op, " is for dtypes Float and Double, found ",
                          name_of(dtype));
    }
    // Inputs, flags, the result, and the result again, which is returned.
    for (std::size_t i = 1; i < one.num_args; ++i) {
      if (i >= one.num_tensors && i + 2 < one.num_args) {
        TENON_RETURN_IF_ERROR(args.boolean(i));
        continue;
      }
      TENON_TRY(const auto tensor, args.tensor(i));
      if (tensor.scalar_type() == dtype) continue;
      return tenon::error(Error::InvalidType, op, ": argument ", i, ": expected dtype ",
                          name_of(dtype), ", found ", name_of(tensor.scalar_type()));
    }
    return Kernel{dtype == tenon::ScalarType::Float ? one.of_float : one.of_double};
  }
};

}  // namespace

TENON_PLUGIN(LinalgKernels);
