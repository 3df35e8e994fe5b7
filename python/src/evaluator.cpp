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
#include "ciphermote/wide_chain.h"
#include "delivery.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace ciphermote;

namespace
{

using Residues = nb::ndarray<const uint32_t, nb::c_contig, nb::device::cpu>;
using ComplexValues = nb::ndarray<const std::complex<double>, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Table = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Integers = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
constexpr size_t first_residues = 16;
using SharedContext = std::shared_ptr<const Context>;

std::span<const uint32_t> words_of(const Residues &array)
{
    return {array.data(), array.size()};
}

Ciphertext ciphertext(const SharedContext &context, const Residues &residues, double scale, Form form)
{
    if (residues.ndim() != 3 || residues.shape(2) != context->n()) {
        throw Error("The residues have another shape: give uint32 [components, primes, n].");
    }
    return Ciphertext(context, static_cast<unsigned>(residues.shape(0)),
                      static_cast<unsigned>(residues.shape(1)), scale, words_of(residues), form);
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

nb::ndarray<nb::numpy, uint32_t, nb::ndim<3>> coefficients_of(const Ciphertext &c)
{
    return copy_of<3>(c.coefficients(), {c.components(), c.primes(), c.context()->n()});
}

nb::ndarray<nb::numpy, uint32_t, nb::ndim<2>> plain_residues(const Plaintext &p)
{
    return copy_of<2>(p.residues(), {p.primes(), p.context()->n()});
}

template <class T> std::span<const T> numbers_of(const Table<T> &table)
{
    return {table.data(), table.size()};
}

using Bytes = nb::bytes;

Seeded seeded(int xof, const Bytes &seed, double scale, Form form)
{
    if (xof < 0 || xof > 255) {
        xof = 0;
    }
    return {static_cast<Xof>(xof), span_of(seed), scale, form};
}

void add_residues(Sum &sum, const Residues &residues, double scale, Form form)
{
    const size_t components = residues.ndim() == 3 ? residues.shape(0) : 0;
    if (components < 2 || components > 3) {
        throw Error("The residues have another shape: give uint32 [2 or 3, primes, n].");
    }
    nb::gil_scoped_release released;
    sum.add(static_cast<unsigned>(components), words_of(residues), scale, form);
}

void add_seeded(Sum &sum, int xof, const Bytes &seed, const Residues &residues, double scale, Form form)
{
    const Seeded given = seeded(xof, seed, scale, form);
    nb::gil_scoped_release released;
    sum.add(given, words_of(residues));
}

void add_packed(Sum &sum, int xof, const Bytes &seed, const std::vector<Bytes> &packed, double scale,
                Form form)
{
    const Seeded given = seeded(xof, seed, scale, form);
    std::vector<std::span<const uint8_t>> primes;
    for (const Bytes &prime : packed) {
        primes.push_back(span_of(prime));
    }
    nb::gil_scoped_release released;
    sum.add(given, primes);
}

/* What stored attempts hold: of one seed each, or of all components. */
class Attempts
{
  public:
    Attempts(Sum &sum, const Params &params) : sum_(sum), params_(params)
    {
    }
    void add(const uint8_t *bytes, size_t length)
    {
        Delivery stored;
        stored.read(params_.get(), nullptr, 0, {bytes, length});
        check(stored.status());
        std::vector<Delivery::Part> parts = stored.parts();
        if (parts.size() != stored.places()) {
            throw Error("Frames of a stored attempt are missing: restore a backup.");
        }
        std::sort(parts.begin(), parts.end(), [](const auto &a, const auto &b) { return a.place < b.place; });
        const cm_ciphertext_info &info = stored.first().info;
        const Form form = info.ntt_form ? Form::values : Form::coefficients;
        if (info.xof == CM_XOF_NONE) {
            sum_.add(info.components, residues_of(bytes, parts), stored.scale(), form);
            return;
        }
        const Seeded given{static_cast<Xof>(info.xof), payload(bytes, parts[0]), stored.scale(), form};
        std::vector<std::span<const uint8_t>> primes;
        const size_t tiles = (parts.size() - 1) / info.primes;
        tiles_.assign(info.primes, {});
        for (size_t i = 0; i < info.primes; i++) {
            if (tiles == 1) {
                primes.push_back(payload(bytes, parts[1 + i]));
                continue;
            }
            for (size_t tile = 0; tile < tiles; tile++) {
                const auto part = payload(bytes, parts[1 + i * tiles + tile]);
                tiles_[i].insert(tiles_[i].end(), part.begin(), part.end());
            }
            primes.push_back(tiles_[i]);
        }
        sum_.add(given, primes);
    }

  private:
    static std::span<const uint8_t> payload(const uint8_t *bytes, const Delivery::Part &part)
    {
        return {bytes + part.payload_at, part.payload_length};
    }
    std::span<const uint32_t> residues_of(const uint8_t *bytes, const std::vector<Delivery::Part> &parts)
    {
        residues_.clear();
        for (const Delivery::Part &part : parts) {
            cm_frame frame;
            check(cm_frame_parse(bytes + part.at, part.length, params_.get(), &frame));
            residues_.resize(residues_.size() + frame.residue_count);
            check(cm_frame_unpack(&frame, residues_.data() + residues_.size() - frame.residue_count));
        }
        return residues_;
    }

    Sum &sum_;
    const Params &params_;
    std::vector<uint32_t> residues_;
    std::vector<std::vector<uint8_t>> tiles_;
};

/* Bytes of whatever Python object lends them, for as long as this lives. */
class Lent
{
  public:
    explicit Lent(const nb::object &lender)
    {
        if (PyObject_GetBuffer(lender.ptr(), &buffer_, PyBUF_SIMPLE) != 0) {
            throw nb::python_error();
        }
    }
    Lent(Lent &&other) noexcept : buffer_(other.buffer_)
    {
        other.buffer_.obj = nullptr; /* then releasing does nothing */
    }
    ~Lent()
    {
        PyBuffer_Release(&buffer_);
    }
    std::span<const uint8_t> bytes() const
    {
        return {static_cast<const uint8_t *>(buffer_.buf), static_cast<size_t>(buffer_.len)};
    }

  private:
    Py_buffer buffer_{};
};

/* Reads whole frames, every byte checked; no ciphertext unless the status is CM_OK. */
std::tuple<std::unique_ptr<Ciphertext>, std::unique_ptr<Delivery>, std::string>
from_frames(const SharedContext &context, const Params &params, const nb::object &data)
{
    const Lent lent(data);
    auto delivery = std::make_unique<Delivery>();
    auto found = std::make_unique<Ciphertext>();
    cm_status status;
    {
        const nb::gil_scoped_release released;
        delivery->read(params.get(), nullptr, 0, lent.bytes());
        status = read_ciphertext(context, *delivery, lent.bytes(), *found);
    }
    if (status != CM_OK) {
        found.reset();
    }
    return {std::move(found), std::move(delivery), StatusError(status).name()};
}

/* The same, into memory that is there. */
std::string read_frames(Ciphertext &into, const Params &params, const nb::object &data)
{
    const Lent lent(data);
    const nb::gil_scoped_release released;
    Delivery delivery;
    delivery.read(params.get(), nullptr, 0, lent.bytes());
    const std::shared_ptr<const ciphermote::Context> context = into.context();
    return StatusError(read_ciphertext(context, delivery, lent.bytes(), into)).name();
}

void add_attempts(Sum &sum, const Params &params, const std::vector<nb::object> &attempts)
{
    std::vector<Lent> lent;
    lent.reserve(attempts.size());
    for (const auto &attempt : attempts) {
        lent.emplace_back(attempt);
    }
    nb::gil_scoped_release released;
    Attempts adder(sum, params);
    for (const Lent &each : lent) {
        adder.add(each.bytes().data(), each.bytes().size());
    }
}

template <class T> using Numbers = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void add_window(CompactSum &sum, const Bytes &seed, const Numbers<uint32_t> &positions,
                const Numbers<uint64_t> &payload, unsigned dropped_bits, int64_t weight)
{
    const std::span<const uint8_t> bytes = span_of(seed);
    const nb::gil_scoped_release released;
    sum.add(bytes, {positions.data(), positions.size()}, {payload.data(), payload.size()}, dropped_bits,
            weight);
}

nb::ndarray<nb::numpy, uint32_t, nb::ndim<3>> compact_residues(const CompactSum &sum)
{
    const std::vector<uint32_t> residues = sum.residues();
    return copy_of<3>(residues, {2, sum.primes(), residues.size() / 2 / sum.primes()});
}

/* What a function computes without the interpreter's lock. */
template <class Call> std::vector<uint32_t> without_lock(Call call)
{
    const nb::gil_scoped_release released;
    return call();
}

nb::ndarray<nb::numpy, uint32_t, nb::ndim<3>>
constants_of(const CompactForms &forms,
             const nb::ndarray<const uint64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu> &payload,
             unsigned dropped_bits)
{
    const std::vector<uint32_t> found = without_lock([&] {
        return forms.constants({payload.data(), payload.size()}, dropped_bits);
    });
    return copy_of<3>(found, {found.size() / forms.count() / forms.primes(), forms.count(), forms.primes()});
}

nb::ndarray<nb::numpy, uint32_t, nb::ndim<3>> polynomials_of(const CompactForms &forms, const Bytes &seed)
{
    const std::span<const uint8_t> bytes = span_of(seed);
    const std::vector<uint32_t> found = without_lock([&] { return forms.polynomials(bytes); });
    return copy_of<3>(found, {forms.count(), forms.primes(), found.size() / forms.count() / forms.primes()});
}

/* The evaluator's errors become the package's. */
void register_evaluator_errors()
{
    nb::object error = nb::module_::import_("ciphermote.base.errors").attr("EngineError");
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

namespace
{

using Words = nb::ndarray<const uint64_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using WordArray = nb::ndarray<nb::numpy, uint64_t, nb::ndim<3>>;

WordArray word_array(std::vector<uint64_t> &&words, size_t polynomials, size_t primes, size_t n)
{
    auto *kept = new std::vector<uint64_t>(std::move(words));
    nb::capsule owner(kept, [](void *p) noexcept { delete static_cast<std::vector<uint64_t> *>(p); });
    return {kept->data(), {polynomials, primes, n}, owner};
}

/* Words of whole polynomials of the chain's degree, and how many primes they have. */
std::pair<std::vector<uint64_t>, unsigned> wide_copy_of(const WideChain &chain, const Words &words)
{
    if (words.shape(2) != chain.n()) {
        throw Error("The residues have another shape: give uint64 [polynomials, primes, n].");
    }
    return {{words.data(), words.data() + words.size()}, static_cast<unsigned>(words.shape(1))};
}

using Transform = void (WideChain::*)(std::span<uint64_t>, unsigned) const;

template <Transform transform> WordArray transformed(const WideChain &chain, const Words &words)
{
    auto [residues, primes] = wide_copy_of(chain, words);
    {
        const nb::gil_scoped_release release;
        (chain.*transform)(residues, primes);
    }
    return word_array(std::move(residues), words.shape(0), primes, chain.n());
}

WordArray switched(const WideChain &chain, const Words &words, const WideChain &to, unsigned to_primes)
{
    const auto [residues, primes] = wide_copy_of(chain, words);
    std::vector<uint64_t> found;
    {
        const nb::gil_scoped_release release;
        found = chain.switched(residues, primes, to, to_primes);
    }
    return word_array(std::move(found), words.shape(0), to_primes, chain.n());
}

void register_wide_chain(nb::module_ &m)
{
    nb::class_<WideChain>(m, "WideChain", "Primes of up to 60 bits, and the way between chains.")
        .def(nb::init<unsigned, std::vector<uint64_t>>(), "log2_n"_a, "primes"_a)
        .def("to_coefficients", &transformed<&WideChain::to_coefficients>, "residues"_a,
             "uint64 [polynomials, primes, n], from values in SEAL's order.")
        .def("to_values", &transformed<&WideChain::to_values>, "residues"_a)
        .def(
            "expand",
            [](const WideChain &chain, int xof, const nb::bytes &seed, unsigned primes) {
                return word_array(chain.expand(static_cast<Xof>(xof), span_of(seed), primes), 1, primes,
                                  chain.n());
            },
            "xof"_a, "seed"_a, "primes"_a, "SEAL's expansion of a seed: uint64 [1, primes, n].")
        .def("switched", &switched, "coefficients"_a, "to"_a, "to_primes"_a,
             "The nearest integer to each centred coefficient times Q / P.");
}

} // namespace

NB_MODULE(_evaluator, m)
{
    m.doc() = "The evaluator: it computes on ciphertexts, and never sees a secret key.";
    register_evaluator_errors();
    ciphermote::register_errors();
    nb::module_::import_("ciphermote._core"); /* whose parameter sets it takes */

    register_wide_chain(m);

    nb::class_<Context>(m, "Context", "What a chain's arithmetic needs; shared between threads.")
        .def(
            "__init__",
            [](Context *self, unsigned log2_n, std::vector<uint32_t> data, std::vector<uint32_t> special,
               unsigned digit_primes, uint32_t plain_modulus, const std::string &isa, bool insecure) {
                ciphermote::Chain chain{log2_n, std::move(data), std::move(special), digit_primes,
                                        plain_modulus};
                if (insecure) {
                    new (self) Context(ciphermote::Insecure{std::move(chain)}, isa);
                } else {
                    new (self) Context(std::move(chain), isa);
                }
            },
            "log2_n"_a, "data"_a, "special"_a, "digit_primes"_a = 1, "plain_modulus"_a = 0, "isa"_a = "",
            nb::kw_only(), "insecure"_a = false)
        .def_prop_ro("n", &Context::n)
        .def_prop_ro("isa", &Context::isa);

    nb::enum_<Form>(m, "Form").value("values", Form::values).value("coefficients", Form::coefficients);
    nb::enum_<Places>(m, "Places").value("slots", Places::slots).value("coefficients", Places::coefficients);

    nb::class_<Ciphertext>(m, "Ciphertext", "Residues [components, primes, n] and a scale.")
        .def(
            "__init__",
            [](Ciphertext *self, const std::shared_ptr<Context> &context, const Residues &residues,
               double scale,
               Form form) { new (self) Ciphertext(ciphertext(context, residues, scale, form)); },
            "context"_a, "residues"_a, "scale"_a, "form"_a = Form::values)
        .def("residues", &residues_of, "Values: uint32 [components, primes, n], a copy.")
        .def(
            "first_residues",
            [](const Ciphertext &c) {
                return nb::bytes(c.residues().data(), first_residues * sizeof(uint32_t));
            },
            "The first 16 residues of the first polynomial, values, as bytes.")
        .def("read_frames", &read_frames, "params"_a, "data"_a,
             "As from_frames, into this one; the status alone.")
        .def_static("from_frames", &from_frames, "context"_a, "params"_a, "data"_a,
                    "(ciphertext or None, delivery, status) of one whole ciphertext's frames, in any order.")
        .def("coefficients", &coefficients_of, "uint32 [components, primes, n].")
        .def_prop_ro("components", &Ciphertext::components)
        .def_prop_ro("primes", &Ciphertext::primes)
        .def_prop_ro("scale", &Ciphertext::scale);

    bind_deliveries(m);

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
        .def(
            "__init__",
            [](Plaintext *self, const std::shared_ptr<Context> &context, const Integers &integers,
               Places places, unsigned primes) {
                new (self) Plaintext(context, std::span<const int64_t>(integers.data(), integers.size()),
                                     places, primes);
            },
            "context"_a, "integers"_a, "places"_a, "primes"_a)
        .def_static(
            "constant",
            [](const std::shared_ptr<Context> &context, double value, double scale, unsigned primes) {
                return Plaintext::constant(context, value, scale, primes);
            },
            "context"_a, "value"_a, "scale"_a, "primes"_a)
        .def_static(
            "constant_integer",
            [](const std::shared_ptr<Context> &context, int64_t integer, unsigned primes) {
                return Plaintext::constant(context, integer, primes);
            },
            "context"_a, "integer"_a, "primes"_a)
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

    nb::class_<Sum>(m, "Sum",
                    "A sum of ciphertexts that are added as they come, in memory that does not grow.")
        .def(
            "__init__", [](Sum *self, const std::shared_ptr<Context> &context) { new (self) Sum(context); },
            "context"_a)
        .def("add", nb::overload_cast<const Ciphertext &>(&Sum::add), "ciphertext"_a, Release())
        .def("add_residues", &add_residues, "residues"_a, "scale"_a, "form"_a = Form::values,
             "uint32 [2 or 3, primes, n].")
        .def(
            "add_seeded", &add_seeded, "xof"_a, "seed"_a, "residues"_a, "scale"_a, "form"_a = Form::values,
            "A first polynomial, uint32 [primes, n], and the seed of the second; xof as on the wire: 1, 2 or "
            "3.")
        .def("add_packed", &add_packed, "xof"_a, "seed"_a, "packed"_a, "scale"_a, "form"_a = Form::values,
             "The same; for each prime, its residues as a frame packs them.")
        .def("add_attempts", &add_attempts, "params"_a, "attempts"_a,
             "Whole tagged frames of attempts that check_deliveries has accepted; checksums are looked at.")
        .def_prop_ro("count", &Sum::count)
        .def("total", &Sum::total, Release())
        .def("mean", &Sum::mean, Release(), "The total at a scale as many times as large; CKKS alone.");

    nb::class_<CompactSum>(m, "CompactSum", "A weighted sum of the compact lane's windows.")
        .def(
            "__init__",
            [](CompactSum *self, const std::shared_ptr<Context> &context) { new (self) CompactSum(context); },
            "context"_a)
        .def("add", &add_window, "seed"_a, "positions"_a, "payload"_a, "dropped_bits"_a, "weight"_a,
             "seed: 32 bytes; positions: uint32, ascending; payload: uint64, coefficients without low bits.")
        .def("residues", &compact_residues, "uint32 [2, primes, n], coefficients.");

    nb::class_<CompactForms>(m, "CompactForms", "Linear forms of the values in windows of the compact lane.")
        .def(
            "__init__",
            [](CompactForms *self, const std::shared_ptr<Context> &context,
               const Numbers<uint32_t> &positions,
               const nb::ndarray<const int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu> &weights) {
                new (self) CompactForms(context, {positions.data(), positions.size()},
                                        {weights.data(), weights.size()});
            },
            "context"_a, "positions"_a, "weights"_a,
            "positions: uint32, ascending; weights: int64 [forms, positions].")
        .def("constants", &constants_of, "payload"_a, "dropped_bits"_a,
             "uint32 [windows, forms, primes] of uint64 [windows, positions]: the constant coefficients.")
        .def("polynomials", &polynomials_of, "seed"_a,
             "uint32 [forms, primes, n], coefficients: the second polynomials under a seed of 32 bytes.");

    nb::class_<RekeyKey>(m, "RekeyKey", "Brings ciphertexts under a device's own key under the owner's.")
        .def(
            "__init__",
            [](RekeyKey *self, const std::shared_ptr<Context> &context, const Residues &residues) {
                new (self) RekeyKey(context, words_of(residues));
            },
            "context"_a, "residues"_a, "uint32 [digits, 2, data + special primes, n].");
    m.def("rekey", nb::overload_cast<const Ciphertext &, const RekeyKey &>(&rekey), "a"_a, "key"_a,
          Release());

    m.def("add", nb::overload_cast<const Ciphertext &, const Ciphertext &>(&add), "a"_a, "b"_a, Release());
    m.def("subtract", nb::overload_cast<const Ciphertext &, const Ciphertext &>(&subtract), "a"_a, "b"_a,
          Release());
    m.def("negate", nb::overload_cast<const Ciphertext &>(&negate), "a"_a, Release());
    m.def("multiply", nb::overload_cast<const Ciphertext &, const Ciphertext &>(&multiply), "a"_a, "b"_a,
          Release());
    m.def("square", nb::overload_cast<const Ciphertext &>(&square), "a"_a, Release());
    m.def("add_plain", nb::overload_cast<const Ciphertext &, const Plaintext &>(&add_plain), "a"_a, "b"_a,
          Release());
    m.def("multiply_plain", nb::overload_cast<const Ciphertext &, const Plaintext &>(&multiply_plain), "a"_a,
          "b"_a, Release());
    m.def("relinearize", nb::overload_cast<const Ciphertext &, const EvaluationKeys &>(&relinearize), "a"_a,
          "keys"_a, Release());
    m.def("rescale", nb::overload_cast<const Ciphertext &, unsigned>(&rescale), "a"_a, "count"_a = 1,
          Release());
    m.def("mod_switch", nb::overload_cast<const Ciphertext &, unsigned>(&mod_switch), "a"_a, "count"_a = 1,
          Release());
    m.def("rotate", nb::overload_cast<const Ciphertext &, int, const EvaluationKeys &>(&rotate), "a"_a,
          "step"_a, "keys"_a, Release());
    m.def("conjugate", nb::overload_cast<const Ciphertext &, const EvaluationKeys &>(&conjugate), "a"_a,
          "keys"_a, Release());
    m.def(
        "rotate_hoisted",
        [](const Ciphertext &a, const std::vector<int> &steps, const EvaluationKeys &keys) {
            return rotate_hoisted(a, steps, keys);
        },
        "a"_a, "steps"_a, "keys"_a, Release());

    nb::class_<Matrix>(m, "Matrix", "A matrix in the clear.")
        .def(
            "__init__",
            [](Matrix *self, const std::shared_ptr<Context> &context, const Table<double> &numbers,
               double scale, unsigned primes) {
                new (self)
                    Matrix(context, numbers_of(numbers), numbers.shape(0), numbers.shape(1), scale, primes);
            },
            "context"_a, "numbers"_a, "scale"_a, "primes"_a)
        .def(
            "__init__",
            [](Matrix *self, const std::shared_ptr<Context> &context, const Table<int64_t> &integers,
               unsigned primes) {
                new (self)
                    Matrix(context, numbers_of(integers), integers.shape(0), integers.shape(1), primes);
            },
            "context"_a, "integers"_a, "primes"_a)
        .def_prop_ro(
            "steps", [](const Matrix &self) { return self.steps(); }, "The rotations it takes.");
    m.def(
        "multiply_matrix",
        [](const Matrix &matrix, const Ciphertext &a, const EvaluationKeys &keys) {
            return multiply(matrix, a, keys);
        },
        "matrix"_a, "a"_a, "keys"_a, Release());
    m.def("inner_sum", &inner_sum, "a"_a, "count"_a, "keys"_a, Release());
    m.def("inner_sum_steps", &inner_sum_steps, "context"_a, "count"_a);
    m.def(
        "evaluate_polynomial",
        [](const Ciphertext &a, const std::vector<double> &coefficients, const EvaluationKeys &keys,
           unsigned primes_per_level) {
            return evaluate_polynomial(a, coefficients, keys, primes_per_level);
        },
        "a"_a, "coefficients"_a, "keys"_a, "primes_per_level"_a = 1, Release());
    m.def(
        "evaluate_integer_polynomial",
        [](const Ciphertext &a, const std::vector<int64_t> &coefficients, const EvaluationKeys &keys) {
            return evaluate_polynomial(a, coefficients, keys);
        },
        "a"_a, "coefficients"_a, "keys"_a, Release());
}
