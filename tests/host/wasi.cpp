// SPDX-License-Identifier: Apache-2.0
// What Debian's C++ library for WASI lacks: exceptions, of which one ends the program; and the destruction of
// what a thread owns, when its one thread ends.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>

extern "C" {

void *__cxa_allocate_exception(std::size_t bytes)
{
    return std::malloc(bytes);
}

void __cxa_free_exception(void *exception)
{
    std::free(exception);
}

int __cxa_thread_atexit(void (*)(void *), void *, void *)
{
    return 0;
}

[[noreturn]] void __cxa_throw(void *exception, void *, void *)
{
    // What the library throws is derived from std::exception alone, and so begins with it.
    std::fprintf(stderr, "FAILED: %s\n", static_cast<std::exception *>(exception)->what());
    std::exit(1);
}
}
