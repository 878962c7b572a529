# SPDX-License-Identifier: MIT
#
# Part of TenonConfig.cmake: the target Tenon::host, when what its headers include is here.
# flatbuffers is used by its headers alone and libmd has no file for CMake, so both are looked up as
# files.
set(Tenon_host_FOUND FALSE)
set(Tenon_host_MISSING "")

find_package(fmt 9 QUIET CONFIG)
if(NOT TARGET fmt::fmt)
  list(APPEND Tenon_host_MISSING "fmt 9 or later")
endif()

find_package(nlohmann_json 3 QUIET CONFIG)
if(NOT TARGET nlohmann_json::nlohmann_json)
  list(APPEND Tenon_host_MISSING "nlohmann_json 3")
endif()

find_path(Tenon_FLATBUFFERS_INCLUDE_DIR flatbuffers/flatbuffers.h)
mark_as_advanced(Tenon_FLATBUFFERS_INCLUDE_DIR)
if(NOT Tenon_FLATBUFFERS_INCLUDE_DIR)
  list(APPEND Tenon_host_MISSING "flatbuffers")
endif()

# SHA-256; macOS has its own.
if(NOT APPLE)
  find_path(Tenon_LIBMD_INCLUDE_DIR sha256.h)
  find_library(Tenon_LIBMD_LIBRARY md)
  mark_as_advanced(Tenon_LIBMD_INCLUDE_DIR Tenon_LIBMD_LIBRARY)
  if(NOT Tenon_LIBMD_INCLUDE_DIR OR NOT Tenon_LIBMD_LIBRARY)
    list(APPEND Tenon_host_MISSING "libmd")
  endif()
endif()

find_package(Threads QUIET)
if(NOT TARGET Threads::Threads)
  list(APPEND Tenon_host_MISSING "threads (enable the language C or CXX first)")
endif()

if(Tenon_host_MISSING)
  string(REPLACE ";" ", " Tenon_host_MISSING "not found: ${Tenon_host_MISSING}")
else()
  set(Tenon_host_FOUND TRUE)
  if(NOT TARGET Tenon::host)
    add_library(Tenon::host INTERFACE IMPORTED)
    target_include_directories(Tenon::host INTERFACE "${Tenon_FLATBUFFERS_INCLUDE_DIR}")
    target_link_libraries(Tenon::host INTERFACE
      Tenon::tenon fmt::fmt nlohmann_json::nlohmann_json Threads::Threads ${CMAKE_DL_LIBS})
    if(NOT APPLE)
      target_include_directories(Tenon::host INTERFACE "${Tenon_LIBMD_INCLUDE_DIR}")
      target_link_libraries(Tenon::host INTERFACE "${Tenon_LIBMD_LIBRARY}")
    endif()
  endif()
endif()
