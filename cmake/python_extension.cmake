# SPDX-License-Identifier: Apache-2.0 The extension modules: ciphermote._core, _evaluator and _owner, and
# ciphermote_testing for the tests only, which wheels leave out.
enable_language(CXX)
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir
                OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE nanobind_ROOT COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)

function(add_python_module name source)
  nanobind_add_module(${name} NB_STATIC ${source})
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_include_directories(${name} PRIVATE core/src)
  target_link_libraries(${name} PRIVATE ciphermote::ciphermote)
endfunction()

add_python_module(_core python/src/module.cpp)
install(TARGETS _core LIBRARY DESTINATION ciphermote COMPONENT python)

add_python_module(_evaluator python/src/evaluator.cpp)
target_link_libraries(_evaluator PRIVATE ciphermote::host)
install(TARGETS _evaluator LIBRARY DESTINATION ciphermote COMPONENT python)

add_python_module(_owner python/src/owner.cpp)
target_link_libraries(_owner PRIVATE ciphermote::host)
install(TARGETS _owner LIBRARY DESTINATION ciphermote COMPONENT python)

add_python_module(ciphermote_testing python/src/testing.cpp)
target_link_libraries(ciphermote_testing PRIVATE ciphermote::host)
target_include_directories(ciphermote_testing PRIVATE host/src)
install(TARGETS ciphermote_testing LIBRARY DESTINATION . COMPONENT python_testing)

# The plugin of Mosquitto that asks a gateway whom to let in. The broker, which loads it, has what it calls.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  add_library(_broker MODULE python/src/broker.c)
  set_target_properties(_broker PROPERTIES PREFIX "" C_STANDARD 11)
  target_compile_definitions(_broker PRIVATE _GNU_SOURCE)
  install(TARGETS _broker LIBRARY DESTINATION ciphermote/gateway COMPONENT python)
else()
  add_custom_target(_broker)
endif()
