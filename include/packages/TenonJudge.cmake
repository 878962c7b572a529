# SPDX-License-Identifier: MIT
#
# cmake -DINSPECT=tenon-inspect -DPLUGIN=FILE -P TenonJudge.cmake: fails with what is wrong with the
# file of a plugin.
execute_process(
  COMMAND "${INSPECT}" "${PLUGIN}" --color never
  RESULT_VARIABLE result
  OUTPUT_VARIABLE output
  ERROR_VARIABLE output_of_errors)
if(result EQUAL 0)
  return()
endif()
string(REGEX MATCHALL "\n  fail [^\n]*" failed "${output}")
string(REPLACE ";" "" failed "${failed}")
message(FATAL_ERROR "${PLUGIN} is no good plugin (tenon-inspect exits with ${result}):${failed}\n${output_of_errors}")
