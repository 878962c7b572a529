// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "tenon/core/result.hpp"

/// LAPACK, and of BLAS, on which it depends, `trsm`; loaded by name for the first model that needs
/// it. Only functions for float and double.
namespace tenon::cpu_aoti::lapack {

// Member, name without its first letter, parameters. Fortran passes addresses, and the lengths of
// texts behind everything else.
#define TENON_CPU_AOTI_LAPACK(X, T)                                                                \
  X(getrf, getrf_, (const int* m, const int* n, T* a, const int* lda, int* pivots, int* info))     \
  X(getrs, getrs_,                                                                                 \
    (const char* trans, const int* n, const int* nrhs, const T* a, const int* lda,                 \
     const int* pivots, T* b, const int* ldb, int* info, std::size_t))                             \
  X(potrf, potrf_, (const char* uplo, const int* n, T* a, const int* lda, int* info, std::size_t)) \
  X(potrs, potrs_,                                                                                 \
    (const char* uplo, const int* n, const int* nrhs, const T* a, const int* lda, T* b,            \
     const int* ldb, int* info, std::size_t))                                                      \
  X(potri, potri_, (const char* uplo, const int* n, T* a, const int* lda, int* info, std::size_t)) \
  X(trsm, trsm_,                                                                                   \
    (const char* side, const char* uplo, const char* trans, const char* diag, const int* m,        \
     const int* n, const T* alpha, const T* a, const int* lda, T* b, const int* ldb, std::size_t,  \
     std::size_t, std::size_t, std::size_t))                                                       \
  X(ormqr, ormqr_,                                                                                 \
    (const char* side, const char* trans, const int* m, const int* n, const int* k, const T* a,    \
     const int* lda, const T* tau, T* c, const int* ldc, T* work, const int* lwork, int* info,     \
     std::size_t, std::size_t))                                                                    \
  X(geqrf, geqrf_,                                                                                 \
    (const int* m, const int* n, T* a, const int* lda, T* tau, T* work, const int* lwork,          \
     int* info))                                                                                   \
  X(orgqr, orgqr_,                                                                                 \
    (const int* m, const int* n, const int* k, T* a, const int* lda, const T* tau, T* work,        \
     const int* lwork, int* info))                                                                 \
  X(gesdd, gesdd_,                                                                                 \
    (const char* jobz, const int* m, const int* n, T* a, const int* lda, T* s, T* u,               \
     const int* ldu, T* vt, const int* ldvt, T* work, const int* lwork, int* iwork, int* info,     \
     std::size_t))                                                                                 \
  X(syevd, syevd_,                                                                                 \
    (const char* jobz, const char* uplo, const int* n, T* a, const int* lda, T* w, T* work,        \
     const int* lwork, int* iwork, const int* liwork, int* info, std::size_t, std::size_t))

template <class T>
struct Routines {
#define TENON_CPU_AOTI_MEMBER(member, name, parameters) void(*member) parameters = nullptr;
  TENON_CPU_AOTI_LAPACK(TENON_CPU_AOTI_MEMBER, T)
#undef TENON_CPU_AOTI_MEMBER
};

/// errors: NotFound when LAPACK is not installed, or lacks a function.
[[nodiscard]] Status load();

/// After `load` has succeeded. T is float or double.
template <class T>
[[nodiscard]] const Routines<T>& routines() noexcept;

/// The number of elements of working memory for a routine that answered `wanted`, at least `least`.
/// A float may be the answer rounded down, and a routine that gets less ends the process.
template <class T>
[[nodiscard]] int work_size(T wanted, std::int64_t least) noexcept {
  constexpr auto most = static_cast<double>(std::numeric_limits<int>::max());
  const T above = std::nextafter(wanted, std::numeric_limits<T>::infinity());
  const double size = std::max(static_cast<double>(least), std::ceil(static_cast<double>(above)));
  return static_cast<int>(std::min(size, most));
}

}  // namespace tenon::cpu_aoti::lapack
