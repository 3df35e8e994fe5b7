// SPDX-License-Identifier: Apache-2.0
/*
 * Ciphertexts that are in memory as they arrived, each loaded, its seed expanded, and added: SEAL's bytes
 * with SEAL's own expansion, and frames' payloads with ChaCha20. Both check every residue.
 */
#include "sums.h"

#include <algorithm>
#include <bit>
#include <random>

#include "operations.h"
#include "timing.h"

namespace
{

constexpr unsigned count = 1000;

using Payload = std::vector<std::uint8_t>;

// Residues as a frame packs them.
Payload packed(const std::vector<std::uint32_t> &residues, unsigned bits)
{
    Payload bytes(residues.size() * bits / 8);
    for (std::size_t i = 0; i < residues.size() * bits; i++) {
        bytes[i / 8] |= static_cast<std::uint8_t>((residues[i / bits] >> i % bits & 1) << i % 8);
    }
    return bytes;
}

// A symmetric ciphertext as it arrives: a seed, and a payload for each prime.
struct Frames {
    Payload seed;
    std::vector<Payload> payloads;

    static Frames make(const ciphermote::Chain &chain, std::mt19937_64 &random)
    {
        const std::size_t n = std::size_t{1} << chain.log2_n;
        Frames frames{Payload(32), {}};
        for (std::uint8_t &byte : frames.seed) {
            byte = static_cast<std::uint8_t>(random());
        }
        std::vector<std::uint32_t> residues(n);
        for (const std::uint32_t q : chain.data) {
            std::generate(residues.begin(), residues.end(),
                          [&] { return static_cast<std::uint32_t>(random() % q); });
            frames.payloads.push_back(packed(residues, static_cast<unsigned>(std::bit_width(q))));
        }
        return frames;
    }
};

std::vector<std::vector<seal::seal_byte>> saved_ciphertexts(const Seals &theirs)
{
    std::vector<std::vector<seal::seal_byte>> saved;
    for (unsigned i = 0; i < count; i++) {
        const auto fresh = theirs.encryptor.encrypt_symmetric(theirs.plain);
        std::vector<seal::seal_byte> bytes(
            static_cast<std::size_t>(fresh.save_size(seal::compr_mode_type::none)));
        bytes.resize(
            static_cast<std::size_t>(fresh.save(bytes.data(), bytes.size(), seal::compr_mode_type::none)));
        saved.push_back(std::move(bytes));
    }
    return saved;
}

} // namespace

void compare_sums(double seconds, const std::vector<std::string> &isas)
{
    const Pair pair = pair_of(Scheme::ckks, 12);
    const Seals theirs(pair, 1);
    const auto saved = saved_ciphertexts(theirs);
    std::vector<Frames> frames;
    std::mt19937_64 random(1);
    for (unsigned i = 0; i < count; i++) {
        frames.push_back(Frames::make(pair.chain, random));
    }
    std::vector<std::function<void()>> turns = {[&] {
        seal::Ciphertext sum, loaded;
        sum.load(theirs.context, saved[0].data(), saved[0].size());
        for (unsigned i = 1; i < count; i++) {
            loaded.load(theirs.context, saved[i].data(), saved[i].size());
            theirs.evaluator.add_inplace(sum, loaded);
        }
    }};
    for (const std::string &isa : isas) {
        const auto context = std::make_shared<const ciphermote::Context>(pair.chain, isa);
        turns.push_back([context, &frames] {
            ciphermote::Sum sum(context);
            for (const Frames &set : frames) {
                const std::vector<std::span<const std::uint8_t>> payloads(set.payloads.begin(),
                                                                          set.payloads.end());
                sum.add({ciphermote::Xof::chacha20, set.seed, 0x1p30}, payloads);
            }
            sum.total();
        });
    }
    const std::vector<double> times = in_turns(turns, seconds).medians;
    for (std::size_t i = 0; i < isas.size(); i++) {
        print_ratio("sum1000." + isas[i], times[0] / count, times[i + 1] / count,
                    "\"each\": \"one of 1000\"");
    }
}
