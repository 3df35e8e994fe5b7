/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C library for Python's modules, each of which includes this once. Thin by design: it checks shapes and
 * lengths, calls the library and turns statuses into exceptions; names and meanings are those of
 * core/include/ciphermote.
 */
#ifndef CIPHERMOTE_PYTHON_LIBRARY_H
#define CIPHERMOTE_PYTHON_LIBRARY_H

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

extern "C" {
#include "ciphermote/ciphermote.h"
#include "common/wipe.h"
#include "ring/ring.h"
}

namespace nb = nanobind;
using namespace nb::literals;

namespace ciphermote
{

using Values = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/* Values of any type: the call judges it. Numbers are the types that it takes, for the signature. */
template <typename... Numbers> struct ValuesOf : Values {
    ValuesOf() = default;
    explicit ValuesOf(const Values &values) : Values(values)
    {
    }
};

} // namespace ciphermote

template <typename... Numbers> struct nb::detail::type_caster<ciphermote::ValuesOf<Numbers...>> {
    NB_TYPE_CASTER(ciphermote::ValuesOf<Numbers...>,
                   union_name(make_caster<nb::ndarray<nb::numpy, Numbers>>::Name...))

    bool from_python(handle source, uint32_t flags, cleanup_list *cleanup) noexcept
    {
        make_caster<ciphermote::Values> caster;
        if (!caster.from_python(source, flags, cleanup)) {
            return false;
        }
        value = Value(caster.value);
        return true;
    }
};

namespace ciphermote
{

using CkksValues = ValuesOf<float, int16_t, int32_t, int64_t>;
using BfvValues = ValuesOf<int16_t, int32_t, uint16_t, uint32_t>;
using Words = nb::ndarray<const uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using NewWords = nb::ndarray<nb::numpy, uint32_t>;

/* A failed call. */
struct StatusError : std::runtime_error {
    cm_status status;
    explicit StatusError(cm_status s) : StatusError(s, cm_status_text(s))
    {
    }
    StatusError(cm_status s, const char *sentence) : std::runtime_error(sentence), status(s)
    {
    }
    /* The status as status.h writes it. */
    const char *name() const
    {
#define CM_NAME(status) \
    case status: \
        return #status;
        switch (status) {
            CM_NAME(CM_OK)
            CM_NAME(CM_ERR_ARGUMENT)
            CM_NAME(CM_ERR_PARAMS)
            CM_NAME(CM_ERR_ARENA)
            CM_NAME(CM_ERR_TOO_MANY)
            CM_NAME(CM_ERR_NOT_FINITE)
            CM_NAME(CM_ERR_VALUE_RANGE)
            CM_NAME(CM_ERR_RANDOM)
            CM_NAME(CM_ERR_COUNTER)
            CM_NAME(CM_ERR_SINK)
            CM_NAME(CM_ERR_UNSUPPORTED)
            CM_NAME(CM_ERR_FRAME_SHORT)
            CM_NAME(CM_ERR_FRAME_MAGIC)
            CM_NAME(CM_ERR_FRAME_VERSION)
            CM_NAME(CM_ERR_FRAME_FIELD)
            CM_NAME(CM_ERR_FRAME_CRC)
            CM_NAME(CM_ERR_RESIDUE)
            CM_NAME(CM_ERR_PLAIN_MODULUS)
            CM_NAME(CM_ERR_FRAME_ORDER)
            CM_NAME(CM_ERR_FRAME_FOREIGN)
            CM_NAME(CM_ERR_FRAME_SEED)
            CM_NAME(CM_ERR_FRAME_DOMAIN)
            CM_NAME(CM_ERR_SCALE)
            CM_NAME(CM_ERR_SHARED_NOISE)
            CM_NAME(CM_ERR_SESSIONS)
            CM_NAME(CM_ERR_EXPANDER)
            CM_NAME(CM_ERR_FRAME_TAG)
            CM_NAME(CM_ERR_UNRECEIPTED)
            CM_NAME(CM_ERR_PUBLIC_KEY)
        }
#undef CM_NAME
        return "";
    }
};

/* Failed calls of a module become the errors of ciphermote.base.errors. */
inline void register_errors()
{
    nb::object of_status = nb::module_::import_("ciphermote.base.errors").attr("of_status");
    nb::register_exception_translator(
        [](const std::exception_ptr &error, void *of_status) {
            try {
                std::rethrow_exception(error);
            } catch (const StatusError &failure) {
                const nb::handle make(static_cast<PyObject *>(of_status));
                const nb::object made = make(failure.name(), failure.what());
                PyErr_SetObject(made.type().ptr(), made.ptr());
            }
        },
        of_status.release().ptr());
}

inline void check(cm_status status)
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

inline const uint8_t *bytes_of(const nb::bytes &bytes, size_t expected, const char *what)
{
    if (bytes.size() != expected) {
        throw nb::value_error((std::string(what) + " must be " + std::to_string(expected) + " bytes, not " +
                               std::to_string(bytes.size()))
                                  .c_str());
    }
    return static_cast<const uint8_t *>(bytes.data());
}

inline nb::bytes to_bytes(const std::vector<uint8_t> &bytes)
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
    cmi_ring ring(unsigned prime) const
    {
        if (prime >= primes_.size()) {
            throw nb::index_error("the parameter set has no such prime");
        }
        cmi_ring ring;
        cmi_ring_init(&ring, &primes_[prime], params_.log2_n, NULL);
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

/* ---- values ---- */

/* The largest value that a scale has room for, in the precision and in a quarter of the modulus. */
inline float room_of(const cm_params *params, int log2_scale, int precision)
{
    double most = std::ldexp(1.0, precision == CM_FIXED_31 ? 29 : 58);
    double quarter = 0.25;
    for (unsigned i = 0; i < params->data_primes; i++) {
        quarter *= params->primes[i].q;
    }
    return std::nextafter(static_cast<float>(std::ldexp(std::min(most, quarter), -log2_scale)), 0.0f);
}

/* As a float, rounded up: what is not larger than the caller's number is not larger than this. */
inline float rounded_up(double largest)
{
    const auto rounded = static_cast<float>(largest);
    return rounded < largest ? std::nextafter(rounded, HUGE_VALF) : rounded;
}

/*
 * The caller's array as cm_ckks_values: 1-D float32, int16, int32 or int64; complex slots as interleaved
 * pairs. Without largest, it is what the scale has room for. The library judges exponent and scale; here they
 * must only keep their value in its 16 bits.
 */
inline cm_ckks_values values_of(const cm_params *params, const CkksValues &array, bool complex_slots,
                                int exponent, int log2_scale, int precision,
                                const std::optional<double> &largest)
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
    } else if (array.dtype() == nb::dtype<int64_t>()) {
        values.number = CM_INT64;
    } else {
        throw nb::type_error("values must be a float32, int16, int32 or int64 array");
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
    values.largest = largest ? rounded_up(*largest) : room_of(params, log2_scale, precision);
    return values;
}

/*
 * The caller's array as cm_bfv_values: 1-D int16, int32, uint16 or uint32. Without largest, it is t - 1. The
 * library judges all else.
 */
inline cm_bfv_values bfv_values_of(const BfvValues &array, uint32_t plain_modulus, int encoding, int width,
                                   const std::optional<uint32_t> &largest)
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
    values.largest = largest.value_or(plain_modulus - 1u);
    return values;
}

/* ---- the device ---- */

inline int append(void *context, const uint8_t *bytes, size_t length)
{
    auto *out = static_cast<std::vector<uint8_t> *>(context);
    out->insert(out->end(), bytes, bytes + length);
    return 0;
}

/* A platform whose random source and persistent counter are Python callables. */
class Platform
{
  public:
    using Random = nb::typed<nb::callable, nb::bytes(size_t)>;
    using CounterRead = nb::typed<nb::callable, uint64_t()>;
    using CounterWrite = nb::typed<nb::callable, nb::object(uint64_t)>;

    Platform(Random random, CounterRead counter_read, CounterWrite counter_write)
        : random_(std::move(random)), counter_read_(std::move(counter_read)),
          counter_write_(std::move(counter_write))
    {
    }
    Platform(const Platform &) = delete;
    Platform &operator=(const Platform &) = delete;

    cm_platform callbacks()
    {
        return {draw, read, write, this};
    }
    /* Behind a fork, two processes would use each counter. */
    void expect_opener() const
    {
        if (getpid() != opener_) {
            throw StatusError(CM_ERR_COUNTER, "The device was opened by another process, before a fork: open "
                                              "it in the process that uses it.");
        }
    }
    /* A callable's exception becomes the call's. */
    void throw_again()
    {
        if (error_) {
            std::exception_ptr error = std::exchange(error_, nullptr);
            std::rethrow_exception(error);
        }
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
    /* C must not see an exception pass: it is kept, the callback reports failure, and throw_again throws
       it. */
    template <typename Call> static int guarded(void *context, Call call)
    {
        auto *self = static_cast<Platform *>(context);
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
        return guarded(context, [&](Platform *self) {
            const auto bytes = nb::cast<nb::bytes>(self->random_(length));
            std::memcpy(out, bytes_of(bytes, length, "what the random source returns"), length);
        });
    }
    static int read(void *context, uint64_t *value)
    {
        return guarded(context, [&](Platform *self) { *value = nb::cast<uint64_t>(self->counter_read_()); });
    }
    static int write(void *context, uint64_t value)
    {
        return guarded(context, [&](Platform *self) { self->counter_write_(value); });
    }

    nb::object random_;
    nb::object counter_read_;
    nb::object counter_write_;
    pid_t opener_ = getpid();
    std::exception_ptr error_;
};

/* A device on a platform of Python callables. */
class Device : public Platform
{
  public:
    Device(const nb::bytes &secret, Random random, CounterRead counter_read, CounterWrite counter_write)
        : Platform(std::move(random), std::move(counter_read), std::move(counter_write))
    {
        const cm_platform platform = callbacks();
        check(cm_device_init(&device_, bytes_of(secret, CM_DEVICE_SECRET_BYTES, "the device secret"),
                             &platform));
    }
    ~Device()
    {
        cm_device_wipe(&device_);
        cmi_wipe(tag_key_, sizeof tag_key_);
    }

    nb::bytes encrypt_symmetric(const Params &params, const nb::bytes &ternary, uint64_t key_id, int xof,
                                const CkksValues &array, int log2_scale, int precision, bool complex_slots,
                                int exponent, const std::string &format, const std::optional<double> &largest)
    {
        const cm_ckks_values values =
            values_of(params.get(), array, complex_slots, exponent, log2_scale, precision, largest);
        const cm_secret_key key{params.get(), key_id, params.ternary(ternary)};
        return encrypt(cm_encryptor_init_symmetric, key, xof_of(xof), cm_ckks_encrypt, values, format);
    }

    /* public_key: [data prime][component][n] residues. */
    nb::bytes encrypt_asymmetric(const Params &params, const Words &public_key, uint64_t key_id,
                                 const CkksValues &array, int log2_scale, int precision, bool complex_slots,
                                 int exponent, const std::string &format,
                                 const std::optional<double> &largest)
    {
        const cm_ckks_values values =
            values_of(params.get(), array, complex_slots, exponent, log2_scale, precision, largest);
        cm_flat_public_key flat = flat_public_key(params, public_key);
        const cm_public_key key{params.get(), key_id, cm_flat_public_key_polynomial, &flat, nullptr};
        return encrypt(cm_encryptor_init_asymmetric, key, CM_XOF_NONE, cm_ckks_encrypt, values, format);
    }

    nb::bytes encrypt_bfv_symmetric(const Params &params, const nb::bytes &ternary, uint64_t key_id, int xof,
                                    const BfvValues &array, uint32_t plain_modulus, int encoding, int width,
                                    bool ntt_form, const std::string &format,
                                    const std::optional<uint32_t> &largest)
    {
        cm_bfv_values values = bfv_values_of(array, plain_modulus, encoding, width, largest);
        values.domain = ntt_form ? CM_DOMAIN_NTT : CM_DOMAIN_COEFFICIENTS;
        const cm_secret_key key{params.get(), key_id, params.ternary(ternary)};
        return encrypt(cm_encryptor_init_symmetric, key, xof_of(xof), cm_bfv_encrypt, values, format);
    }

    nb::bytes encrypt_bfv_asymmetric(const Params &params, const Words &public_key, uint64_t key_id,
                                     const BfvValues &array, uint32_t plain_modulus, int encoding, int width,
                                     bool ntt_form, const std::string &format,
                                     const std::optional<uint32_t> &largest)
    {
        cm_bfv_values values = bfv_values_of(array, plain_modulus, encoding, width, largest);
        values.domain = ntt_form ? CM_DOMAIN_NTT : CM_DOMAIN_COEFFICIENTS;
        cm_flat_public_key flat = flat_public_key(params, public_key);
        const cm_public_key key{params.get(), key_id, cm_flat_public_key_polynomial, &flat, nullptr};
        return encrypt(cm_encryptor_init_asymmetric, key, CM_XOF_NONE, cm_bfv_encrypt, values, format);
    }

    void tag_as(const nb::bytes &tag_key, uint32_t device, uint16_t epoch)
    {
        const uint8_t *bytes = bytes_of(tag_key, sizeof tag_key_, "the tag key");
        std::memcpy(tag_key_, bytes, sizeof tag_key_);
        cm_frame_sender_init(&sender_, tag_key_, device, epoch);
    }
    uint64_t window() const
    {
        return sender_.window;
    }
    void set_window(uint64_t window)
    {
        sender_.window = window;
    }

    std::tuple<nb::bytes, uint64_t> make_secret_key(const Params &params)
    {
        std::vector<uint8_t> ternary(CM_TERNARY_BYTES(params.n()));
        uint64_t key_id = 0;
        const cm_status status = cm_device_make_secret_key(&device_, params.get(), ternary.data(), &key_id);
        throw_again();
        check(status);
        auto made = std::make_tuple(to_bytes(ternary), key_id);
        cmi_wipe(ternary.data(), ternary.size());
        return made;
    }

    nb::bytes emit_public_key(const Params &params, const nb::bytes &ternary, uint64_t key_id, int xof)
    {
        const uint8_t *packed = params.ternary(ternary);
        return run("frames", xof_of(xof), [&](const cm_encryptor_setup &setup) {
            return cm_device_emit_public_key(&setup, params.get(), packed, key_id);
        });
    }

    void decrypt_shared(cm_decryptor *decryptor, unsigned log2_noise)
    {
        const cm_status status = cm_ckks_decrypt_shared(decryptor, &device_, log2_noise);
        throw_again();
        check(status);
    }

  private:
    static cm_flat_public_key flat_public_key(const Params &params, const Words &public_key)
    {
        if (public_key.shape(0) != 2 * params.n() * params.get()->data_primes) {
            throw nb::value_error("a public key must have 2 n residues at each data prime");
        }
        return {public_key.data(), static_cast<uint32_t>(params.n())};
    }

    /* Python has a default of its own; C's, which is 0, is a mistake here. */
    static cm_xof_kind xof_of(int xof)
    {
        const auto kind = static_cast<cm_xof_kind>(xof);
        check(kind == CM_XOF_NONE ? CM_ERR_ARGUMENT : CM_OK);
        return kind;
    }

    template <typename Init, typename Key, typename Encrypt, typename Values>
    nb::bytes encrypt(Init init, const Key &key, cm_xof_kind xof, Encrypt encrypt, const Values &values,
                      const std::string &format)
    {
        return run(format, xof, [&](const cm_encryptor_setup &setup) {
            cm_encryptor encryptor;
            const cm_status status = init(&encryptor, &key, &setup);
            return status == CM_OK ? encrypt(&encryptor, &values) : status;
        });
    }

    template <typename Encrypt> nb::bytes run(const std::string &format, cm_xof_kind xof, Encrypt encrypt)
    {
        expect_opener();
        std::vector<uint8_t> out;
        std::vector<uint64_t> arena(CM_CKKS_ASYMMETRIC_ARENA_BYTES(size_t{1} << CM_CONFIG_MAX_LOG2_N,
                                                                   CM_SLOTS_COMPLEX, CM_FIXED_63, 0) /
                                    8);
        const cm_sink sink{append, &out};
        cm_frame_writer frames;
        cm_seal_writer seal;
        cm_emitter *emitter = &frames.emitter;
        if (format == "frames") {
            cm_frame_writer_init(&frames, sink);
            cm_frame_writer_tag(&frames, sender_.tag_key ? &sender_ : nullptr);
        } else if (format == "seal" || format == "seal_seeded") {
            cm_seal_writer_init(&seal, format == "seal" ? CM_SEAL_FULL : CM_SEAL_SEEDED, sink);
            emitter = &seal.emitter;
        } else {
            throw nb::value_error("the format is 'frames', 'seal' or 'seal_seeded'");
        }
        const cm_encryptor_setup setup{&device_, emitter, arena.data(), arena.size() * 8, xof, 0};
        const cm_status status = encrypt(setup);
        throw_again();
        check(status);
        return to_bytes(out);
    }

    cm_device device_{};
    cm_frame_sender sender_{}; /* without a key: frames have no tags */
    uint8_t tag_key_[CM_TAG_KEY_BYTES];
};

} // namespace ciphermote

#endif
