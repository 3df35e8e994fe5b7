/* SPDX-License-Identifier: Apache-2.0 */
/* ciphermote._core: what the package uses of the C library. */
#include "library.h"

extern "C" {
#include "random/sample.h"
#include "random/xof.h"
}

using namespace ciphermote;

namespace
{

/* ---- ring ---- */

NewWords ntt_forward(const Params &params, unsigned prime, const Words &a)
{
    const cmi_ring ring = params.ring(prime);
    params.expect_polynomial(a);
    std::vector<uint32_t> out(a.data(), a.data() + a.shape(0));
    for (uint32_t &x : out) {
        x = cmi_reduce(x, ring.prime);
    }
    cmi_ntt_forward(out.data(), &ring);
    for (uint32_t &x : out) {
        x = cmi_reduce(x, ring.prime);
    }
    return new_array(std::move(out), {params.n()});
}

NewWords ntt_inverse(const Params &params, unsigned prime, const Words &a)
{
    const cmi_ring ring = params.ring(prime);
    params.expect_polynomial(a);
    std::vector<uint32_t> out(a.data(), a.data() + a.shape(0));
    for (uint32_t &x : out) {
        x = cmi_reduce(x, ring.prime);
    }
    cmi_ntt_inverse(out.data(), &ring);
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
    cmi_uniform uniform;
    cmi_uniform_init(&uniform, kind, bytes, params.get()->log2_n, primes);
    for (unsigned i = 0; i < primes; i++) {
        cmi_uniform_polynomial(&uniform, &params.get()->primes[i], i, out.data() + i * params.n());
    }
    return new_array(std::move(out), {primes, params.n()});
}

/* ---- keys ---- */

nb::bytes secret_key_generate(const Params &params, const nb::bytes &seed)
{
    std::vector<uint8_t> ternary(CM_TERNARY_BYTES(params.n()));
    check(cm_secret_key_generate(params.get(), bytes_of(seed, CM_SEED_BYTES, "the seed"), ternary.data()));
    nb::bytes result = to_bytes(ternary);
    cmi_wipe(ternary.data(), ternary.size());
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
    check(
        cm_frame_parse_header(static_cast<const uint8_t *>(data.data()), data.size(), params.get(), &frame));
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

uint32_t crc32c(const nb::bytes &data, uint32_t crc)
{
    return cm_crc32c(crc, static_cast<const uint8_t *>(data.data()), data.size());
}

} // namespace

NB_MODULE(_core, m)
{
    m.doc() = "Bindings of the C library; the package's other modules are what users call.";

    register_errors();

    nb::class_<Params>(m, "Params", "A parameter set as the C library sees it.")
        .def(
            nb::init<std::string, uint32_t, unsigned, unsigned, unsigned, const std::vector<Params::Row> &>(),
            "name"_a, "id"_a, "log2_n"_a, "data_primes"_a, "log2_q_data"_a, "rows"_a);

    m.def("ntt_forward", &ntt_forward, "params"_a, "prime"_a, "a"_a,
          "Residues of the transform, in SEAL's order.");
    m.def("ntt_inverse", &ntt_inverse, "params"_a, "prime"_a, "a"_a, "Residues of the inverse transform.");
    m.def("expand_seed", &expand_seed, "params"_a, "xof"_a, "seed"_a, "primes"_a,
          "The uniform polynomial of a public seed: uint32 [primes, n].");
    m.def("secret_key_generate", &secret_key_generate, "params"_a, "seed"_a,
          "A packed ternary secret: n/4 bytes.");
    m.def("secret_key_residues", &secret_key_residues, "params"_a, "ternary"_a, "prime"_a,
          "The secret's residues at one prime, NTT form.");
    m.def("secret_key_transform", &secret_key_transform, "params"_a, "ternary"_a, "prime"_a,
          "The secret at one prime as a device with CM_CONFIG_TRANSFORMED_SECRET holds it.");
    m.def("zero_encryption", &zero_encryption, "params"_a, "ternary"_a, "seed"_a, "prime"_a,
          "(c0, c1) of an encryption of zero at one prime, NTT form.");
    m.def("crc32c", &crc32c, "data"_a, "crc"_a = 0, "The CRC-32C of bytes, continuing from crc.");
    m.def("frame_length", &frame_length, "params"_a, "data"_a,
          "Bytes of the frame that begins here, from its header; 0 if the header is not whole yet.");

    nb::class_<Device>(m, "Device", "A device whose platform is Python callables.",
                       nb::type_slots(device_slots))
        .def(nb::init<const nb::bytes &, Device::Random, Device::CounterRead, Device::CounterWrite>(),
             "secret"_a, "random"_a, "counter_read"_a, "counter_write"_a)
        .def("encrypt_symmetric", &Device::encrypt_symmetric, "params"_a, "ternary"_a, "key_id"_a, "xof"_a,
             "values"_a, "log2_scale"_a, "precision"_a, "complex_slots"_a, "exponent"_a, "format"_a)
        .def("encrypt_asymmetric", &Device::encrypt_asymmetric, "params"_a, "public_key"_a, "key_id"_a,
             "values"_a, "log2_scale"_a, "precision"_a, "complex_slots"_a, "exponent"_a, "format"_a)
        .def("encrypt_bfv_symmetric", &Device::encrypt_bfv_symmetric, "params"_a, "ternary"_a, "key_id"_a,
             "xof"_a, "values"_a, "plain_modulus"_a, "encoding"_a, "width"_a, "ntt_form"_a, "format"_a)
        .def("encrypt_bfv_asymmetric", &Device::encrypt_bfv_asymmetric, "params"_a, "public_key"_a,
             "key_id"_a, "values"_a, "plain_modulus"_a, "encoding"_a, "width"_a, "ntt_form"_a, "format"_a);

    m.def("write_frame", &write_frame, "params"_a, "scheme"_a, "primes"_a, "log2_tiles"_a, "key_id"_a,
          "counter"_a, "scale_or_t"_a, "component"_a, "prime"_a, "tile"_a, "residues"_a,
          "A frame of a ciphertext of two components in NTT form.");
    nb::class_<Frame>(m, "Frame", "A frame that passed every check.")
        .def(nb::init<const Params &, const nb::bytes &>(), "params"_a, "data"_a, nb::keep_alive<1, 2>())
        .def("residues", &Frame::residues, "uint32 residues; FrameError if one is not below its prime.")
        .def_prop_ro("scheme", [](const Frame &f) { return static_cast<int>(f.frame.info.scheme); })
        .def_prop_ro("ntt_form", [](const Frame &f) { return f.frame.info.ntt_form; })
        .def_prop_ro("components", [](const Frame &f) { return f.frame.info.components; })
        .def_prop_ro("primes", [](const Frame &f) { return f.frame.info.primes; })
        .def_prop_ro("key_id", [](const Frame &f) { return f.frame.info.key_id; })
        .def_prop_ro("counter", [](const Frame &f) { return f.frame.info.counter; })
        .def_prop_ro("scale", &Frame::scale)
        .def_prop_ro(
            "plain_modulus",
            [](const Frame &f) { return f.frame.info.scheme == CM_BFV ? f.frame.info.scale_or_t : 0; })
        .def_prop_ro("xof", [](const Frame &f) { return static_cast<int>(f.frame.info.xof); })
        .def_prop_ro("is_seed", [](const Frame &f) { return f.frame.payload == CM_PAYLOAD_SEED; })
        .def_prop_ro("seed",
                     [](const Frame &f) {
                         return nb::bytes(f.frame.info.seed, cm_public_seed_bytes(f.frame.info.xof));
                     })
        .def_prop_ro("component", [](const Frame &f) { return f.frame.component; })
        .def_prop_ro("prime", [](const Frame &f) { return f.frame.prime; })
        .def_prop_ro("log2_tiles", [](const Frame &f) { return f.frame.log2_tiles; })
        .def_prop_ro("tile", [](const Frame &f) { return f.frame.tile; })
        .def_prop_ro("length", [](const Frame &f) { return f.frame.frame_bytes; });
}
