/* ciphermote._core: what the package uses of the C library. */
#include "library.h"

NB_MODULE(_core, m)
{
    m.doc() = "Bindings of the C library; the package's other modules are what users call.";

    /* The exception's arguments: the status and its sentence. */
    nb::object status_error =
        nb::steal(PyErr_NewException("ciphermote._core.StatusError", PyExc_RuntimeError, nullptr));
    m.attr("StatusError") = status_error;
    nb::register_exception_translator(
        [](const std::exception_ptr &error, void *type) {
            try {
                std::rethrow_exception(error);
            } catch (const StatusError &failure) {
                PyErr_SetObject(static_cast<PyObject *>(type),
                                nb::make_tuple(static_cast<int>(failure.status), failure.what()).ptr());
            }
        },
        status_error.ptr());

    nb::class_<Params>(m, "Params", "A parameter set as the C library sees it.")
        .def(nb::init<std::string, uint32_t, unsigned, unsigned, unsigned, const std::vector<Params::Row> &>(),
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
    m.def("encode", &encode, "params"_a, "values"_a, "complex_slots"_a, "exponent"_a, "log2_scale"_a,
          "precision"_a, "The n coefficients of the encoded polynomial, int64.");
    m.def("bfv_encode", &bfv_encode, "params"_a, "values"_a, "plain_modulus"_a, "encoding"_a, "width"_a,
          "(the n coefficients of the encoded polynomial, round(q m / t) at each data prime), uint32.");
    m.def("derive_seeds", &derive_seeds, "secret"_a, "randomness"_a, "counter"_a,
          "(public seed, secret seed).");
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
             "key_id"_a, "values"_a, "plain_modulus"_a, "encoding"_a, "width"_a, "ntt_form"_a, "format"_a)
        .def("make_secret_key", &Device::make_secret_key, "params"_a, "(packed ternary, key id).")
        .def("emit_public_key", &Device::emit_public_key, "params"_a, "ternary"_a, "key_id"_a, "xof"_a,
             "The frames of a public key.");

    m.def("write_frame", &write_frame, "params"_a, "scheme"_a, "primes"_a, "log2_tiles"_a, "key_id"_a,
          "counter"_a, "scale_or_t"_a, "component"_a, "prime"_a, "tile"_a, "residues"_a,
          "A frame of a ciphertext of two components in NTT form.");
    nb::class_<Decryption>(m, "Decryption", "A device's decryption of one ciphertext.")
        .def_static("bfv", &Decryption::bfv, "params"_a, "ternary"_a, "key_id"_a, "plain_modulus"_a,
                    "batch"_a, "number"_a, "sums"_a, "log2_tiles"_a, nb::keep_alive<0, 1>())
        .def_static("ckks", &Decryption::ckks, "params"_a, "ternary"_a, "key_id"_a, "complex_slots"_a,
                    "precision"_a, "number"_a, "exponent"_a, "log2_tiles"_a, "largest"_a,
                    nb::keep_alive<0, 1>())
        .def_static("bfv_noise", &Decryption::bfv_noise, "params"_a, "ternary"_a, "key_id"_a,
                    "plain_modulus"_a, "log2_tiles"_a, nb::keep_alive<0, 1>())
        .def("feed", &Decryption::feed, "data"_a, "Take bytes of the stream of frames.")
        .def("end", &Decryption::end, "The values.")
        .def("end_shared", &Decryption::end_shared, "device"_a, "log2_noise"_a,
             "The values of CKKS, flooded with noise.")
        .def("noise_budget", &Decryption::noise_budget, "In place of end, in bits: as secret as the key.")
        .def_prop_ro("arena", &Decryption::arena, "What the arena holds now, for tests.");

    nb::class_<Frame>(m, "Frame", "A frame that passed every check.")
        .def(nb::init<const Params &, const nb::bytes &>(), "params"_a, "data"_a, nb::keep_alive<1, 2>())
        .def("residues", &Frame::residues, "uint32 residues; StatusError if one is not below its prime.")
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
