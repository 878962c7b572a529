// SPDX-License-Identifier: MIT
//
// Matrices of a simdgroup (specification 3.1, section 6.7). As the specification has it, all
// matrices of a product have one type, and which thread keeps which element is not known: there is
// no access to the elements of a thread. Included by stand_in_metal.hpp.
#pragma once

namespace tenon_stand_in {

/// The type that an element in memory is counted as; kernels that are counted have their own.
template <class T>
struct Plain {
  using type = T;
};

/// Each thread of a simdgroup gives `value` to the others. Undefined in Metal unless all run.
template <class T>
metal::Lanes<T> all_lanes(T value) {
  const metal::Lanes<T> out(value);
  if (!out.is_full()) tenon_stand_in_host->fail("not all threads of a simdgroup are at a matrix");
  return out;
}

/// Where a matrix is in memory, which must be the same in all threads of a simdgroup.
struct MatrixPlace {
  const void* address;
  unsigned long step;
  bool is_transposed;
};
inline void check_uniform(const MatrixPlace& mine) {
  const metal::Lanes<MatrixPlace> lanes = all_lanes(mine);
  const MatrixPlace first = lanes.at(0);
  if (first.address != mine.address || first.step != mine.step ||
      first.is_transposed != mine.is_transposed) {
    tenon_stand_in_host->fail("the threads of a simdgroup name several places of one matrix");
  }
}

}  // namespace tenon_stand_in

namespace metal {

template <class T, int columns, int rows>
struct simdgroup_matrix {
  static_assert(is_floating_point_v<T> && columns == 8 && rows == 8, "Metal has no such matrix");
  simdgroup_matrix() = default;
  /// A diagonal matrix.
  explicit simdgroup_matrix(T value) {
    for (unsigned i = 0; i < 2; ++i) mine[i] = row(i) == column(i) ? value : T(0);
  }
  static unsigned lane() { return tenon_stand_in::all_lanes(0u).lane(); }
  static unsigned row(unsigned) { return lane() / 4; }
  static unsigned column(unsigned i) { return lane() % 4 * 2 + i; }

  T mine[2];  ///< Not initialised, as in Metal.
};
using simdgroup_float8x8 = simdgroup_matrix<float, 8, 8>;
using simdgroup_half8x8 = simdgroup_matrix<half, 8, 8>;
using simdgroup_bfloat8x8 = simdgroup_matrix<bfloat, 8, 8>;

template <class T, int columns, int rows>
auto make_filled_simdgroup_matrix(T value) {
  simdgroup_matrix<typename tenon_stand_in::Plain<T>::type, columns, rows> out;
  out.mine[0] = out.mine[1] = value;
  return out;
}

template <class T, class U>
  requires std::is_same_v<typename tenon_stand_in::Plain<U>::type, T>
void simdgroup_load(simdgroup_matrix<T, 8, 8>& to, const U* from, ulong elements_per_row = 8,
                    ulong2 origin = ulong2(0), bool transpose = false) {
  from += origin.y * elements_per_row + origin.x;
  tenon_stand_in::check_uniform({from, elements_per_row, transpose});
  const unsigned lane = to.lane();
  for (unsigned i = 0; i < 2; ++i) {
    const unsigned row = lane / 4, column = lane % 4 * 2 + i;
    to.mine[i] = T(transpose ? from[column * elements_per_row + row]
                             : from[row * elements_per_row + column]);
  }
}

template <class T, class U>
  requires std::is_same_v<typename tenon_stand_in::Plain<U>::type, T>
void simdgroup_store(const simdgroup_matrix<T, 8, 8>& from, U* to, ulong elements_per_row = 8,
                     ulong2 origin = ulong2(0), bool transpose = false) {
  to += origin.y * elements_per_row + origin.x;
  tenon_stand_in::check_uniform({to, elements_per_row, transpose});
  const unsigned lane = from.lane();
  for (unsigned i = 0; i < 2; ++i) {
    const unsigned row = lane / 4, column = lane % 4 * 2 + i;
    (transpose ? to[column * elements_per_row + row] : to[row * elements_per_row + column]) =
        U(from.mine[i]);
  }
}

/// d = a b + c.
template <class T>
void simdgroup_multiply_accumulate(simdgroup_matrix<T, 8, 8>& d, const simdgroup_matrix<T, 8, 8>& a,
                                   const simdgroup_matrix<T, 8, 8>& b,
                                   const simdgroup_matrix<T, 8, 8>& c) {
  struct Given {
    T a[2], b[2];
  };
  const Lanes<Given> lanes =
      tenon_stand_in::all_lanes(Given{{a.mine[0], a.mine[1]}, {b.mine[0], b.mine[1]}});
  const unsigned row = lanes.lane() / 4;
  for (unsigned i = 0; i < 2; ++i) {
    const unsigned column = lanes.lane() % 4 * 2 + i;
    T sum = c.mine[i];
    for (unsigned k = 0; k < 8; ++k) {
      sum += T(lanes.at(row * 4 + k / 2).a[k % 2] * lanes.at(k * 4 + column / 2).b[column % 2]);
    }
    d.mine[i] = sum;
  }
#ifdef TENON_STAND_IN_COUNTS
  tenon_stand_in_host->multiply(16);
#endif
}
template <class T>
void simdgroup_multiply(simdgroup_matrix<T, 8, 8>& d, const simdgroup_matrix<T, 8, 8>& a,
                        const simdgroup_matrix<T, 8, 8>& b) {
  simdgroup_multiply_accumulate(d, a, b, make_filled_simdgroup_matrix<T, 8, 8>(T(0)));
}

}  // namespace metal
