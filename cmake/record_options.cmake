# SPDX-License-Identifier: Apache-2.0
# ciphermote_record_options(HEADER OPTIONS...): write to HEADER ciphermote/config.h with the value that each
# option in it has with the compiler's flags and these OPTIONS (NAME=VALUE each), so that files that include
# HEADER see the library's options and no others.
# Unknown options and values stop the configuration.
function(ciphermote_record_options header)
  set(core ${PROJECT_SOURCE_DIR}/core/include)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${core}/ciphermote/config.h)
  file(STRINGS ${core}/ciphermote/config.h lines REGEX "^#(ifndef|if !defined\\() ?CM_CONFIG_")
  string(REGEX MATCHALL "CM_CONFIG_[A-Z0-9_]+" names "${lines}")
  list(APPEND names CM_CONFIG_FILE)
  list(REMOVE_DUPLICATES names)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
  separate_arguments(flags UNIX_COMMAND "${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${build_type}}")
  get_directory_property(definitions COMPILE_DEFINITIONS)
  list(TRANSFORM definitions PREPEND -D)
  foreach(option IN LISTS ARGN)
    if(NOT option MATCHES "^CM_CONFIG_[A-Za-z0-9_]*=[^ ]+$")
      message(FATAL_ERROR "CIPHERMOTE_OPTIONS is a list of CM_CONFIG_NAME=VALUE, separated by semicolons, "
                          "without -D; it contains \"${option}\".")
    endif()
  endforeach()
  set(options ${ARGN})
  list(TRANSFORM options PREPEND -D)
  foreach(flag IN LISTS flags definitions options)
    if(flag MATCHES "^-D(CM_CONFIG_[A-Za-z0-9_]*)" AND NOT CMAKE_MATCH_1 IN_LIST names)
      message(FATAL_ERROR "${CMAKE_MATCH_1} is not an option of ciphermote/config.h, which lists them.")
    endif()
  endforeach()

  list(REMOVE_ITEM names CM_CONFIG_FILE)
  set(probe "#include \"ciphermote/config.h\"\n")
  foreach(name IN LISTS names)
    string(APPEND probe "ciphermote_option \"${name}\" ${name}\n")
  endforeach()
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/options.c "${probe}")
  execute_process(COMMAND ${CMAKE_C_COMPILER} ${flags} ${definitions} ${options} -I${core} -E
                          ${CMAKE_CURRENT_BINARY_DIR}/options.c
                  OUTPUT_VARIABLE preprocessed ERROR_VARIABLE complaint RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "ciphermote/config.h refuses the options:\n${complaint}")
  endif()

  string(CONCAT values "/* Written by CMake: the options that this library was built with. Programs that "
                        "ask for others do not compile. */\n")
  string(REGEX MATCHALL "ciphermote_option \"[A-Z0-9_]+\" [^\n]*" recorded "${preprocessed}")
  foreach(line IN LISTS recorded)
    string(REGEX MATCH "\"([A-Z0-9_]+)\" *([^\n]*)" unused "${line}")
    set(name ${CMAKE_MATCH_1})
    string(STRIP "${CMAKE_MATCH_2}" value)
    if(NOT value MATCHES "^[0-9]+$")
      message(FATAL_ERROR "${name} is ${value}, which is neither a number nor a name in ciphermote/config.h.")
    endif()
    set(word ${value})
    file(STRINGS ${core}/ciphermote/config.h words REGEX "^#define ${name}_[A-Z0-9_]+ ${value}$")
    if(words MATCHES " (${name}_[A-Z0-9_]+) ")
      set(word ${CMAKE_MATCH_1})
    endif()
    string(APPEND values "\n#ifndef ${name}\n#define ${name} ${value}\n#elif ${name} != ${value}\n"
           "#error \"This library was built with ${name} = ${word}: leave the option out, or build the "
           "library with yours.\"\n"
           "#endif\n")
  endforeach()
  file(READ ${core}/ciphermote/config.h content)
  string(REGEX REPLACE "/\\* CMake writes [^\n]*\n" "@values@" content "${content}")
  file(CONFIGURE OUTPUT ${header} CONTENT "${content}" @ONLY)
endfunction()
