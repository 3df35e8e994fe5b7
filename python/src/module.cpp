/* SPDX-License-Identifier: Apache-2.0 */
/* ciphermote._core: what the package uses of the C library. */
#include "library.h"

extern "C" {
#include "random/sample.h"
#include "random/xof.h"
#include "wire/tag.h"
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

template <class T> int device_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    return nb::inst_ready(self) ? nb::inst_ptr<T>(self)->traverse(visit, arg) : 0;
}

template <class T> int device_clear(PyObject *self)
{
    nb::inst_ptr<T>(self)->forget_callables();
    return 0;
}

template <class T>
PyType_Slot device_slots[] = {{Py_tp_traverse, reinterpret_cast<void *>(device_traverse<T>)},
                              {Py_tp_clear, reinterpret_cast<void *>(device_clear<T>)},
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
        std::memcpy(&value, &frame.info.scale_bits, sizeof value);
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

/* A tag key, device, epoch, window and random bytes: of frames of version 2. */
using Tagged = std::tuple<nb::bytes, uint32_t, uint16_t, uint64_t, nb::bytes>;

/* One frame of residues, as a device's frame writer makes it. */
nb::bytes write_frame(const Params &params, int scheme, unsigned primes, unsigned log2_tiles, uint64_t key_id,
                      uint64_t counter, uint64_t scale_or_modulus, unsigned component, unsigned prime,
                      unsigned tile, const Words &residues, const std::optional<Tagged> &tagged)
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
    info.scale_bits = scale_or_modulus;
    cm_frame_sender sender;
    if (tagged) {
        const auto &[key, device, epoch, window, random] = *tagged;
        cm_frame_sender_init(&sender, bytes_of(key, CM_TAG_KEY_BYTES, "the tag key"), device, epoch);
        cm_frame_sender_resume_window(&sender, window);
        std::memcpy(info.seed, bytes_of(random, 8, "the random bytes"), 8);
        cm_frame_writer_tag(&writer, &sender);
    }
    check(writer.emitter.residues(&writer.emitter, component, prime, tile, residues.data()));
    return to_bytes(out);
}

/* ---- the compact lane ---- */

using Values16 = nb::ndarray<const uint16_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/* A device of the compact lane, with its own copy of its keys. */
class CompactDevice : public Platform
{
  public:
    CompactDevice(unsigned set, const nb::bytes &ternary, const nb::bytes &material, uint32_t device,
                  uint16_t epoch, uint16_t largest_value, uint16_t packet_bytes, Random random,
                  CounterRead counter_read, CounterWrite counter_write)
        : Platform(std::move(random), std::move(counter_read), std::move(counter_write))
    {
        const cm_compact_set *found = set < 256 ? cm_compact_set_by_id(static_cast<uint8_t>(set)) : nullptr;
        check(found ? CM_OK : CM_ERR_PARAMS);
        const size_t n = size_t{1} << found->log2_n;
        ternary_.resize(CM_TERNARY_BYTES(n));
        std::memcpy(ternary_.data(), bytes_of(ternary, ternary_.size(), "the secret key"), ternary_.size());
        std::memcpy(material_, bytes_of(material, sizeof material_, "the key material"), sizeof material_);
        key_ = {found, ternary_.data(), material_, device, epoch, largest_value};
        arena_.resize((CM_COMPACT_TRANSFORM_ARENA_BYTES(n, size_t{found->prime_count}, n, packet_bytes) + 7) /
                      8);
        const cm_platform platform = callbacks();
        const cm_status status = cm_counter_init(&counter_, &platform);
        throw_again();
        check(status);
        const cm_compact_setup setup{&counter_,         {take, &packets_}, arena_.data(),
                                     arena_.size() * 8, packet_bytes,      nullptr};
        check(cm_compact_init(&encryptor_, &key_, &setup));
    }
    ~CompactDevice()
    {
        cmi_wipe(ternary_.data(), ternary_.size());
        cmi_wipe(material_, sizeof material_);
    }

    /* (the packets, the window's number) */
    std::tuple<std::vector<nb::bytes>, uint64_t> encrypt(const Values16 &values, size_t first,
                                                         uint64_t window)
    {
        expect_opener();
        if (values.shape(0) > UINT16_MAX || first > UINT16_MAX) {
            throw StatusError(CM_ERR_TOO_MANY);
        }
        static const uint16_t nothing = 0;
        packets_.clear();
        const cm_status status =
            cm_compact_encrypt(&encryptor_, values.shape(0) ? values.data() : &nothing,
                               static_cast<uint16_t>(first), static_cast<uint16_t>(values.shape(0)), &window);
        throw_again();
        check(status);
        std::vector<nb::bytes> packets;
        for (const std::vector<uint8_t> &packet : packets_) {
            packets.push_back(to_bytes(packet));
        }
        return {std::move(packets), window};
    }

  private:
    static int take(void *context, const uint8_t *bytes, size_t length)
    {
        static_cast<std::vector<std::vector<uint8_t>> *>(context)->emplace_back(bytes, bytes + length);
        return 0;
    }

    std::vector<uint8_t> ternary_;
    uint8_t material_[CM_COMPACT_MATERIAL_BYTES];
    cm_compact_key key_{};
    std::vector<uint64_t> arena_;
    std::vector<std::vector<uint8_t>> packets_;
    cm_counter counter_{};
    cm_compact_encryptor encryptor_{};
};

/* A compact packet whose fields are valid, with bytes of its own. Its tag is still to be checked. */
struct CompactPacket {
    std::vector<uint8_t> bytes;
    cm_compact_frame frame{};

    explicit CompactPacket(const nb::bytes &data)
    {
        const auto *begin = static_cast<const uint8_t *>(data.data());
        bytes.assign(begin, begin + data.size());
        const nb::gil_scoped_release released;
        check(cm_compact_frame_parse(bytes.data(), bytes.size(), &frame));
    }
    /* Whether the tag is that of the whole counter, of which counter_high is the upper half. */
    bool verify(const nb::bytes &tag_key, uint32_t counter_high) const
    {
        const uint8_t *key = bytes_of(tag_key, CM_TAG_KEY_BYTES, "the tag key");
        const nb::gil_scoped_release released;
        const cm_status status = cm_compact_frame_verify(&frame, key, counter_high);
        check(status == CM_ERR_FRAME_TAG ? CM_OK : status);
        return status == CM_OK;
    }
    nb::ndarray<nb::numpy, uint64_t> values() const
    {
        std::vector<uint64_t> out(frame.count);
        {
            const nb::gil_scoped_release released;
            cm_compact_frame_values(&frame, out.data());
        }
        return new_array(std::move(out), {frame.count});
    }
};

/* What a window's second polynomial is expanded from: the lane key's stream at counter and random bytes. */
/* The tag of a message. */
nb::bytes tag_of(const nb::bytes &key, const nb::bytes &message)
{
    const uint8_t *bytes = bytes_of(key, CM_TAG_KEY_BYTES, "the tag key");
    cmi_tagger tagger;
    cmi_stream stream;
    uint32_t position[4];
    cmi_tagger_init(&tagger, bytes + 32);
    cmi_tagger_update(&tagger, static_cast<const uint8_t *>(message.data()), message.size());
    cmi_tagger_finish(&tagger, position);
    cmi_stream_set_key(&stream, bytes);
    cmi_stream_at(&stream, position);
    nb::bytes tag(stream.block, CM_TAG_BYTES);
    cmi_wipe(&tagger, sizeof tagger);
    cmi_wipe(&stream, sizeof stream);
    return tag;
}

nb::bytes compact_seed(const nb::bytes &lane_key, uint64_t counter, const nb::bytes &random)
{
    const uint8_t *bytes = bytes_of(random, 8, "a window's random bytes");
    uint32_t position[4] = {static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32)};
    for (unsigned i = 0; i < 8; i++) {
        position[2 + i / 4] |= uint32_t{bytes[i]} << 8 * (i % 4);
    }
    cmi_stream stream;
    cmi_stream_set_key(&stream, bytes_of(lane_key, 32, "the lane key"));
    cmi_stream_at(&stream, position);
    return nb::bytes(stream.block, 32);
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
                       nb::type_slots(device_slots<Device>))
        .def(nb::init<const nb::bytes &, Device::Random, Device::CounterRead, Device::CounterWrite>(),
             "secret"_a, "random"_a, "counter_read"_a, "counter_write"_a)
        .def("encrypt_symmetric", &Device::encrypt_symmetric, "params"_a, "ternary"_a, "key_id"_a, "xof"_a,
             "values"_a, "log2_scale"_a, "precision"_a, "complex_slots"_a, "exponent"_a, "format"_a,
             "largest"_a = nb::none())
        .def("encrypt_asymmetric", &Device::encrypt_asymmetric, "params"_a, "public_key"_a, "key_id"_a,
             "values"_a, "log2_scale"_a, "precision"_a, "complex_slots"_a, "exponent"_a, "format"_a,
             "largest"_a = nb::none())
        .def("encrypt_bfv_symmetric", &Device::encrypt_bfv_symmetric, "params"_a, "ternary"_a, "key_id"_a,
             "xof"_a, "values"_a, "plain_modulus"_a, "encoding"_a, "width"_a, "ntt_form"_a, "format"_a,
             "largest"_a = nb::none())
        .def("encrypt_bfv_asymmetric", &Device::encrypt_bfv_asymmetric, "params"_a, "public_key"_a,
             "key_id"_a, "values"_a, "plain_modulus"_a, "encoding"_a, "width"_a, "ntt_form"_a, "format"_a,
             "largest"_a = nb::none())
        .def("tag_as", &Device::tag_as, "tag_key"_a, "device"_a, "epoch"_a,
             "From now on frames are tagged, and of this device in its epoch.")
        .def_prop_rw("window", &Device::window, &Device::set_window,
                     "The number of the window whose readings are encrypted next; 2^64 - 1: a new one.");

    m.def("write_frame", &write_frame, "params"_a, "scheme"_a, "primes"_a, "log2_tiles"_a, "key_id"_a,
          "counter"_a, "scale_or_modulus"_a, "component"_a, "prime"_a, "tile"_a, "residues"_a,
          "tagged"_a = nb::none(),
          "A frame of a ciphertext of two components in NTT form. tagged: key, device, epoch, window, random "
          "bytes.");
    nb::class_<Frame>(m, "Frame", "A frame that passed every check.")
        .def(nb::init<const Params &, const nb::bytes &>(), "params"_a, "data"_a, nb::keep_alive<1, 2>())
        .def("residues", &Frame::residues,
             "uint32 residues; raises FrameError if one is not below its prime.")
        .def_prop_ro("scheme", [](const Frame &f) { return static_cast<int>(f.frame.info.scheme); })
        .def_prop_ro("ntt_form", [](const Frame &f) { return f.frame.info.ntt_form; })
        .def_prop_ro("components", [](const Frame &f) { return f.frame.info.components; })
        .def_prop_ro("primes", [](const Frame &f) { return f.frame.info.primes; })
        .def_prop_ro("key_id", [](const Frame &f) { return f.frame.info.key_id; })
        .def_prop_ro("counter", [](const Frame &f) { return f.frame.info.counter; })
        .def_prop_ro("scale", &Frame::scale)
        .def_prop_ro(
            "plain_modulus",
            [](const Frame &f) { return f.frame.info.scheme == CM_BFV ? f.frame.info.plain_modulus : 0; })
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

    nb::class_<CompactDevice>(m, "CompactDevice", "A device of the compact lane.",
                              nb::type_slots(device_slots<CompactDevice>))
        .def(nb::init<unsigned, const nb::bytes &, const nb::bytes &, uint32_t, uint16_t, uint16_t, uint16_t,
                      Platform::Random, Platform::CounterRead, Platform::CounterWrite>(),
             "set"_a, "ternary"_a, "material"_a, "device"_a, "epoch"_a, "largest_value"_a, "packet_bytes"_a,
             "random"_a, "counter_read"_a, "counter_write"_a)
        .def("encrypt", &CompactDevice::encrypt, "values"_a.noconvert(), "first"_a = 0,
             "window"_a = CM_NEW_WINDOW, "(the packets, the window's number); values: uint16.");
    nb::class_<CompactPacket>(m, "CompactPacket", "A compact packet whose fields are valid, not yet its tag.")
        .def(nb::init<const nb::bytes &>(), "data"_a)
        .def("verify", &CompactPacket::verify, "tag_key"_a, "counter_high"_a,
             "Whether the tag is that of the counter whose upper half this is.")
        .def("values", &CompactPacket::values, "uint64 [count]: coefficients without their low bits.")
        .def_prop_ro("set", [](const CompactPacket &p) { return p.frame.set->id; })
        .def_prop_ro("epoch", [](const CompactPacket &p) { return p.frame.epoch; })
        .def_prop_ro("device", [](const CompactPacket &p) { return p.frame.device; })
        .def_prop_ro("counter_low", [](const CompactPacket &p) { return p.frame.counter_low; })
        .def_prop_ro("since_window", [](const CompactPacket &p) { return p.frame.since_window; })
        .def_prop_ro("random",
                     [](const CompactPacket &p) { return nb::bytes(p.frame.random, sizeof p.frame.random); })
        .def_prop_ro("first", [](const CompactPacket &p) { return p.frame.first; })
        .def_prop_ro("count", [](const CompactPacket &p) { return p.frame.count; });
    m.def("tag", &tag_of, "key"_a, "message"_a, "8 bytes, under a tag key of 48.");
    m.def("compact_seed", &compact_seed, "lane_key"_a, "counter"_a, "random"_a,
          "The seed of a window's second polynomial: 32 bytes.");
}
