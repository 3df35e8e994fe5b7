// SPDX-License-Identifier: Apache-2.0
// Deliveries of frames, as a gateway reads them. The last line says "N passed, N failed".
#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "check.h"
#include "ciphermote/delivery.h"
#include "ciphermote/params.h"
#include "inputs.h"

extern "C" {
#include "random/sample.h"
}

cm_checks cm_check_state;

namespace
{

using namespace ciphermote;
using namespace ciphermote::testing;
using Bytes = std::vector<std::uint8_t>;

constexpr std::uint64_t key_id = 77;

int append(void *context, const std::uint8_t *bytes, std::size_t length)
{
    auto *out = static_cast<Bytes *>(context);
    out->insert(out->end(), bytes, bytes + length);
    return 0;
}

// A ciphertext of known residues, and the frames that it is sent in.
struct Sent {
    const cm_params *params;
    std::vector<std::uint32_t> residues; // [components that are sent][primes][n]
    cm_xof_kind xof;
    std::vector<Bytes> frames;

    Bytes joined() const
    {
        Bytes all;
        for (const Bytes &frame : frames) {
            all.insert(all.end(), frame.begin(), frame.end());
        }
        return all;
    }
};

cm_ciphertext_info header(const cm_params *params, cm_xof_kind xof, unsigned log2_tiles, bool ntt_form)
{
    cm_ciphertext_info info{};
    const double scale = 0x1p20;
    info.params = params;
    info.scheme = ntt_form ? CM_CKKS : CM_BFV;
    info.ntt_form = ntt_form;
    info.components = 2;
    info.primes = params->data_primes;
    info.log2_tiles = static_cast<std::uint8_t>(log2_tiles);
    info.xof = xof;
    info.key_id = key_id;
    info.counter = 5;
    info.plain_modulus = 12289;
    if (ntt_form) {
        std::memcpy(&info.scale_bits, &scale, sizeof scale);
    }
    for (std::size_t i = 0; i < cm_public_seed_bytes(xof); i++) {
        info.seed[i] = static_cast<std::uint8_t>(i + 1);
    }
    return info;
}

Sent send(const cm_ciphertext_info &info, Inputs &inputs)
{
    const cm_params *params = info.params;
    const std::size_t n = std::size_t{1} << params->log2_n, tile_words = n >> info.log2_tiles;
    std::vector<std::uint32_t> primes;
    for (unsigned m = 0; m < info.primes; m++) {
        primes.push_back(params->primes[m].q);
    }
    const unsigned polynomials = info.xof == CM_XOF_NONE ? 2 : 1;
    Sent sent{params, inputs.polynomials(polynomials, primes, n), info.xof, {}};
    Bytes piece;
    cm_frame_writer writer;
    cm_frame_writer_init(&writer, {append, &piece});
    writer.emitter.info = info;
    const auto take = [&] {
        if (!piece.empty()) {
            sent.frames.push_back(std::move(piece));
        }
        piece.clear();
    };
    CHECK(writer.emitter.begin(&writer.emitter, &writer.emitter.info) == CM_OK);
    take();
    for (unsigned component = 0; component < polynomials; component++) {
        for (unsigned m = 0; m < info.primes; m++) {
            for (unsigned tile = 0; tile < 1u << info.log2_tiles; tile++) {
                const std::size_t at = (component * info.primes + m) * n + tile * tile_words;
                CHECK(writer.emitter.residues(&writer.emitter, component, m, tile,
                                              sent.residues.data() + at) == CM_OK);
                take();
            }
        }
    }
    CHECK(writer.emitter.end(&writer.emitter) == CM_OK);
    take();
    return sent;
}

std::shared_ptr<const Context> context_of(const cm_params *params, std::uint32_t plain_modulus)
{
    Chain chain{params->log2_n, {}, {}, 1, plain_modulus};
    for (unsigned m = 0; m < params->data_primes; m++) {
        chain.data.push_back(params->primes[m].q);
    }
    return std::make_shared<const Context>(Insecure{chain});
}

cm_status read(const Sent &sent, const Bytes &bytes, const std::shared_ptr<const Context> &context,
               Ciphertext &out)
{
    Delivery delivery;
    delivery.read(sent.params, nullptr, 0, bytes);
    return read_ciphertext(context, delivery, bytes, out);
}

// What is sent is read, in whatever order it comes.
void a_ciphertext_is_read_as_it_was_sent(const cm_params *params, cm_xof_kind xof, unsigned log2_tiles,
                                         bool ntt_form)
{
    Inputs inputs(log2_tiles + 1);
    Sent sent = send(header(params, xof, log2_tiles, ntt_form), inputs);
    const auto context = context_of(params, ntt_form ? 0 : 12289);
    Ciphertext found;
    std::minstd_rand order(3);
    std::shuffle(sent.frames.begin(), sent.frames.end(), order);
    if (!CHECK(read(sent, sent.joined(), context, found) == CM_OK) || !CHECK(!found.empty())) {
        return;
    }
    const std::vector<std::uint32_t> whole =
        ntt_form ? std::vector<std::uint32_t>(found.residues().begin(), found.residues().end())
                 : found.coefficients();
    CHECK(std::equal(sent.residues.begin(), sent.residues.end(), whole.begin()));
    CHECK(found.components() == 2 && found.primes() == params->data_primes);
    CHECK(found.scale() == (ntt_form ? 0x1p20 : 1.0));
    if (xof != CM_XOF_NONE) {
        cmi_uniform uniform;
        const cm_ciphertext_info info = header(params, xof, log2_tiles, ntt_form);
        const std::size_t n = std::size_t{1} << params->log2_n;
        cmi_uniform_init(&uniform, xof, info.seed, params->log2_n, params->data_primes);
        std::vector<std::uint32_t> expanded(n);
        for (unsigned m = 0; m < params->data_primes; m++) {
            cmi_uniform_polynomial(&uniform, &params->primes[m], m, expanded.data());
            CHECK(std::equal(expanded.begin(), expanded.end(),
                             whole.begin() + static_cast<std::ptrdiff_t>((params->data_primes + m) * n)));
        }
    }
    // Memory of the same shape is written again.
    const std::uint32_t *before = found.residues().data();
    CHECK(read(sent, sent.joined(), context, found) == CM_OK && found.residues().data() == before);
}

void what_is_no_whole_ciphertext_is_refused()
{
    const cm_params *params = &cm_n1024_q26;
    Inputs inputs(1);
    const Sent sent = send(header(params, CM_XOF_CHACHA20, 1, true), inputs);
    const auto context = context_of(params, 0);
    Ciphertext out;
    const Bytes whole = sent.joined();
    CHECK(read(sent, {}, context, out) == CM_ERR_FRAME_SHORT);
    for (std::size_t missing = 0; missing < sent.frames.size(); missing++) {
        Sent part = sent;
        part.frames.erase(part.frames.begin() + static_cast<std::ptrdiff_t>(missing));
        CHECK(read(part, part.joined(), context, out) == CM_ERR_FRAME_SHORT);
        part = sent;
        part.frames.push_back(sent.frames[missing]);
        CHECK(read(part, part.joined(), context, out) == CM_ERR_FRAME_ORDER);
    }
    Bytes cut(whole.begin(), whole.end() - 1);
    CHECK(read(sent, cut, context, out) != CM_OK);
    for (std::size_t at = 0; at < whole.size(); at += 97) {
        Bytes damaged = whole;
        damaged[at] ^= 0x10;
        CHECK(read(sent, damaged, context, out) != CM_OK);
    }
    cm_ciphertext_info info = header(params, CM_XOF_CHACHA20, 1, true);
    info.counter++;
    Sent mixed = sent;
    mixed.frames.back() = send(info, inputs).frames.back();
    CHECK(read(mixed, mixed.joined(), context, out) == CM_ERR_FRAME_FOREIGN);
}

void what_the_context_does_not_compute_with_is_refused()
{
    Inputs inputs(2);
    const Sent sent = send(header(&cm_n1024_q26, CM_XOF_CHACHA20, 0, true), inputs);
    Ciphertext out;
    CHECK(read(sent, sent.joined(), context_of(&cm_n1024_q26, 12289), out) == CM_ERR_PARAMS);
    CHECK(read(sent, sent.joined(), context_of(&cm_n2048_q26_p27, 0), out) == CM_ERR_PARAMS);
    cm_ciphertext_info info = header(&cm_n1024_q26, CM_XOF_CHACHA20, 0, true);
    const double scale = 0x1p27;
    std::memcpy(&info.scale_bits, &scale, sizeof scale);
    const Sent large = send(info, inputs);
    const cm_status status = read(large, large.joined(), context_of(&cm_n1024_q26, 0), out);
    CHECK(status == CM_ERR_SCALE || status == CM_ERR_FRAME_FIELD);
    CHECK(out.empty());
}

void a_residue_that_is_not_below_its_prime_is_refused()
{
    const cm_params *params = &cm_n1024_q26;
    const std::uint32_t q = params->primes[0].q;
    cm_ciphertext_info info = header(params, CM_XOF_NONE, 0, true);
    Bytes bytes;
    cm_frame_writer writer;
    cm_frame_writer_init(&writer, {append, &bytes});
    writer.emitter.info = info;
    CHECK(writer.emitter.begin(&writer.emitter, &writer.emitter.info) == CM_OK);
    std::vector<std::uint32_t> residues(1024, q - 1);
    residues[1023] = q; // 26 bits hold it
    CHECK(writer.emitter.residues(&writer.emitter, 0, 0, 0, residues.data()) == CM_OK);
    residues[1023] = 0;
    CHECK(writer.emitter.residues(&writer.emitter, 1, 0, 0, residues.data()) == CM_OK);
    const auto context = context_of(params, 0);
    Ciphertext out(context, 2, 1, 1, std::vector<std::uint32_t>(2 * 1024, 1));
    const Sent sent{params, {}, CM_XOF_NONE, {bytes}};
    CHECK(read(sent, bytes, context, out) == CM_ERR_RESIDUE);
    CHECK(out.empty());
}

} // namespace

int main()
{
    cm_check_state.topic = "intake";
    for (const cm_params *params : {&cm_n1024_q26, &cm_n4096_q26x3_p27}) {
        for (const cm_xof_kind xof : {CM_XOF_NONE, CM_XOF_BLAKE2XB, CM_XOF_SHAKE256, CM_XOF_CHACHA20}) {
            for (unsigned log2_tiles = 0; log2_tiles <= 4; log2_tiles++) {
                BEHAVIOUR("a ciphertext is read as it was sent");
                a_ciphertext_is_read_as_it_was_sent(params, xof, log2_tiles, true);
            }
            BEHAVIOUR("a ciphertext in coefficients is read as it was sent");
            a_ciphertext_is_read_as_it_was_sent(params, xof, 0, false);
        }
    }
    RUN(what_is_no_whole_ciphertext_is_refused);
    RUN(what_the_context_does_not_compute_with_is_refused);
    RUN(a_residue_that_is_not_below_its_prime_is_refused);
    return cm_check_summary();
}
