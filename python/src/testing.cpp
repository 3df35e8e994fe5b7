/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ciphermote_testing: what the tests alone use of the C library, on the parameter sets and devices of
 * ciphermote._core, and of the hosted library. It is no part of the package.
 */
#include "library.h"

#include "rns/tables.h"

extern "C" {
#include "encode/bfv.h"
#include "encode/bfv_numbers.h"
#include "encode/ckks.h"
#include "scheme/seeds.h"
}

using namespace ciphermote;

namespace
{

/* The n coefficients of the encoded polynomial. */
nb::ndarray<nb::numpy, int64_t> encode(const Params &params, const CkksValues &array, bool complex_slots,
                                       int exponent, int log2_scale, int precision,
                                       const std::optional<double> &largest)
{
    const cm_ckks_values values =
        values_of(params.get(), array, complex_slots, exponent, log2_scale, precision, largest);
    const size_t n = params.n();
    std::vector<uint64_t> data(CM_CKKS_MESSAGE_BYTES(n, CM_SLOTS_COMPLEX, CM_FIXED_63) / 8);
    cmi_ckks_message message{};
    message.data = data.data();
    check(cmi_ckks_encode(params.get(), &values, &message));
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

/* (the n coefficients of the encoded polynomial, round(q m / t) at each data prime) */
std::tuple<NewWords, NewWords> bfv_encode(const Params &params, const BfvValues &array,
                                          uint32_t plain_modulus, int encoding, int width)
{
    const cm_bfv_values values = bfv_values_of(array, plain_modulus, encoding, width, std::nullopt);
    const size_t n = params.n();
    const unsigned primes = params.get()->data_primes;
    std::vector<uint32_t> data(n);
    cmi_plain plain{};
    cmi_ring ring;
    plain.data = data.data();
    check(cmi_plain_encode(params.get(), &values, nullptr, &plain, &ring));
    std::vector<uint32_t> m(n);
    for (size_t i = 0; i < n; i++) {
        m[i] = cmi_plain_residue(data.data(), plain.width, i, plain_modulus) % plain_modulus;
    }
    cmi_plain_scale(params.get(), &plain);
    std::vector<uint32_t> scaled(primes * n);
    for (unsigned i = 0; i < primes; i++) {
        const cmi_ring at_prime = params.ring(i);
        cmi_plain_fold(&plain, &at_prime, scaled.data() + i * n);
        cmi_reduce_all(scaled.data() + i * n, static_cast<uint32_t>(n), at_prime.prime);
    }
    return std::make_tuple(new_array(std::move(m), {n}), new_array(std::move(scaled), {primes, n}));
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
        self->start(key_id);
        self->number_ = expected.number;
        self->values_ = params.n();
        check(cm_bfv_expect(&self->decryptor_, &expected));
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
        self->start(key_id);
        check(cm_bfv_expect_noise(&self->decryptor_, plain_modulus, log2_tiles));
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
        self->start(key_id);
        self->number_ = expected.number;
        self->values_ = params.n() / (complex_slots ? 1 : 2);
        check(cm_ckks_expect(&self->decryptor_, &expected));
        return self;
    }
    ~Decryption()
    {
        cmi_wipe(arena_.data(), arena_.size() * 8);
        cmi_wipe(ternary_.data(), ternary_.size());
    }
    Decryption(const Decryption &) = delete;
    Decryption &operator=(const Decryption &) = delete;

    /* Before the first bytes. */
    void expect_tagged(const nb::bytes &key, uint32_t device, uint16_t epoch, uint64_t window,
                       uint64_t counter, const nb::bytes &random)
    {
        std::memcpy(result_key_, bytes_of(key, sizeof result_key_, "the result key"), sizeof result_key_);
        cm_frame_expected_init(&expected_, result_key_, device, epoch);
        expected_.window = window;
        expected_.counter = counter;
        std::memcpy(expected_.random, bytes_of(random, 8, "the random bytes"), 8);
        cm_frame_reader_expect(&decryptor_.reader, &expected_);
    }
    void feed(const nb::bytes &data)
    {
        check(cm_decryptor_feed(&decryptor_, static_cast<const uint8_t *>(data.data()), data.size()));
    }
    Numbers end()
    {
        check(decryptor_.decryption.scheme == CM_BFV ? cm_bfv_decrypt(&decryptor_)
                                                     : cm_ckks_decrypt(&decryptor_));
        return values(values_);
    }
    Numbers end_shared(Device &device, unsigned log2_noise)
    {
        device.decrypt_shared(&decryptor_, log2_noise);
        return values(values_);
    }
    unsigned noise_budget()
    {
        unsigned bits;
        check(cm_bfv_noise_budget(&decryptor_, &bits));
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
    void start(uint64_t key_id)
    {
        key_ = {params_->get(), key_id, ternary_.data()};
        const cm_decryptor_setup setup{arena_.data(), bytes_, nullptr, nullptr};
        check(cm_decryptor_init(&decryptor_, &key_, &setup));
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
    cm_secret_key key_{};
    cm_decryptor decryptor_{};
    uint8_t result_key_[CM_TAG_KEY_BYTES]{};
    cm_frame_expected expected_{};
};

std::tuple<nb::bytes, nb::bytes> derive_seeds(const nb::bytes &secret, const nb::bytes &randomness,
                                              uint64_t counter)
{
    cmi_seeds seeds;
    cmi_seeds_derive(bytes_of(secret, CM_DEVICE_SECRET_BYTES, "the device secret"),
                     bytes_of(randomness, 32, "the randomness"), counter, &seeds);
    return std::make_tuple(nb::bytes(seeds.public_seed, sizeof seeds.public_seed),
                           nb::bytes(seeds.secret_seed, sizeof seeds.secret_seed));
}

/* The evaluator's forward transform of coefficients, on an instruction set; reduces: halfway. */
NewWords
host_transform(const std::string &isa, uint32_t q, unsigned log2_n,
               const nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> &coefficients,
               bool reduces)
{
    const arch::kernels *kernels = arch::kernels_by_name(isa);
    const size_t n = size_t{1} << log2_n;
    if (!kernels || coefficients.size() != n) {
        throw std::invalid_argument("no such instruction set, or not n coefficients");
    }
    const Modulus modulus(q, log2_n, *kernels);
    arch::prime prime = modulus.prime();
    prime.reduces = reduces;
    words values(n);
    std::copy_n(coefficients.data(), n, reinterpret_cast<int32_t *>(values.data()));
    kernels->ntt_forward(values.data(), prime);
    return new_array(std::vector<uint32_t>(values.begin(), values.end()), {n});
}

/* Key switching's sums of digits [count, n] with one key of the same shape, centred: times 2^-32. */
NewWords host_key_sums(const std::string &isa, uint32_t q, unsigned log2_n,
                       const nb::ndarray<const int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu> &digits,
                       const nb::ndarray<const int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu> &key,
                       bool small)
{
    const arch::kernels *kernels = arch::kernels_by_name(isa.c_str());
    const size_t n = size_t{1} << log2_n, count = digits.shape(0);
    if (!kernels || digits.shape(1) != n || key.shape(0) != count || key.shape(1) != n || count > 31) {
        throw std::invalid_argument("no such instruction set, or not n values");
    }
    Modulus modulus(q, log2_n, *kernels);
    if (small) {
        modulus.expect_small_sums();
    }
    words copies(count * n), arranged(2 * count * n), sums(2 * n);
    std::copy_n(digits.data(), count * n, reinterpret_cast<int32_t *>(copies.data()));
    const uint32_t *pointers[31];
    const size_t lanes = kernels->lanes;
    for (size_t j = 0; j < count; j++) {
        pointers[j] = copies.data() + j * n;
        for (size_t i = 0; i < n; i++) {
            for (size_t c = 0; c < 2; c++) {
                arranged[((i / lanes * count + j) * 2 + c) * lanes + i % lanes] =
                    static_cast<uint32_t>(key(j, i));
            }
        }
    }
    uint32_t *const out[2] = {sums.data(), sums.data() + n};
    const auto length = static_cast<unsigned>(count);
    kernels->key_sums(out, {pointers, length, arranged.data(), length}, modulus.prime());
    return new_array(std::vector<uint32_t>(sums.begin(), sums.end()), {2, n});
}

} // namespace

NB_MODULE(ciphermote_testing, m)
{
    nb::module_::import_("ciphermote._core");
    register_errors();

    m.def(
        "fail", [](int status) { check(static_cast<cm_status>(status)); }, "status"_a,
        "Raise the error of a status.");
    m.def("encode", &encode, "params"_a, "values"_a, "complex_slots"_a, "exponent"_a, "log2_scale"_a,
          "precision"_a, "largest"_a = nb::none(), "The n coefficients of the encoded polynomial, int64.");
    m.def("bfv_encode", &bfv_encode, "params"_a, "values"_a, "plain_modulus"_a, "encoding"_a, "width"_a,
          "(the n coefficients of the encoded polynomial, round(q m / t) at each data prime), uint32.");
    m.def("host_transform", &host_transform, "isa"_a, "q"_a, "log2_n"_a, "coefficients"_a, "reduces"_a,
          "The evaluator's forward transform of int32 coefficients.");
    m.def("host_key_sums", &host_key_sums, "isa"_a, "q"_a, "log2_n"_a, "digits"_a, "key"_a, "small"_a,
          "Both of key switching's sums of int32 digits with one int32 key, times 2^-32.");
    m.def("derive_seeds", &derive_seeds, "secret"_a, "randomness"_a, "counter"_a,
          "(public seed, secret seed).");
    m.def("make_secret_key", &Device::make_secret_key, "device"_a, "params"_a, "(packed ternary, key id).");
    m.def("emit_public_key", &Device::emit_public_key, "device"_a, "params"_a, "ternary"_a, "key_id"_a,
          "xof"_a, "The frames of a public key.");
    nb::class_<Decryption>(m, "Decryption", "A device's decryption of one ciphertext.")
        .def_static("bfv", &Decryption::bfv, "params"_a, "ternary"_a, "key_id"_a, "plain_modulus"_a,
                    "batch"_a, "number"_a, "sums"_a, "log2_tiles"_a, nb::keep_alive<0, 1>())
        .def_static("ckks", &Decryption::ckks, "params"_a, "ternary"_a, "key_id"_a, "complex_slots"_a,
                    "precision"_a, "number"_a, "exponent"_a, "log2_tiles"_a, "largest"_a,
                    nb::keep_alive<0, 1>())
        .def_static("bfv_noise", &Decryption::bfv_noise, "params"_a, "ternary"_a, "key_id"_a,
                    "plain_modulus"_a, "log2_tiles"_a, nb::keep_alive<0, 1>())
        .def("expect_tagged", &Decryption::expect_tagged, "key"_a, "device"_a, "epoch"_a, "window"_a,
             "counter"_a, "random"_a, "Take frames of version 2 alone that answer this attempt.")
        .def("feed", &Decryption::feed, "data"_a, "Take bytes of the stream of frames.")
        .def("end", &Decryption::end, "The values.")
        .def("end_shared", &Decryption::end_shared, "device"_a, "log2_noise"_a,
             "The values of CKKS, flooded with noise.")
        .def("noise_budget", &Decryption::noise_budget, "In place of end, in bits: as secret as the key.")
        .def_prop_ro("arena", &Decryption::arena, "What the arena holds now, for tests.");
}
