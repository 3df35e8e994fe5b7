# Cross-compile for a bare-metal Arm Cortex-M: cmake -DCMAKE_TOOLCHAIN_FILE=cmake/arm-none-eabi.cmake ...
# CIPHERMOTE_ARM_CPU chooses the core; the default is the Cortex-M4F of mps2-an386 and the nRF52840.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_ASM_COMPILER arm-none-eabi-gcc)
# A program cannot be linked before the port gives it a start-up and a memory map.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)

set(CIPHERMOTE_ARM_CPU "-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16"
    CACHE STRING "Compiler flags that choose the Arm core")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CIPHERMOTE_ARM_CPU)
set(CMAKE_C_FLAGS_INIT "${CIPHERMOTE_ARM_CPU} -ffunction-sections -fdata-sections")
set(CMAKE_ASM_FLAGS_INIT "${CIPHERMOTE_ARM_CPU}")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,--gc-sections")

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
