// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "ciphermote/delivery.h"
#include "rns/expansion.h"
#include "rns/polynomials.h"
#include "rns/unpacking.h"

namespace ciphermote
{

namespace
{

// Whether the context computes with what these frames hold.
bool is_of(const Tables &t, const cm_ciphertext_info &info)
{
    const cm_params &params = *info.params;
    const std::uint64_t plain_modulus = info.scheme == CM_BFV ? info.plain_modulus : 0;
    if (params.log2_n != t.chain.log2_n || plain_modulus != t.chain.plain_modulus || info.primes > t.data()) {
        return false;
    }
    for (unsigned m = 0; m < info.primes; m++) {
        if (params.primes[m].q != t.prime(m).q) {
            return false;
        }
    }
    return true;
}

bool has_room(const Tables &t, unsigned primes, double scale)
{
    return t.integers || (scale >= 1 && std::log2(scale) < t.log2_modulus(primes));
}

// All parts in the order of their places.
std::vector<const Delivery::Part *> in_order(const Delivery &delivery)
{
    std::vector<const Delivery::Part *> parts;
    for (const Delivery::Part &part : delivery.parts()) {
        parts.push_back(&part);
    }
    std::sort(parts.begin(), parts.end(), [](const auto *a, const auto *b) { return a->place < b->place; });
    return parts;
}

std::span<const std::uint8_t> payload(std::span<const std::uint8_t> bytes, const Delivery::Part &part)
{
    return bytes.subspan(part.payload_at, part.payload_length);
}

void expand(const Tables &t, cm_xof_kind xof, const std::uint8_t *seed, Ciphertext &out)
{
    if (xof != CM_XOF_CHACHA20) {
        expand_as_seal(t, xof == CM_XOF_SHAKE256, seed, out.primes(), polynomial(out, 1, 0));
        return;
    }
    for (unsigned m = 0; m < out.primes(); m++) {
        expand_uniform(*t.kernels, seed, m, t.moduli[m], polynomial(out, 1, m));
    }
}

// Every field of the delivery fits the context.
cm_status check_fields(const Tables &t, const Delivery &delivery)
{
    const cm_ciphertext_info &info = delivery.first().info;
    if (delivery.status() != CM_OK) {
        return delivery.status();
    }
    if (delivery.set() != 0 || !is_of(t, info)) {
        return CM_ERR_PARAMS;
    }
    if (!has_room(t, info.primes, delivery.scale())) {
        return CM_ERR_SCALE;
    }
    return delivery.parts().size() == delivery.places() ? CM_OK : CM_ERR_FRAME_SHORT;
}

// The residues that frames hold, in the form that they have there. False if one is not below its prime.
bool unpack(const Tables &t, const Delivery &delivery, std::span<const std::uint8_t> bytes, Ciphertext &out)
{
    const std::vector<const Delivery::Part *> parts = in_order(delivery);
    const std::size_t tiles = std::size_t{1} << delivery.first().log2_tiles;
    std::size_t next = delivery.seeded() ? 1 : 0;
    Unpacking unpacking;
    for (unsigned component = 0; component < (delivery.seeded() ? 1u : out.components()); component++) {
        for (unsigned m = 0; m < out.primes(); m++) {
            unpacking.begin();
            for (std::size_t tile = 0; tile < tiles; tile++) {
                unpacking.add(payload(bytes, *parts[next++]));
            }
            if (!unpacking.end(t, m, polynomial(out, component, m))) {
                return false;
            }
        }
    }
    if (delivery.seeded()) {
        expand(t, delivery.first().info.xof, payload(bytes, *parts[0]).data(), out);
    }
    return true;
}

} // namespace

cm_status read_ciphertext(const std::shared_ptr<const Context> &context, const Delivery &delivery,
                          std::span<const std::uint8_t> bytes, Ciphertext &out)
{
    const Tables &t = tables_of(context);
    const cm_ciphertext_info &info = delivery.first().info;
    cm_status status = check_fields(t, delivery);
    if (status == CM_OK) {
        reshape(out, context, info.components, info.primes, delivery.scale());
        status = unpack(t, delivery, bytes, out) ? CM_OK : CM_ERR_RESIDUE;
    }
    if (status != CM_OK) {
        out = Ciphertext();
        return status;
    }
    for (unsigned i = 0; !info.ntt_form && i < info.components * info.primes; i++) {
        const unsigned m = i % info.primes;
        t.kernels->ntt_forward(polynomial(out, i / info.primes, m), t.prime(m));
    }
    return CM_OK;
}

} // namespace ciphermote
