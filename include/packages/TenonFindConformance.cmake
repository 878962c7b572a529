# SPDX-License-Identifier: MIT
#
# Part of TenonConfig.cmake: the target Tenon::conformance, for a Catch2 program with the suites of
# the kit in it. With Catch2 3 it brings a `main`; with Catch2 2 one source defines
# CATCH_CONFIG_MAIN. A source that does so suits both.
set(Tenon_conformance_FOUND FALSE)
set(Tenon_conformance_MISSING "")

find_package(Catch2 3 QUIET CONFIG)
if(TARGET Catch2::Catch2WithMain)
  set(_tenon_catch2 Catch2::Catch2WithMain)
else()
  find_package(Catch2 2.13 QUIET CONFIG)
  set(_tenon_catch2 Catch2::Catch2)
endif()

find_package(fmt 9 QUIET CONFIG)

if(NOT Tenon_host_FOUND)
  set(Tenon_conformance_MISSING "${Tenon_host_MISSING}")
elseif(NOT EXISTS "${Tenon_LIBRARY_DIR}/libtenon-conformance-kit.a")
  set(Tenon_conformance_MISSING "Tenon was installed without the conformance kit (-Dconformance=enabled)")
elseif(NOT TARGET Tenon::tenon-conformance)
  set(Tenon_conformance_MISSING "Tenon was installed without tenon-conformance (-Dconformance=enabled)")
elseif(NOT TARGET fmt::fmt)
  set(Tenon_conformance_MISSING "not found: fmt 9 or later")
elseif(NOT TARGET ${_tenon_catch2})
  set(Tenon_conformance_MISSING "not found: Catch2 2.13 or later")
else()
  set(Tenon_conformance_FOUND TRUE)
  if(NOT TARGET Tenon::conformance)
    add_library(Tenon::conformance INTERFACE IMPORTED)
    target_link_libraries(Tenon::conformance INTERFACE
      "${Tenon_LIBRARY_DIR}/libtenon-conformance-kit.a")
    target_link_libraries(Tenon::conformance INTERFACE Tenon::host fmt::fmt ${_tenon_catch2})
    # A plugin finds the program's functions of interpose.hpp before the C library's.
    if(NOT APPLE)
      target_link_options(Tenon::conformance INTERFACE -rdynamic)
    endif()
  endif()
endif()
unset(_tenon_catch2)
