/* SPDX-License-Identifier: Apache-2.0 */
/* ciphermote._owner: the hosted library's owner (host/include/ciphermote/owner.h) for Python. */
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>

#include <complex>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "ciphermote/owner.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace ciphermote;

namespace
{

using Residues = nb::ndarray<const uint32_t, nb::c_contig, nb::device::cpu>;
using Ternary = nb::ndarray<const int8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using SharedContext = std::shared_ptr<Context>;

template <class Array> auto words_of(const Array &array)
{
    return std::span(array.data(), array.size());
}

std::span<const uint8_t> bytes_of(const nb::bytes &bytes)
{
    return {static_cast<const uint8_t *>(bytes.data()), bytes.size()};
}

/* An array that takes the vector's numbers, as [shape..]. */
template <class T, size_t dimensions>
nb::ndarray<nb::numpy, T, nb::ndim<dimensions>> array_of(std::vector<T> &&numbers,
                                                         const size_t (&shape)[dimensions])
{
    auto *kept = new std::vector<T>(std::move(numbers));
    nb::capsule owner(kept, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
    return {kept->data(), dimensions, shape, owner};
}

template <class T> std::vector<T> copy_of(std::span<const T> numbers)
{
    return {numbers.begin(), numbers.end()};
}

size_t moduli_of(const Context &context)
{
    return context.chain().data.size() + context.chain().special.size();
}

/* What a call gives, computed without the interpreter's lock. */
template <class Call> auto released(const Call &call)
{
    const nb::gil_scoped_release release;
    return call();
}

template <class T> using Array = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

std::tuple<Array<uint32_t>, Array<double>>
decrypt_at(const Ciphertext &ciphertext, const SecretKey &secret, uint32_t plain_modulus,
           const nb::ndarray<const uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> &positions)
{
    Coefficients found =
        released([&] { return decrypt_bfv_at(ciphertext, secret, plain_modulus, words_of(positions)); });
    const size_t count = positions.size();
    return {array_of(std::move(found.messages), {count}), array_of(std::move(found.noise), {count})};
}

/* Noise is the package's MismatchError; other refusals are the evaluator's to translate. */
void register_errors()
{
    nb::module_::import_("ciphermote._evaluator");
    nb::object error = nb::module_::import_("ciphermote.base.errors").attr("MismatchError");
    nb::register_exception_translator(
        [](const std::exception_ptr &raised, void *type) {
            try {
                std::rethrow_exception(raised);
            } catch (const NoiseError &e) {
                PyErr_SetString(static_cast<PyObject *>(type), e.what());
            }
        },
        error.release().ptr());
}

using Release = nb::call_guard<nb::gil_scoped_release>;

} // namespace

NB_MODULE(_owner, m)
{
    m.doc() = "The owner: makes keys, encrypts and decrypts.";
    register_errors();

    nb::class_<Entropy>(m, "Entropy", "Seeds, each drawn once, from 32 random bytes that nothing else uses.")
        .def(
            "__init__", [](Entropy *self, const nb::bytes &seed) { new (self) Entropy(bytes_of(seed)); },
            "seed"_a);

    nb::class_<SecretKey>(m, "SecretKey", "A ternary secret at all primes; wiped when it goes.")
        .def(
            "__init__",
            [](SecretKey *self, const SharedContext &context, const Ternary &coefficients) {
                new (self) SecretKey(context, words_of(coefficients));
            },
            "context"_a, "coefficients"_a, "coefficients: int8 [n] of -1, 0 and 1.")
        .def_static(
            "generate",
            [](const SharedContext &context, Entropy &entropy) { return SecretKey(context, entropy); },
            "context"_a, "entropy"_a)
        .def(
            "coefficients",
            [](const SecretKey &s) { return array_of(copy_of(s.coefficients()), {s.context()->n()}); },
            "int8 [n], a copy.")
        .def(
            "residues",
            [](const SecretKey &s) {
                return array_of(copy_of(s.residues()), {moduli_of(*s.context()), s.context()->n()});
            },
            "uint32 [data + special primes, n], a copy.");

    nb::class_<SeededKey>(m, "SeededKey", "A key whose uniform halves are a seed. All of it is public.")
        .def(
            "__init__",
            [](SeededKey *self, const SharedContext &context, const nb::bytes &seed, const Residues &first) {
                new (self) SeededKey(context, bytes_of(seed), words_of(first));
            },
            "context"_a, "seed"_a, "first"_a, "first: uint32 [pairs, data + special primes, n].")
        .def_prop_ro("seed", [](const SeededKey &k) { return nb::bytes(k.seed().data(), k.seed().size()); })
        .def(
            "first",
            [](const SeededKey &k) {
                return array_of(copy_of(k.first()), {k.pairs(), moduli_of(*k.context()), k.context()->n()});
            },
            "uint32 [pairs, data + special primes, n], a copy.")
        .def(
            "expanded",
            [](const SeededKey &k) {
                return array_of(released([&] { return k.expanded(); }),
                                {k.pairs(), 2, moduli_of(*k.context()), k.context()->n()});
            },
            "uint32 [pairs, 2, data + special primes, n].");

    nb::class_<PublicKey>(m, "PublicKey", "What encrypts without a secret.")
        .def(
            "__init__",
            [](PublicKey *self, const SharedContext &context, const Residues &residues) {
                new (self) PublicKey(context, words_of(residues));
            },
            "context"_a, "residues"_a, "residues: uint32 [2, data + special primes, n].")
        .def_static(
            "from_seeded", [](const SeededKey &key) { return PublicKey(key); }, "key"_a);

    m.def("make_public_key", &make_public_key, "secret"_a, "entropy"_a, Release());
    m.def("make_relinearization_key", &make_relinearization_key, "secret"_a, "entropy"_a, Release());
    m.def("make_galois_key", &make_galois_key, "secret"_a, "element"_a, "entropy"_a, Release());
    m.def(
        "make_rekey_key", &make_rekey_key, "owner"_a, "device"_a, "entropy"_a, Release(),
        "Brings ciphertexts under the device's key under the owner's; whoever holds the owner's reads them.");

    m.def("encrypt", nb::overload_cast<const Plaintext &, const PublicKey &, Entropy &>(&encrypt),
          "plaintext"_a, "key"_a, "entropy"_a, Release());
    m.def("encrypt", nb::overload_cast<const Plaintext &, const SecretKey &, Entropy &>(&encrypt),
          "plaintext"_a, "key"_a, "entropy"_a, Release());

    m.def(
        "decrypt",
        [](const Ciphertext &c, const SecretKey &secret) {
            return array_of(released([&] { return decrypt(c, secret); }), {c.context()->n() / 2});
        },
        "ciphertext"_a, "secret"_a, "complex128 [n/2]: the slots. Raises MismatchError for noise.");
    m.def(
        "decrypt_coefficients",
        [](const Ciphertext &c, const SecretKey &secret) {
            return array_of(released([&] { return decrypt_coefficients(c, secret); }), {c.context()->n()});
        },
        "ciphertext"_a, "secret"_a, "float64 [n], centred, not divided by the scale.");
    m.def(
        "decrypt_digits",
        [](const Ciphertext &c, const SecretKey &secret) {
            return array_of(released([&] { return decrypt_digits(c, secret); }),
                            {c.primes(), c.context()->n()});
        },
        "ciphertext"_a, "secret"_a, "int32 [primes, n]: centred mixed-radix digits.");
    m.def(
        "decrypt_bfv",
        [](const Ciphertext &c, const SecretKey &secret, uint32_t plain_modulus) {
            return array_of(released([&] { return decrypt_bfv(c, secret, plain_modulus); }),
                            {c.context()->n()});
        },
        "ciphertext"_a, "secret"_a, "plain_modulus"_a, "uint32 [n], modulo plain_modulus.");
    m.def("decrypt_bfv_at", &decrypt_at, "ciphertext"_a, "secret"_a, "plain_modulus"_a, "positions"_a,
          "(uint32 messages, float64 noise in units of Q / t) at uint32 positions.");
}
