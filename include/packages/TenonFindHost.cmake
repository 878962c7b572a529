# SPDX-License-Identifier: MIT
#
# Part of TenonConfig.cmake: the target Tenon::host, when what its headers include is here. Part of Tenon's CMakeLists.txt
# too, which sets Tenon_BUILDS_HOST and makes the target itself, of Tenon_host_LIBRARIES and Tenon_host_INCLUDE_DIRS.
set(Tenon_host_FOUND FALSE)
set(Tenon_host_MISSING "")

if(NOT TARGET nlohmann_json::nlohmann_json)
  find_package(nlohmann_json 3 QUIET CONFIG)
endif()
if(NOT TARGET nlohmann_json::nlohmann_json)
  list(APPEND Tenon_host_MISSING "nlohmann_json 3")
endif()

# A target of the project, a package, or a directory. Headers alone are used, so its library is not linked.
if(NOT TARGET flatbuffers::flatbuffers AND NOT TARGET flatbuffers)
  find_package(flatbuffers QUIET CONFIG NAMES flatbuffers FlatBuffers)
endif()
set(Tenon_host_INCLUDE_DIRS "")
foreach(_tenon_target flatbuffers::flatbuffers flatbuffers flatbuffers::flatbuffers_shared)
  if(NOT Tenon_host_INCLUDE_DIRS AND TARGET ${_tenon_target})
    get_target_property(Tenon_host_INCLUDE_DIRS ${_tenon_target} INTERFACE_INCLUDE_DIRECTORIES)
  endif()
endforeach()
unset(_tenon_target)
if(NOT Tenon_host_INCLUDE_DIRS)
  find_path(Tenon_FLATBUFFERS_INCLUDE_DIR flatbuffers/flatbuffers.h)
  mark_as_advanced(Tenon_FLATBUFFERS_INCLUDE_DIR)
  set(Tenon_host_INCLUDE_DIRS "${Tenon_FLATBUFFERS_INCLUDE_DIR}")
endif()
if(NOT Tenon_host_INCLUDE_DIRS)
  list(APPEND Tenon_host_MISSING "flatbuffers")
endif()

find_package(Threads QUIET)
if(NOT TARGET Threads::Threads)
  list(APPEND Tenon_host_MISSING "threads (enable the language C or CXX first)")
endif()
set(Tenon_host_LIBRARIES nlohmann_json::nlohmann_json Threads::Threads ${CMAKE_DL_LIBS})

if(NOT Tenon_HAS_HOST)
  set(Tenon_host_MISSING "Tenon was installed with -Dhost=disabled, or TENON_HOST is OFF")
elseif(Tenon_host_MISSING)
  string(REPLACE ";" ", " Tenon_host_MISSING "not found: ${Tenon_host_MISSING}")
else()
  set(Tenon_host_FOUND TRUE)
  if(NOT TARGET Tenon::host AND NOT Tenon_BUILDS_HOST)
    add_library(Tenon::host INTERFACE IMPORTED)
    target_include_directories(Tenon::host INTERFACE ${Tenon_host_INCLUDE_DIRS})
    # The libraries that hold the definitions, those that need others first. Programs that write cases need a function
    # of the kit.
    foreach(_tenon_part conformance-kit pt2 compiler host)
      if(EXISTS "${Tenon_LIBRARY_DIR}/libtenon-${_tenon_part}.a")
        target_link_libraries(Tenon::host INTERFACE
          "${Tenon_LIBRARY_DIR}/libtenon-${_tenon_part}.a")
      endif()
    endforeach()
    unset(_tenon_part)
    target_link_libraries(Tenon::host INTERFACE Tenon::tenon ${Tenon_host_LIBRARIES})
  endif()
endif()
