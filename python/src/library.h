/*
 * The C library for Python's modules, each of which includes this once. Thin by design: it checks shapes and lengths, calls
 * the library and turns statuses into exceptions; names and meanings are those of core/include/ciphermote.
 */
#ifndef CIPHERMOTE_PYTHON_LIBRARY_H
#define CIPHERMOTE_PYTHON_LIBRARY_H

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

extern "C" {
#include "ciphermote/ciphermote.h"
#include "common/wipe.h"
#include "encode/encode.h"
#include "encode/plain.h"
#include "random/sample.h"
#include "random/xof.h"
#include "ring/ring.h"
#include "scheme/seeds.h"
}

namespace nb = nanobind;
using namespace nb::literals;

namespace
{

using Values = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/* Values of any type: the call judges it. Numbers are the types that it takes, for the signature. */
template <typename... Numbers> struct ValuesOf : Values {
    ValuesOf() = default;
    explicit ValuesOf(const Values &values) : Values(values)
    {
    }
};

} // namespace

template <typename... Numbers> struct nb::detail::type_caster<ValuesOf<Numbers...>> {
    NB_TYPE_CASTER(ValuesOf<Numbers...>, union_name(make_caster<nb::ndarray<nb::numpy, Numbers>>::Name...))

    bool from_python(handle source, uint32_t flags, cleanup_list *cleanup) noexcept
    {
        make_caster<Values> caster;
        if (!caster.from_python(source, flags, cleanup)) {
            return false;
        }
        value = Value(caster.value);
        return true;
    }
};

namespace
{

using CkksValues = ValuesOf<float, int16_t, int32_t>;
using BfvValues = ValuesOf<int16_t, int32_t, uint16_t, uint32_t>;
using Words = nb::ndarray<const uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using NewWords = nb::ndarray<nb::numpy, uint32_t>;

/* A failed call: the status and its sentence, as the attributes of a Python exception. */
struct StatusError : std::runtime_error {
    cm_status status;
    explicit StatusError(cm_status s) : std::runtime_error(cm_status_text(s)), status(s)
    {
    }
};

void check(cm_status status)
{
    if (status != CM_OK) {
        throw StatusError(status);
    }
}

template <typename T>
nb::ndarray<nb::numpy, T> new_array(std::vector<T> values, std::initializer_list<size_t> shape)
{
    auto *owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
    return nb::ndarray<nb::numpy, T>(owned->data(), shape, owner);
}

const uint8_t *bytes_of(const nb::bytes &bytes, size_t expected, const char *what)
{
    if (bytes.size() != expected) {
        throw nb::value_error((std::string(what) + " must be " + std::to_string(expected) + " bytes, not " +
                               std::to_string(bytes.size()))
                                  .c_str());
    }
    return static_cast<const uint8_t *>(bytes.data());
}

nb::bytes to_bytes(const std::vector<uint8_t> &bytes)
{
    return nb::bytes(bytes.data(), bytes.size());
}

/* A parameter set with storage of its own. */
class Params
{
  public:
    using Row = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>;

    Params(std::string name, uint32_t id, unsigned log2_n, unsigned data_primes, unsigned log2_q_data,
           const std::vector<Row> &rows)
        : name_(std::move(name))
    {
        if (log2_n < 10 || log2_n > CM_CONFIG_MAX_LOG2_N || rows.empty() || rows.size() > CM_MAX_PRIMES ||
            data_primes < 1 || data_primes > rows.size()) {
            throw nb::value_error("the parameter set has a shape that the library cannot use");
        }
        for (const auto &[q, neg_q_inv, r1, r2, psi, n_inv] : rows) {
            primes_.push_back({q, neg_q_inv, r1, r2, psi, n_inv});
        }
        params_ = {name_.c_str(),
                   id,
                   static_cast<uint8_t>(log2_n),
                   static_cast<uint8_t>(primes_.size()),
                   static_cast<uint8_t>(data_primes),
                   static_cast<uint8_t>(std::min(log2_q_data, 255u)),
                   primes_.data()};
    }
    Params(const Params &) = delete;
    Params &operator=(const Params &) = delete;

    const cm_params *get() const
    {
        return &params_;
    }
    size_t n() const
    {
        return size_t{1} << params_.log2_n;
    }
    cm_ring ring(unsigned prime) const
    {
        if (prime >= primes_.size()) {
            throw nb::index_error("the parameter set has no such prime");
        }
        cm_ring ring;
        cm_ring_init(&ring, &primes_[prime], params_.log2_n, NULL);
        return ring;
    }
    const uint8_t *ternary(const nb::bytes &packed) const
    {
        return bytes_of(packed, CM_TERNARY_BYTES(n()), "a packed ternary polynomial");
    }
    void expect_polynomial(const Words &a) const
    {
        if (a.shape(0) != n()) {
            throw nb::value_error("a polynomial must have n residues");
        }
    }

  private:
    std::string name_;
    std::vector<cm_prime> primes_;
    cm_params params_{};
};

/* ---- ring ---- */

NewWords ntt_forward(const Params &params, unsigned prime, const Words &a)
{
    const cm_ring ring = params.ring(prime);
    params.expect_polynomial(a);
    std::vector<uint32_t> out(a.data(), a.data() + a.shape(0));
    for (uint32_t &x : out) {
        x = cm_reduce(x, ring.prime);
    }
    cm_ntt_forward(out.data(), &ring);
    for (uint32_t &x : out) {
        x = cm_reduce(x, ring.prime);
    }
    return new_array(std::move(out), {params.n()});
}

NewWords ntt_inverse(const Params &params, unsigned prime, const Words &a)
{
    const cm_ring ring = params.ring(prime);
    params.expect_polynomial(a);
    std::vector<uint32_t> out(a.data(), a.data() + a.shape(0));
    for (uint32_t &x : out) {
        x = cm_reduce(x, ring.prime);
    }
    cm_ntt_inverse(out.data(), &ring);
    return new_array(std::move(out), {params.n()});
}

/* ---- random ---- */

NewWords expand_seed(const Params &params, int xof, const nb::bytes &seed, unsigned primes)
{
    const auto kind = static_cast<cm_xof_kind>(xof);
    const size_t length = cm_public_seed_bytes(kind);
    if (length == 0 || primes < 1 || primes > params.get()->key_primes) {
        throw nb::value_error("no such expansion: the xof is 1 (BLAKE2Xb), 2 (SHAKE256) or 3 (ChaCha20)");
    }
    const uint8_t *bytes = bytes_of(seed, length, "the seed");
    std::vector<uint32_t> out(primes * params.n());
    cm_uniform uniform;
    cm_uniform_init(&uniform, kind, bytes, params.get()->log2_n, primes);
    for (unsigned i = 0; i < primes; i++) {
        cm_uniform_polynomial(&uniform, &params.get()->primes[i], i, out.data() + i * params.n());
    }
    return new_array(std::move(out), {primes, params.n()});
}

/* ---- keys ---- */

nb::bytes secret_key_generate(const Params &params, const nb::bytes &seed)
{
    std::vector<uint8_t> ternary(CM_TERNARY_BYTES(params.n()));
    check(cm_secret_key_generate(params.get(), bytes_of(seed, CM_SEED_BYTES, "the seed"), ternary.data()));
    nb::bytes result = to_bytes(ternary);
    cm_wipe(ternary.data(), ternary.size());
    return result;
}

NewWords secret_key_residues(const Params &params, const nb::bytes &ternary, unsigned prime)
{
    std::vector<uint32_t> out(params.n());
    check(cm_secret_key_residues(params.get(), params.ternary(ternary), prime, out.data()));
    return new_array(std::move(out), {params.n()});
}

NewWords secret_key_transform(const Params &params, const nb::bytes &ternary, unsigned prime)
{
    std::vector<uint32_t> out(params.n());
    check(cm_secret_key_transform(params.get(), params.ternary(ternary), prime, out.data()));
    return new_array(std::move(out), {params.n()});
}

std::tuple<NewWords, NewWords> zero_encryption(const Params &params, const nb::bytes &ternary,
                                               const nb::bytes &seed, unsigned prime)
{
    std::vector<uint32_t> c0(params.n());
    std::vector<uint32_t> c1(params.n());
    check(cm_zero_encryption(params.get(), params.ternary(ternary), bytes_of(seed, CM_SEED_BYTES, "the seed"),
                             prime, c0.data(), c1.data()));
    return std::make_tuple(new_array(std::move(c0), {params.n()}), new_array(std::move(c1), {params.n()}));
}

/* ---- values ---- */

/*
 * The caller's array as cm_ckks_values: 1-D float32, int16 or int32; complex slots as interleaved pairs. The library
 * judges exponent and scale; here they must only keep their value in its 16 bits.
 */
cm_ckks_values values_of(const CkksValues &array, bool complex_slots, int exponent, int log2_scale,
                         int precision)
{
    if (exponent != static_cast<int16_t>(exponent) || log2_scale != static_cast<int16_t>(log2_scale)) {
        throw StatusError(CM_ERR_ARGUMENT);
    }
    cm_ckks_values values{};
    if (array.dtype() == nb::dtype<float>()) {
        values.number = CM_FLOAT32;
    } else if (array.dtype() == nb::dtype<int16_t>()) {
        values.number = CM_INT16;
    } else if (array.dtype() == nb::dtype<int32_t>()) {
        values.number = CM_INT32;
    } else {
        throw nb::type_error("values must be a float32, int16 or int32 array");
    }
    const size_t parts = complex_slots ? 2 : 1;
    if (array.shape(0) % parts != 0) {
        throw nb::value_error("complex values are pairs of numbers, so their number must be even");
    }
    if (array.shape(0) / parts > UINT32_MAX) {
        throw StatusError(CM_ERR_TOO_MANY);
    }
    static const uint32_t nothing = 0;
    values.data = array.shape(0) ? array.data() : &nothing;
    values.count = static_cast<uint32_t>(array.shape(0) / parts);
    values.slots = complex_slots ? CM_SLOTS_COMPLEX : CM_SLOTS_REAL;
    values.exponent = static_cast<int16_t>(exponent);
    values.log2_scale = static_cast<int16_t>(log2_scale);
    values.precision = static_cast<cm_precision>(precision);
    return values;
}

/* The n coefficients of the encoded polynomial. */
nb::ndarray<nb::numpy, int64_t> encode(const Params &params, const CkksValues &array, bool complex_slots,
                                       int exponent, int log2_scale, int precision)
{
    const cm_ckks_values values = values_of(array, complex_slots, exponent, log2_scale, precision);
    const size_t n = params.n();
    std::vector<uint64_t> data(CM_CKKS_MESSAGE_BYTES(n, CM_SLOTS_COMPLEX, CM_FIXED_63) / 8);
    cm_message message{};
    message.data = data.data();
    check(cm_encode(params.get(), &values, &message));
    auto at = [&](size_t i) -> int64_t {
        return values.precision == CM_FIXED_31 ? static_cast<const int32_t *>(message.data)[i]
                                               : static_cast<const int64_t *>(message.data)[i];
    };
    std::vector<int64_t> m(n);
    if (complex_slots) {
        for (size_t k = 0; k < n / 2; k++) {
            m[k] = at(2 * k);
            m[k + n / 2] = at(2 * k + 1);
        }
    } else {
        m[0] = at(0);
        m[n / 4] = at(1);
        m[3 * n / 4] = -at(1);
        for (size_t k = 1; k < n / 4; k++) {
            m[k] = at(2 * k);
            m[n - k] = -at(2 * k);
            m[n / 2 - k] = at(2 * k + 1);
            m[n / 2 + k] = -at(2 * k + 1);
        }
    }
    return new_array(std::move(m), {n});
}

/* The caller's array as cm_bfv_values: 1-D int16, int32, uint16 or uint32. The library judges all else. */
cm_bfv_values bfv_values_of(const BfvValues &array, uint32_t plain_modulus, int encoding, int width)
{
    cm_bfv_values values{};
    if (array.dtype() == nb::dtype<int16_t>()) {
        values.number = CM_INT16;
    } else if (array.dtype() == nb::dtype<int32_t>()) {
        values.number = CM_INT32;
    } else if (array.dtype() == nb::dtype<uint16_t>()) {
        values.number = CM_UINT16;
    } else if (array.dtype() == nb::dtype<uint32_t>()) {
        values.number = CM_UINT32;
    } else {
        throw nb::type_error("values must be an int16, int32, uint16 or uint32 array");
    }
    if (array.shape(0) > UINT32_MAX) {
        throw StatusError(CM_ERR_TOO_MANY);
    }
    static const uint32_t nothing = 0;
    values.data = array.shape(0) ? array.data() : &nothing;
    values.count = static_cast<uint32_t>(array.shape(0));
    values.encoding = static_cast<cm_bfv_encoding>(encoding);
    values.width = static_cast<cm_bfv_width>(width);
    values.plain_modulus = plain_modulus;
    return values;
}

/* (the n coefficients of the encoded polynomial, round(q m / t) at each data prime) */
std::tuple<NewWords, NewWords> bfv_encode(const Params &params, const BfvValues &array,
                                          uint32_t plain_modulus, int encoding, int width)
{
    const cm_bfv_values values = bfv_values_of(array, plain_modulus, encoding, width);
    const size_t n = params.n();
    const unsigned primes = params.get()->data_primes;
    std::vector<uint32_t> data(n);
    cm_plain plain{};
    cm_ring ring;
    plain.data = data.data();
    check(cm_plain_encode(params.get(), &values, &plain, &ring));
    std::vector<uint32_t> m(n);
    for (size_t i = 0; i < n; i++) {
        m[i] = cm_plain_residue(data.data(), plain.width, i, plain_modulus) % plain_modulus;
    }
    cm_plain_scale(params.get(), &plain);
    std::vector<uint32_t> scaled(primes * n);
    for (unsigned i = 0; i < primes; i++) {
        const cm_ring at_prime = params.ring(i);
        cm_plain_fold(&plain, &at_prime, scaled.data() + i * n);
        cm_reduce_all(scaled.data() + i * n, static_cast<uint32_t>(n), at_prime.prime);
    }
    return std::make_tuple(new_array(std::move(m), {n}), new_array(std::move(scaled), {primes, n}));
}

/* ---- the device ---- */

int append(void *context, const uint8_t *bytes, size_t length)
{
    auto *out = static_cast<std::vector<uint8_t> *>(context);
    out->insert(out->end(), bytes, bytes + length);
    return 0;
}

/* A device whose random source and persistent counter are Python callables. */
class Device
{
  public:
    using Random = nb::typed<nb::callable, nb::bytes(size_t)>;
    using CounterRead = nb::typed<nb::callable, uint64_t()>;
    using CounterWrite = nb::typed<nb::callable, nb::object(uint64_t)>;

    Device(const nb::bytes &secret, Random random, CounterRead counter_read, CounterWrite counter_write)
        : random_(std::move(random)), counter_read_(std::move(counter_read)),
          counter_write_(std::move(counter_write))
    {
        const cm_platform platform{draw, read, write, this};
        check(cm_device_init(&device_, bytes_of(secret, CM_DEVICE_SECRET_BYTES, "the device secret"),
                             &platform));
    }
    ~Device()
    {
        cm_device_wipe(&device_);
    }
    Device(const Device &) = delete;
    Device &operator=(const Device &) = delete;

    nb::bytes encrypt_symmetric(const Params &params, const nb::bytes &ternary, uint64_t key_id, int xof,
                                const CkksValues &array, int log2_scale, int precision, bool complex_slots,
                                int exponent, const std::string &format)
    {
        const cm_ckks_values values = values_of(array, complex_slots, exponent, log2_scale, precision);
        const cm_secret_key key{params.get(), key_id, params.ternary(ternary)};
        return run(format, [&](void *arena, size_t bytes, cm_emitter *emitter) {
            return cm_ckks_encrypt_symmetric(&device_, &key, static_cast<cm_xof_kind>(xof), &values, arena,
                                             bytes, emitter);
        });
    }

    /* public_key: [data prime][component][n] residues. */
    nb::bytes encrypt_asymmetric(const Params &params, const Words &public_key, uint64_t key_id,
                                 const CkksValues &array, int log2_scale, int precision, bool complex_slots,
                                 int exponent, const std::string &format)
    {
        const cm_ckks_values values = values_of(array, complex_slots, exponent, log2_scale, precision);
        cm_flat_public_key flat = flat_public_key(params, public_key);
        const cm_public_key key{params.get(), key_id, cm_flat_public_key_polynomial, &flat, nullptr};
        return run(format, [&](void *arena, size_t bytes, cm_emitter *emitter) {
            return cm_ckks_encrypt_asymmetric(&device_, &key, &values, arena, bytes, emitter);
        });
    }

    nb::bytes encrypt_bfv_symmetric(const Params &params, const nb::bytes &ternary, uint64_t key_id, int xof,
                                    const BfvValues &array, uint32_t plain_modulus, int encoding, int width,
                                    bool ntt_form, const std::string &format)
    {
        const cm_bfv_values values = bfv_values_of(array, plain_modulus, encoding, width);
        const cm_secret_key key{params.get(), key_id, params.ternary(ternary)};
        return run(format, [&](void *arena, size_t bytes, cm_emitter *emitter) {
            return cm_bfv_encrypt_symmetric(&device_, &key, static_cast<cm_xof_kind>(xof), &values,
                                            ntt_form ? CM_DOMAIN_NTT : CM_DOMAIN_COEFFICIENTS, arena, bytes,
                                            emitter);
        });
    }

    nb::bytes encrypt_bfv_asymmetric(const Params &params, const Words &public_key, uint64_t key_id,
                                     const BfvValues &array, uint32_t plain_modulus, int encoding, int width,
                                     bool ntt_form, const std::string &format)
    {
        const cm_bfv_values values = bfv_values_of(array, plain_modulus, encoding, width);
        cm_flat_public_key flat = flat_public_key(params, public_key);
        const cm_public_key key{params.get(), key_id, cm_flat_public_key_polynomial, &flat, nullptr};
        return run(format, [&](void *arena, size_t bytes, cm_emitter *emitter) {
            return cm_bfv_encrypt_asymmetric(&device_, &key, &values,
                                             ntt_form ? CM_DOMAIN_NTT : CM_DOMAIN_COEFFICIENTS, arena, bytes,
                                             emitter);
        });
    }

    std::tuple<nb::bytes, uint64_t> make_secret_key(const Params &params)
    {
        std::vector<uint8_t> ternary(CM_TERNARY_BYTES(params.n()));
        uint64_t key_id = 0;
        const cm_status status = cm_device_make_secret_key(&device_, params.get(), ternary.data(), &key_id);
        throw_again();
        check(status);
        auto made = std::make_tuple(to_bytes(ternary), key_id);
        cm_wipe(ternary.data(), ternary.size());
        return made;
    }

    nb::bytes emit_public_key(const Params &params, const nb::bytes &ternary, uint64_t key_id, int xof)
    {
        const uint8_t *packed = params.ternary(ternary);
        return run("frames", [&](void *arena, size_t bytes, cm_emitter *emitter) {
            return cm_device_emit_public_key(&device_, params.get(), packed, key_id,
                                             static_cast<cm_xof_kind>(xof), arena, bytes, emitter);
        });
    }

    void end_shared(cm_decryption *decryption, unsigned log2_noise)
    {
        const cm_status status = cm_ckks_decrypt_end_shared(decryption, &device_, log2_noise);
        throw_again();
        check(status);
    }

    /* For Python's garbage collector: the callables often refer to the device again. */
    int traverse(visitproc visit, void *arg) const
    {
        Py_VISIT(random_.ptr());
        Py_VISIT(counter_read_.ptr());
        Py_VISIT(counter_write_.ptr());
        return 0;
    }
    void forget_callables()
    {
        random_ = counter_read_ = counter_write_ = nb::object();
    }

  private:
    static cm_flat_public_key flat_public_key(const Params &params, const Words &public_key)
    {
        if (public_key.shape(0) != 2 * params.n() * params.get()->data_primes) {
            throw nb::value_error("a public key must have 2 n residues at each data prime");
        }
        return {public_key.data(), static_cast<uint32_t>(params.n())};
    }

    template <typename Encrypt> nb::bytes run(const std::string &format, Encrypt encrypt)
    {
        std::vector<uint8_t> out;
        std::vector<uint64_t> arena(
            CM_CKKS_ASYMMETRIC_ARENA_BYTES(size_t{1} << CM_CONFIG_MAX_LOG2_N, CM_SLOTS_COMPLEX, CM_FIXED_63) /
            8);
        const cm_sink sink{append, &out};
        cm_frame_writer frames;
        cm_seal_writer seal;
        cm_emitter *emitter = &frames.emitter;
        if (format == "frames") {
            cm_frame_writer_init(&frames, sink);
        } else if (format == "seal" || format == "seal_seeded") {
            cm_seal_writer_init(&seal, format == "seal" ? CM_SEAL_FULL : CM_SEAL_SEEDED, sink);
            emitter = &seal.emitter;
        } else {
            throw nb::value_error("the format is 'frames', 'seal' or 'seal_seeded'");
        }
        const cm_status status = encrypt(arena.data(), arena.size() * 8, emitter);
        throw_again();
        check(status);
        return to_bytes(out);
    }

    void throw_again()
    {
        if (error_) {
            std::exception_ptr error = std::exchange(error_, nullptr);
            std::rethrow_exception(error);
        }
    }

    /* C must not see an exception pass: it is kept, the callback reports failure, and run() throws it again. */
    template <typename Call> static int guarded(void *context, Call call)
    {
        auto *self = static_cast<Device *>(context);
        try {
            call(self);
            return 0;
        } catch (...) {
            self->error_ = std::current_exception();
            return -1;
        }
    }
    static int draw(void *context, uint8_t *out, size_t length)
    {
        return guarded(context, [&](Device *self) {
            const auto bytes = nb::cast<nb::bytes>(self->random_(length));
            std::memcpy(out, bytes_of(bytes, length, "what the random source returns"), length);
        });
    }
    static int read(void *context, uint64_t *value)
    {
        return guarded(context, [&](Device *self) { *value = nb::cast<uint64_t>(self->counter_read_()); });
    }
    static int write(void *context, uint64_t value)
    {
        return guarded(context, [&](Device *self) { self->counter_write_(value); });
    }

    cm_device device_{};
    nb::object random_;
    nb::object counter_read_;
    nb::object counter_write_;
    std::exception_ptr error_;
};

int device_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    return nb::inst_ready(self) ? nb::inst_ptr<Device>(self)->traverse(visit, arg) : 0;
}

int device_clear(PyObject *self)
{
    nb::inst_ptr<Device>(self)->forget_callables();
    return 0;
}

PyType_Slot device_slots[] = {{Py_tp_traverse, reinterpret_cast<void *>(device_traverse)},
                              {Py_tp_clear, reinterpret_cast<void *>(device_clear)},
                              {0, nullptr}};

/* ---- frames ---- */

/* A frame that passed every check, with bytes of its own. */
struct Frame {
    std::vector<uint8_t> bytes;
    cm_frame frame{};
    const Params *params;

    Frame(const Params &set, const nb::bytes &data) : params(&set)
    {
        const auto *begin = static_cast<const uint8_t *>(data.data());
        check(cm_frame_parse(begin, data.size(), set.get(), &frame));
        bytes.assign(begin, begin + frame.frame_bytes);
        check(cm_frame_parse(bytes.data(), bytes.size(), set.get(), &frame));
    }
    NewWords residues() const
    {
        std::vector<uint32_t> out(frame.residue_count);
        check(cm_frame_unpack(&frame, out.data()));
        const size_t count = out.size();
        return new_array(std::move(out), {count});
    }
    /* CKKS's; SEAL has 1 for BFV. */
    double scale() const
    {
        double value = 1;
        if (frame.info.scheme != CM_CKKS) {
            return value;
        }
        std::memcpy(&value, &frame.info.scale_or_t, sizeof value);
        return value;
    }
};

/* (bytes in the whole frame, 0 if more are needed to tell): how a reader finds where a frame ends. */
size_t frame_length(const Params &params, const nb::bytes &data)
{
    cm_frame frame;
    if (data.size() < CM_FRAME_HEADER_BYTES) {
        return 0;
    }
    check(cm_frame_parse_header(static_cast<const uint8_t *>(data.data()), data.size(), params.get(), &frame));
    return frame.frame_bytes;
}

/* One frame of residues, as a device's frame writer makes it. */
nb::bytes write_frame(const Params &params, int scheme, unsigned primes, unsigned log2_tiles, uint64_t key_id,
                      uint64_t counter, uint64_t scale_or_t, unsigned component, unsigned prime,
                      unsigned tile, const Words &residues)
{
    if (primes < 1 || primes > params.get()->data_primes || prime >= primes || component > 1 ||
        log2_tiles > 4 || tile >> log2_tiles || residues.shape(0) != params.n() >> log2_tiles) {
        throw nb::value_error("the parameter set has no such frame");
    }
    std::vector<uint8_t> out;
    cm_frame_writer writer;
    cm_frame_writer_init(&writer, {append, &out});
    cm_ciphertext_info &info = writer.emitter.info;
    info.params = params.get();
    info.scheme = static_cast<cm_scheme>(scheme);
    info.ntt_form = true;
    info.components = 2;
    info.primes = static_cast<uint8_t>(primes);
    info.log2_tiles = static_cast<uint8_t>(log2_tiles);
    info.key_id = key_id;
    info.counter = counter;
    info.scale_or_t = scale_or_t;
    check(writer.emitter.residues(&writer.emitter, component, prime, tile, residues.data()));
    return to_bytes(out);
}

/* ---- decryption on a device ---- */

/* A device's decryption of one ciphertext: an arena, a frame reader and what reads its residues. */
class Decryption
{
  public:
    template <typename T> using Array = nb::ndarray<nb::numpy, T>;
    using Numbers =
        std::variant<Array<float>, Array<int16_t>, Array<int32_t>, Array<uint16_t>, Array<uint32_t>>;

    /* batch or coefficients; sums: 24 or 32; number: a cm_number. */
    static std::unique_ptr<Decryption> bfv(const Params &params, const nb::bytes &ternary, uint64_t key_id,
                                           uint32_t plain_modulus, bool batch, int number, int sums,
                                           unsigned log2_tiles)
    {
        if (log2_tiles > 4 || (sums != 24 && sums != 32)) {
            throw StatusError(CM_ERR_ARGUMENT);
        }
        std::unique_ptr<Decryption> self(
            new Decryption(params, ternary, CM_BFV_DECRYPT_ARENA_BYTES(params.n(), sums, log2_tiles)));
        const cm_bfv_expected expected{batch ? CM_BFV_BATCH : CM_BFV_COEFFICIENTS,
                                       static_cast<cm_number>(number), static_cast<cm_bfv_sums>(sums),
                                       static_cast<uint8_t>(log2_tiles), plain_modulus};
        const cm_secret_key key = self->key(key_id);
        self->number_ = expected.number;
        self->values_ = params.n();
        self->begun(
            cm_bfv_decrypt_begin(&self->decryption_, &key, &expected, self->arena_.data(), self->bytes_));
        return self;
    }
    static std::unique_ptr<Decryption> bfv_noise(const Params &params, const nb::bytes &ternary,
                                                 uint64_t key_id, uint32_t plain_modulus, unsigned log2_tiles)
    {
        if (log2_tiles > 4) {
            throw StatusError(CM_ERR_ARGUMENT);
        }
        const size_t bytes = CM_BFV_NOISE_ARENA_BYTES(params.n(), params.get()->data_primes, log2_tiles);
        std::unique_ptr<Decryption> self(new Decryption(params, ternary, bytes));
        const cm_secret_key key = self->key(key_id);
        self->begun(cm_bfv_noise_begin(&self->decryption_, &key, plain_modulus, log2_tiles,
                                       self->arena_.data(), self->bytes_));
        return self;
    }
    static std::unique_ptr<Decryption> ckks(const Params &params, const nb::bytes &ternary, uint64_t key_id,
                                            bool complex_slots, int precision, int number, int exponent,
                                            unsigned log2_tiles, uint32_t largest)
    {
        const cm_slots slots = complex_slots ? CM_SLOTS_COMPLEX : CM_SLOTS_REAL;
        if (log2_tiles > 4) {
            throw StatusError(CM_ERR_ARGUMENT);
        }
        std::unique_ptr<Decryption> self(new Decryption(
            params, ternary, CM_CKKS_DECRYPT_ARENA_BYTES(params.n(), slots, precision, log2_tiles)));
        const cm_ckks_expected expected{slots,
                                        static_cast<cm_precision>(precision),
                                        static_cast<cm_number>(number),
                                        static_cast<int16_t>(exponent),
                                        static_cast<uint8_t>(log2_tiles),
                                        largest};
        const cm_secret_key key = self->key(key_id);
        self->number_ = expected.number;
        self->values_ = params.n() / (complex_slots ? 1 : 2);
        self->begun(
            cm_ckks_decrypt_begin(&self->decryption_, &key, &expected, self->arena_.data(), self->bytes_));
        return self;
    }
    ~Decryption()
    {
        cm_wipe(arena_.data(), arena_.size() * 8);
        cm_wipe(ternary_.data(), ternary_.size());
    }
    Decryption(const Decryption &) = delete;
    Decryption &operator=(const Decryption &) = delete;

    void feed(const nb::bytes &data)
    {
        check(cm_frame_reader_feed(&reader_, static_cast<const uint8_t *>(data.data()), data.size()));
    }
    Numbers end()
    {
        check(decryption_.scheme == CM_BFV ? cm_bfv_decrypt_end(&decryption_)
                                           : cm_ckks_decrypt_end(&decryption_));
        return values(values_);
    }
    Numbers end_shared(Device &device, unsigned log2_noise)
    {
        device.end_shared(&decryption_, log2_noise);
        return values(values_);
    }
    unsigned noise_budget()
    {
        unsigned bits;
        check(cm_bfv_noise_budget(&decryption_, &bits));
        return bits;
    }
    nb::bytes arena() const
    {
        return nb::bytes(arena_.data(), bytes_);
    }

  private:
    Decryption(const Params &params, const nb::bytes &ternary, size_t arena_bytes)
        : params_(&params), ternary_(CM_TERNARY_BYTES(params.n())), arena_((arena_bytes + 7) / 8),
          bytes_(arena_bytes)
    {
        std::memcpy(ternary_.data(), params.ternary(ternary), ternary_.size());
    }
    /* A reader takes a receiver that has begun. */
    void begun(cm_status status)
    {
        check(status);
        cm_frame_reader_init(&reader_, params_->get(), &decryption_.receiver);
    }
    cm_secret_key key(uint64_t key_id) const
    {
        return {params_->get(), key_id, ternary_.data()};
    }
    template <typename T> Numbers copied(size_t count) const
    {
        std::vector<T> out(count);
        std::memcpy(out.data(), arena_.data(), count * sizeof(T));
        return new_array(std::move(out), {count});
    }
    Numbers values(size_t count) const
    {
        switch (number_) {
        case CM_FLOAT32:
            return copied<float>(count);
        case CM_INT16:
            return copied<int16_t>(count);
        case CM_INT32:
            return copied<int32_t>(count);
        case CM_UINT16:
            return copied<uint16_t>(count);
        default:
            return copied<uint32_t>(count);
        }
    }

    const Params *params_;
    std::vector<uint8_t> ternary_;
    std::vector<uint64_t> arena_;
    size_t bytes_;
    cm_number number_ = CM_UINT32;
    size_t values_ = 0;
    cm_decryption decryption_{};
    cm_frame_reader reader_{};
};

std::tuple<nb::bytes, nb::bytes> derive_seeds(const nb::bytes &secret, const nb::bytes &randomness,
                                              uint64_t counter)
{
    cm_seeds seeds;
    cm_seeds_derive(bytes_of(secret, CM_DEVICE_SECRET_BYTES, "the device secret"),
                    bytes_of(randomness, 32, "the randomness"), counter, &seeds);
    return std::make_tuple(nb::bytes(seeds.public_seed, sizeof seeds.public_seed),
                           nb::bytes(seeds.secret_seed, sizeof seeds.secret_seed));
}

uint32_t crc32c(const nb::bytes &data, uint32_t crc)
{
    return cm_crc32c(crc, static_cast<const uint8_t *>(data.data()), data.size());
}

} // namespace

#endif
