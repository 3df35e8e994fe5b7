// SPDX-License-Identifier: Apache-2.0
#include "rns/group.h"

namespace ciphermote
{

Group::Group(const std::vector<Modulus> &moduli, unsigned first, unsigned count)
    : moduli_(&moduli), first_(first), count_(count)
{
    for (unsigned i = 0; i < count; i++) {
        const Modulus &own = moduli[first + i];
        primes_[i] = &own.prime();
        for (unsigned j = 0; j < i; j++) {
            radix_[i][j] = own.factor(own.inverse(own.residue(moduli[first + j].q())));
        }
    }
    for (const Modulus &target : moduli) {
        std::array<arch::factor, most_group_primes> &weights = weights_.emplace_back();
        std::uint32_t product = 1;
        for (unsigned i = 0; i < count; i++) {
            product = target.multiply(product, target.residue(moduli[first + i].q()));
            weights[i] = target.factor(product);
        }
    }
}

void Group::values_to_digits(const arch::kernels &kernels, std::uint32_t *const *digits,
                             const std::uint32_t *const *values, unsigned count) const
{
    for (unsigned i = 0; i < count; i++) {
        kernels.inverse_to_digit(digits[i], values[i], digits, i, radix_[i], *primes_[i]);
    }
}

void Group::lift_to_values(const arch::kernels &kernels, std::uint32_t *out,
                           const std::uint32_t *const *digits, unsigned count, unsigned target) const
{
    kernels.lift_to_values(out, digits, count, weights_[target].data(), (*moduli_)[target].prime());
}

std::uint32_t Group::product(unsigned target, unsigned count) const
{
    return count == 0 ? 1 : (*moduli_)[target].residue_of(weights_[target][count - 1]);
}

} // namespace ciphermote
