// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string>

#include "owner/secrets.h"

namespace ciphermote
{

struct Entropy::Body {
    std::array<std::uint8_t, seed_bytes> key;
    std::atomic<std::uint64_t> drawn; // draws so far

    ~Body()
    {
        cmi_wipe(key.data(), key.size());
    }
};

Entropy::Entropy(std::span<const std::uint8_t> seed)
{
    if (seed.size() != seed_bytes) {
        throw Error("A seed of " + std::to_string(seed.size()) + " bytes is given: give 32 random ones.");
    }
    auto &body = Inside::fill(*this);
    std::uint8_t difference = 0;
    for (std::size_t i = 0; i < seed_bytes; i++) {
        body.key[i] = seed[i];
        difference |= static_cast<std::uint8_t>(seed[i] ^ seed[0]);
    }
    if (cmi_declassified(difference == 0)) { // as is the end of the call
        throw Error(
            "All bytes of the seed are equal, as a failing random source gives them: draw it from the "
            "system's.");
    }
}

Entropy::~Entropy() = default;

Seeds draw(Entropy &entropy)
{
    auto &body = Inside::body(entropy);
    const std::uint64_t number = body.drawn.fetch_add(1);
    const auto block_of = [&](cmi_label label, std::uint8_t *out) {
        const std::uint32_t nonce[3] = {label, static_cast<std::uint32_t>(number),
                                        static_cast<std::uint32_t>(number >> 32)};
        std::uint8_t block[CM_CHACHA20_BLOCK_BYTES];
        cmi_chacha20_block(block, body.key.data(), nonce, 0);
        std::memcpy(out, block, SeededKey::seed_bytes);
        cmi_wipe(block, sizeof block);
    };
    Seeds seeds;
    block_of(CM_LABEL_KEY_PUBLIC, seeds.public_seed);
    block_of(CM_LABEL_KEY_SECRET, seeds.secret_seed);
    cmi_declassify(seeds.public_seed, sizeof seeds.public_seed); // it is published, or its expansion is
    return seeds;
}

namespace
{

class SecretStream
{
  public:
    SecretStream(const Seeds &seeds, cmi_label label, std::uint32_t number)
    {
        const std::uint32_t nonce[3] = {label, number, 0};
        cmi_stream_init(&stream_, seeds.secret_seed, nonce);
    }
    SecretStream(const SecretStream &) = delete;
    SecretStream &operator=(const SecretStream &) = delete;
    ~SecretStream()
    {
        cmi_wipe(&stream_, sizeof stream_);
    }
    cmi_stream *get()
    {
        return &stream_;
    }

  private:
    cmi_stream stream_;
};

} // namespace

void sample_ternary(const Seeds &seeds, std::size_t n, std::int8_t *coefficients)
{
    SecretStream stream(seeds, CM_LABEL_TERNARY, 0);
    secret_array<std::uint8_t> packed(n / 4);
    cmi_sample_ternary(stream.get(), packed.data(), static_cast<std::uint32_t>(n));
    for (std::size_t i = 0; i < n; i++) {
        coefficients[i] = static_cast<std::int8_t>((packed[i / 4] >> 2 * (i % 4) & 3) - 1);
    }
}

void sample_noise(const Seeds &seeds, std::uint32_t number, std::size_t n, std::int8_t *coefficients)
{
    SecretStream stream(seeds, CM_LABEL_NOISE, number);
    for (std::size_t i = 0; i < n; i += CM_SAMPLE_BLOCKS * CM_SAMPLE_BLOCK) {
        cmi_sample_cbd_blocks(stream.get(), coefficients + i);
    }
}

} // namespace ciphermote
