# SPDX-License-Identifier: Apache-2.0
# WebAssembly with SIMD, as a program of its own under WASI: clang with Debian's wasi-libc and libc++.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_C_COMPILER clang)
set(CMAKE_CXX_COMPILER clang++)
foreach(language C CXX)
  set(CMAKE_${language}_COMPILER_TARGET wasm32-wasi)
  set(CMAKE_${language}_FLAGS_INIT "-msimd128")
endforeach()
set(CMAKE_ASM_COMPILER_TARGET wasm32-wasi)
# Debian's linker has no name without its version.
find_program(CIPHERMOTE_WASM_LD NAMES wasm-ld wasm-ld-14 REQUIRED)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-fuse-ld=${CIPHERMOTE_WASM_LD} -Wl,-z,stack-size=1048576")
set(CMAKE_CROSSCOMPILING_EMULATOR node ${CMAKE_CURRENT_LIST_DIR}/wasi.mjs)
