# SPDX-License-Identifier: Apache-2.0
# ciphermote_compile_options(TARGET): warnings and sanitizers for the project's own targets.
function(ciphermote_compile_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wconversion -Wshadow
                         $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>)
  if(CIPHERMOTE_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(CIPHERMOTE_SANITIZE)
    set(sanitizers -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  elseif(CIPHERMOTE_SANITIZE_THREADS)
    set(sanitizers -fsanitize=thread -fno-omit-frame-pointer)
  endif()
  if(sanitizers)
    target_compile_options(${target} PRIVATE ${sanitizers})
    target_link_options(${target} PUBLIC ${sanitizers})
  endif()
endfunction()
