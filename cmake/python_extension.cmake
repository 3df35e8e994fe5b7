# The extension module ciphermote._core: python/src/module.cpp with the C library inside.
enable_language(CXX)
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir
                OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE nanobind_ROOT COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)

nanobind_add_module(_core NB_STATIC python/src/module.cpp)
target_compile_features(_core PRIVATE cxx_std_17)
target_include_directories(_core PRIVATE core/src)
target_link_libraries(_core PRIVATE ciphermote::ciphermote)
install(TARGETS _core LIBRARY DESTINATION ciphermote COMPONENT python)
