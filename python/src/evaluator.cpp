/* SPDX-License-Identifier: Apache-2.0 */
/* ciphermote._evaluator: the hosted library's evaluator (host/include/ciphermote/evaluate.h) for Python. */
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/complex.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <complex>
#include <memory>
#include <string>
#include <vector>

#include "ciphermote/evaluate.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace ciphermote;

namespace
{

using Residues = nb::ndarray<const uint32_t, nb::c_contig, nb::device::cpu>;
using ComplexValues = nb::ndarray<const std::complex<double>, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using SharedContext = std::shared_ptr<const Context>;

std::span<const uint32_t> words_of(const Residues &array)
{
    return {array.data(), array.size()};
}

Ciphertext ciphertext(const SharedContext &context, const Residues &residues, double scale)
{
    if (residues.ndim() != 3 || residues.shape(2) != context->n()) {
        throw Error("The residues have another shape: give uint32 [components, primes, n].");
    }
    return Ciphertext(context, static_cast<unsigned>(residues.shape(0)),
                      static_cast<unsigned>(residues.shape(1)), scale, words_of(residues));
}

template <size_t dimensions>
nb::ndarray<nb::numpy, uint32_t, nb::ndim<dimensions>> copy_of(std::span<const uint32_t> words,
                                                               const size_t (&shape)[dimensions])
{
    auto *copy = new uint32_t[words.size()];
    std::copy(words.begin(), words.end(), copy);
    nb::capsule owner(copy, [](void *p) noexcept { delete[] static_cast<uint32_t *>(p); });
    return {copy, dimensions, shape, owner};
}

nb::ndarray<nb::numpy, uint32_t, nb::ndim<3>> residues_of(const Ciphertext &c)
{
    return copy_of<3>(c.residues(), {c.components(), c.primes(), c.context()->n()});
}

nb::ndarray<nb::numpy, uint32_t, nb::ndim<2>> plain_residues(const Plaintext &p)
{
    return copy_of<2>(p.residues(), {p.primes(), p.context()->n()});
}

/* The evaluator's errors become the package's. */
void register_errors()
{
    nb::object error = nb::module_::import_("ciphermote.errors").attr("EngineError");
    nb::register_exception_translator(
        [](const std::exception_ptr &raised, void *type) {
            try {
                std::rethrow_exception(raised);
            } catch (const Error &e) {
                PyErr_SetString(static_cast<PyObject *>(type), e.what());
            }
        },
        error.release().ptr());
}

using Release = nb::call_guard<nb::gil_scoped_release>;

} // namespace

NB_MODULE(_evaluator, m)
{
    m.doc() = "The evaluator: it computes on ciphertexts, and never sees a secret key.";
    register_errors();

    nb::class_<Context>(m, "Context", "What a chain's arithmetic needs; shared between threads.")
        .def(
            "__init__",
            [](Context *self, unsigned log2_n, std::vector<uint32_t> data, std::vector<uint32_t> special,
               unsigned digit_primes, const std::string &isa) {
                new (self) Context({log2_n, std::move(data), std::move(special), digit_primes}, isa);
            },
            "log2_n"_a, "data"_a, "special"_a, "digit_primes"_a = 1, "isa"_a = "")
        .def_prop_ro("n", &Context::n)
        .def_prop_ro("isa", &Context::isa);

    nb::class_<Ciphertext>(m, "Ciphertext", "Residues [components, primes, n] and a scale.")
        .def(
            "__init__",
            [](Ciphertext *self, const std::shared_ptr<Context> &context, const Residues &residues,
               double scale) { new (self) Ciphertext(ciphertext(context, residues, scale)); },
            "context"_a, "residues"_a, "scale"_a)
        .def("residues", &residues_of, "uint32 [components, primes, n], a copy.")
        .def_prop_ro("components", &Ciphertext::components)
        .def_prop_ro("primes", &Ciphertext::primes)
        .def_prop_ro("scale", &Ciphertext::scale);

    nb::class_<Plaintext>(m, "Plaintext", "Encoded numbers.")
        .def(
            "__init__",
            [](Plaintext *self, const std::shared_ptr<Context> &context, const ComplexValues &values,
               double scale, unsigned primes) {
                new (self)
                    Plaintext(context, std::span<const std::complex<double>>(values.data(), values.size()),
                              scale, primes);
            },
            "context"_a, "values"_a, "scale"_a, "primes"_a)
        .def_prop_ro("primes", &Plaintext::primes)
        .def_prop_ro("scale", &Plaintext::scale)
        .def("residues", &plain_residues, "uint32 [primes, n], a copy.");

    nb::class_<EvaluationKeys>(m, "EvaluationKeys", "Relinearization and Galois keys, prepared.")
        .def(
            "__init__",
            [](EvaluationKeys *self, const std::shared_ptr<Context> &context) {
                new (self) EvaluationKeys(context);
            },
            "context"_a)
        .def(
            "add_relinearization",
            [](EvaluationKeys &self, const Residues &residues) {
                self.add_relinearization(words_of(residues));
            },
            "residues"_a, "uint32 [digits, 2, data + special primes, n].")
        .def(
            "add_galois",
            [](EvaluationKeys &self, uint32_t element, const Residues &residues) {
                self.add_galois(element, words_of(residues));
            },
            "element"_a, "residues"_a)
        .def_prop_ro("bytes", &EvaluationKeys::bytes);

    m.def("add", &add, "a"_a, "b"_a, Release());
    m.def("subtract", &subtract, "a"_a, "b"_a, Release());
    m.def("negate", &negate, "a"_a, Release());
    m.def("multiply", &multiply, "a"_a, "b"_a, Release());
    m.def("add_plain", &add_plain, "a"_a, "b"_a, Release());
    m.def("multiply_plain", &multiply_plain, "a"_a, "b"_a, Release());
    m.def("relinearize", &relinearize, "a"_a, "keys"_a, Release());
    m.def("rescale", &rescale, "a"_a, "count"_a = 1, Release());
    m.def("drop_primes", &drop_primes, "a"_a, "count"_a = 1, Release());
    m.def("rotate", &rotate, "a"_a, "step"_a, "keys"_a, Release());
    m.def("conjugate", &conjugate, "a"_a, "keys"_a, Release());
    m.def(
        "rotate_hoisted",
        [](const Ciphertext &a, const std::vector<int> &steps, const EvaluationKeys &keys) {
            return rotate_hoisted(a, steps, keys);
        },
        "a"_a, "steps"_a, "keys"_a, Release());
}
