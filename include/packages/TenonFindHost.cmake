# SPDX-License-Identifier: MIT
#
# Part of TenonConfig.cmake: the target Tenon::host, when what its headers include is here.
# flatbuffers is used by its headers alone, so these are looked up as files.
set(Tenon_host_FOUND FALSE)
set(Tenon_host_MISSING "")

find_package(nlohmann_json 3 QUIET CONFIG)
if(NOT TARGET nlohmann_json::nlohmann_json)
  list(APPEND Tenon_host_MISSING "nlohmann_json 3")
endif()

find_path(Tenon_FLATBUFFERS_INCLUDE_DIR flatbuffers/flatbuffers.h)
mark_as_advanced(Tenon_FLATBUFFERS_INCLUDE_DIR)
if(NOT Tenon_FLATBUFFERS_INCLUDE_DIR)
  list(APPEND Tenon_host_MISSING "flatbuffers")
endif()

find_package(Threads QUIET)
if(NOT TARGET Threads::Threads)
  list(APPEND Tenon_host_MISSING "threads (enable the language C or CXX first)")
endif()

if(NOT Tenon_HAS_HOST)
  set(Tenon_host_MISSING "Tenon was installed with -Dhost=disabled")
elseif(Tenon_host_MISSING)
  string(REPLACE ";" ", " Tenon_host_MISSING "not found: ${Tenon_host_MISSING}")
else()
  set(Tenon_host_FOUND TRUE)
  if(NOT TARGET Tenon::host)
    add_library(Tenon::host INTERFACE IMPORTED)
    target_include_directories(Tenon::host INTERFACE "${Tenon_FLATBUFFERS_INCLUDE_DIR}")
    # The libraries that hold the definitions, those that need others first.
    foreach(_tenon_part pt2 compiler host)
      if(EXISTS "${Tenon_LIBRARY_DIR}/libtenon-${_tenon_part}.a")
        target_link_libraries(Tenon::host INTERFACE
          "${Tenon_LIBRARY_DIR}/libtenon-${_tenon_part}.a")
      endif()
    endforeach()
    unset(_tenon_part)
    target_link_libraries(Tenon::host INTERFACE
      Tenon::tenon nlohmann_json::nlohmann_json Threads::Threads ${CMAKE_DL_LIBS})
  endif()
endif()
