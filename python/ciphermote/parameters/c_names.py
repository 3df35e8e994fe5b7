# SPDX-License-Identifier: Apache-2.0
"""Check names that users choose for C identifiers: names that C, C++ or the library already has are refused.

A header with such a name would not compile, or not together with another header, and the compiler's error
would be far from the cause. Names that only some platforms define are not checked.
"""

from __future__ import annotations

import re

from ciphermote.base.errors import ParameterError

_KEYWORDS = frozenset(
    """
    alignas alignof and and_eq asm atomic_cancel atomic_commit atomic_noexcept auto bitand bitor bool
    break case catch char char16_t char32_t char8_t class co_await co_return co_yield compl concept const
    const_cast consteval constexpr constinit continue contract_assert decltype default delete do double
    dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable
    namespace new noexcept not not_eq nullptr operator or or_eq private protected public reflexpr register
    reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct
    switch synchronized template this thread_local throw true try typedef typeid typename typeof
    typeof_unqual union unsigned using virtual void volatile wchar_t while xor xor_eq
    """.split()  # noqa: SIM905
)
"""Keywords of C up to C23 and C++ up to C++26, and those that compilers add without an underscore."""

_STANDARD = frozenset(
    """
    abort abs acos acosh aligned_alloc asctime asin asinh assert at_quick_exit atan atan2 atanh atexit
    atof atoi atol bsearch btowc cabs cacos cacosh calloc carg casin casinh catan catanh cbrt ccos ccosh
    ceil cexp cimag clearerr clock clog complex conj copysign cos cosh cpow cproj creal csin csinh csqrt
    ctan ctanh ctime difftime div erf erfc errno exit exp exp2 expm1 fabs fclose fdim feclearexcept
    fegetenv fegetexceptflag fegetround feholdexcept feof feraiseexcept ferror fesetenv fesetexceptflag
    fesetround fetestexcept feupdateenv fflush fgetc fgetpos fgets fgetwc fgetws floor fma fmax fmin fmod
    fopen fprintf fputc fputs fputwc fputws fread free freopen frexp fscanf fseek fsetpos ftell fwide
    fwprintf fwrite fwscanf getc getchar getenv gets getwc getwchar gmtime hypot i386 ilogb imaginary
    imaxabs imaxdiv j0 j1 jn kill_dependency labs ldexp ldiv lgamma linux llabs lldiv llrint llround
    localeconv localtime log log10 log1p log2 logb longjmp lrint lround main malloc mblen mbrlen mbrtowc
    mbsinit mbsrtowcs mbstowcs mbtowc mktime modf nan nearbyint nextafter nexttoward noreturn offsetof
    perror pow printf putc putchar puts putwc putwchar qsort quick_exit raise rand realloc remainder
    remove remquo rename rewind rint round scalbln scalbn scanf setbuf setjmp setlocale setvbuf signal
    signbit sin sinh snprintf sprintf sqrt srand sscanf stderr stdin stdout swprintf swscanf system tan
    tanh tgamma thrd_create time timespec_get tmpfile tmpnam trunc ungetc ungetwc unix va_arg va_copy
    va_end va_start vfprintf vfscanf vfwprintf vfwscanf vprintf vscanf vsnprintf vsprintf vsscanf
    vswprintf vswscanf vwprintf vwscanf wcrtomb wctob wctomb wctrans wctype wmemchr wmemcmp wmemcpy
    wmemmove wmemset wprintf wscanf y0 y1 yn
    """.split()  # noqa: SIM905
)
"""Names that other headers of a program, or its compiler, define: those of C11's library that the rules below
do not cover."""

_STANDARD_RULES = re.compile(r"(is|mem|str|to|wcs)[a-z]*|[A-Za-z0-9_]+_t|[A-Z][A-Z0-9_]*")
"""Rules for names that the C standard reserves for its library, for types, and for macros."""

_LIBRARY_PREFIXES = ("cm_", "CM_")
_DERIVED = ("_name", "_primes")
"""Suffixes that a parameter set's own header appends to its name."""


def check_name(name: str, what: str) -> None:
    """Raises ParameterError, which begins with `what`, unless the name is usable in all C and C++."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        raise ParameterError(
            f"{what} {name!r} cannot stand in C: use letters, digits and underscores, starting with a letter."
        )
    reason = _taken(name)
    if reason:
        raise ParameterError(f"{what} {name!r} cannot stand in C, for {reason}: choose another one.")


def _taken(name: str) -> str:
    """Return why a name is not available, or an empty string."""
    if name in _KEYWORDS:
        return "it is a keyword of C or C++"
    mathematical = name[:-1] if name[-1] in "fl" else name  # sinf and sinl are sin's
    if {name, mathematical} & _STANDARD or _STANDARD_RULES.fullmatch(name):
        return "it is a name that C's own headers use or reserve"
    if "__" in name:
        return "C++ reserves names with two underscores in a row"
    if name.startswith(_LIBRARY_PREFIXES):
        return "names that start with cm_ are the library's own"
    if name.endswith(_DERIVED):
        return f"names that end in {' or '.join(_DERIVED)} are made of other sets' names"
    return ""
