# ciphermote_record_options(HEADER FLAGS...): write to HEADER the value of each option of ciphermote/config.h under the
# compiler's flags, those given here among them, so that what includes the header sees the library's options and no others.
function(ciphermote_record_options header)
  set(core ${PROJECT_SOURCE_DIR}/core/include)
  file(STRINGS ${core}/ciphermote/config.h lines REGEX "^#(ifndef|if !defined\\() ?CM_CONFIG_")
  string(REGEX MATCHALL "CM_CONFIG_[A-Z0-9_]+" names "${lines}")
  list(REMOVE_ITEM names CM_CONFIG_FILE CM_CONFIG_NTT_ROOTS_HEADER)
  list(REMOVE_DUPLICATES names)
  set(probe "#include \"ciphermote/config.h\"\n")
  foreach(name IN LISTS names)
    string(APPEND probe "ciphermote_option \"${name}\" ${name}\n")
  endforeach()
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/options.c "${probe}")

  string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
  separate_arguments(flags UNIX_COMMAND "${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${build_type}}")
  get_directory_property(definitions COMPILE_DEFINITIONS)
  list(TRANSFORM definitions PREPEND -D)
  execute_process(COMMAND ${CMAKE_C_COMPILER} ${flags} ${definitions} ${ARGN} -I${core} -E ${CMAKE_CURRENT_BINARY_DIR}/options.c
                  OUTPUT_VARIABLE preprocessed ERROR_VARIABLE complaint RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "The options of ciphermote/config.h do not work together:\n${complaint}")
  endif()

  set(content "/* Written by CMake: the options that this library was built with. A program that asks for others is refused. */\n")
  string(REGEX MATCHALL "ciphermote_option \"[A-Z0-9_]+\" [^\n]*" recorded "${preprocessed}")
  foreach(line IN LISTS recorded)
    string(REGEX MATCH "\"([A-Z0-9_]+)\" *([^\n]*)" unused "${line}")
    set(name ${CMAKE_MATCH_1})
    string(STRIP "${CMAKE_MATCH_2}" value)
    # Roots in flash come from a header that the library alone includes; what programs see of it is the default.
    if(name STREQUAL CM_CONFIG_NTT_ROOTS AND value GREATER 1)
      continue()
    endif()
    string(APPEND content "\n#ifndef ${name}\n#define ${name} ${value}\n#elif ${name} != ${value}\n"
           "#error \"This library was built with ${name} = ${value}: leave the option out, or build the library with yours.\"\n"
           "#endif\n")
  endforeach()
  file(CONFIGURE OUTPUT ${header} CONTENT "${content}" @ONLY)
endfunction()
