// SPDX-License-Identifier: Apache-2.0
#include "rns/extension.h"

#include <algorithm>
#include <bit>

namespace ciphermote
{

namespace
{

// The product of all numbers but one, modulo a modulus. Give an index outside for all of them.
std::uint32_t product_without(std::span<const Modulus> numbers, std::size_t left_out, const Modulus &modulus)
{
    std::uint32_t product = 1;
    for (std::size_t i = 0; i < numbers.size(); i++) {
        product = i == left_out ? product : modulus.multiply(product, modulus.residue(numbers[i].q()));
    }
    return product;
}

} // namespace

Extension::Extension(std::span<const Modulus> from, std::span<const Modulus> to, const Factor &factor)
    : count_(static_cast<unsigned>(from.size())), bits_(32)
{
    for (const Modulus &modulus : from) {
        bits_ = std::min(bits_, static_cast<unsigned>(std::bit_width(modulus.q())) - 2);
    }
    for (std::size_t i = 0; i < from.size(); i++) {
        places_.push_back(from[i].inverse(product_without(from, i, from[i])));
        reciprocals_.push_back(static_cast<std::uint32_t>((std::uint64_t{1} << (32 + bits_)) / from[i].q()));
    }
    for (const Modulus &target : to) {
        targets_.push_back(&target.prime());
        const std::uint32_t montgomery = target.residue(std::uint64_t{1} << 32);
        const std::uint32_t by = factor ? target.multiply(montgomery, factor(target)) : montgomery;
        for (std::size_t i = 0; i < from.size(); i++) {
            weights_.push_back(target.multiply(by, product_without(from, i, target)));
        }
        const std::uint32_t whole = product_without(from, from.size(), target);
        weights_.push_back(target.multiply(by, target.q() - whole));
    }
}

void Extension::extend(const arch::kernels &kernels, std::uint32_t *const *out,
                       std::uint32_t *const *places) const
{
    const std::size_t n = std::size_t{1} << targets_[0]->log2_n;
    kernels.quotients(places[count_], places, count_, reciprocals_.data(), bits_, n);
    kernels.combine(out, targets_.data(), static_cast<unsigned>(targets_.size()), places, count_ + 1,
                    weights_.data());
}

} // namespace ciphermote
