# SPDX-License-Identifier: MIT
#
# Part of TenonConfig.cmake: functions for projects that build plugins.

# tenon_add_plugin(NAME SOURCES...)
#
# A library for dlopen called NAME.so, or NAME.dll for Windows, that exports nothing but Tenon's one object. What is linked to
# it and how it is compiled beyond that is the project's business (target_link_libraries and so on).
# After linking, tenon-inspect judges the file, when it is installed and the build is for this machine:
# a file that hosts would refuse or that leaks symbols fails the build with the reason.
function(tenon_add_plugin name)
  if(NOT ARGN)
    message(FATAL_ERROR "tenon_add_plugin(${name}): expected sources after the name")
  endif()
  set(suffix ".so")
  if(WIN32)
    set(suffix ".dll")
  endif()
  add_library(${name} MODULE ${ARGN})
  target_link_libraries(${name} PRIVATE Tenon::tenon)
  set_target_properties(${name} PROPERTIES
    PREFIX ""
    SUFFIX "${suffix}"
    C_VISIBILITY_PRESET hidden
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
  target_link_options(${name} PRIVATE "${Tenon_PLUGIN_EXPORT_OPTION}")
  set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS "${Tenon_PLUGIN_MAP}")

  # A sanitizer's runtime is in the program that loads the plugin, and it adds symbols.
  string(FIND "${CMAKE_CXX_FLAGS} ${CMAKE_MODULE_LINKER_FLAGS}" "-fsanitize" sanitized)
  if(NOT sanitized EQUAL -1)
    return()
  endif()
  if(NOT APPLE AND NOT WIN32)
    target_link_options(${name} PRIVATE "LINKER:-z,defs")
  endif()
  if(TARGET Tenon::tenon-inspect AND NOT CMAKE_CROSSCOMPILING)
    add_custom_command(TARGET ${name} POST_BUILD
      COMMAND ${CMAKE_COMMAND} "-DINSPECT=$<TARGET_FILE:Tenon::tenon-inspect>"
              "-DPLUGIN=$<TARGET_FILE:${name}>" -P "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/TenonJudge.cmake"
      COMMENT "Judging ${name}"
      VERBATIM)
  endif()
endfunction()

# tenon_add_conformance_test(TARGET [NAME name] [SUBJECT file] [LEVEL n] [ARGS argument...])
#
# A test of CTest that judges the plugin TARGET by the rules of the boundary. SUBJECT is a subject file
# (docs/tools/cases.md) and LEVEL from 1 to 10, 5 by default. From level 2 on the test passes with cases
# alone: those of SUBJECT, or of ARGS --cases DIR.
function(tenon_add_conformance_test target)
  cmake_parse_arguments(PARSE_ARGV 1 given "" "NAME;SUBJECT;LEVEL" "ARGS")
  if(given_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tenon_add_conformance_test(${target}): unknown: ${given_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT TARGET ${target})
    message(FATAL_ERROR "tenon_add_conformance_test(${target}): there is no such target")
  endif()
  if(NOT TARGET Tenon::tenon-conformance)
    message(FATAL_ERROR "tenon_add_conformance_test(${target}): tenon-conformance is not installed")
  endif()
  if(NOT given_NAME)
    set(given_NAME "${target}-conformance")
  endif()
  if(NOT given_LEVEL)
    set(given_LEVEL 5)
  endif()
  set(arguments "$<TARGET_FILE:${target}>" --level ${given_LEVEL})
  if(given_SUBJECT)
    get_filename_component(subject "${given_SUBJECT}" ABSOLUTE)
    list(APPEND arguments --subject "${subject}")
  endif()
  add_test(NAME "${given_NAME}" COMMAND Tenon::tenon-conformance ${arguments} ${given_ARGS})
endfunction()
