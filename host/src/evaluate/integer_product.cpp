// SPDX-License-Identifier: Apache-2.0
#include "evaluate/integer_product.h"

#include <algorithm>
#include <array>

#include "evaluate/scratch.h"
#include "rns/polynomials.h"

namespace ciphermote
{

namespace
{

// Polynomials, as kernels take several: those of three components at the auxiliary primes are the most.
class Rows
{
  public:
    Rows(unsigned count, std::size_t n) : scratch_(count, n)
    {
        const Polynomials all = scratch_.take(count);
        for (unsigned i = 0; i < count; i++) {
            rows_.at(i) = all[i];
        }
    }
    std::uint32_t *operator[](unsigned i) const
    {
        return rows_[i];
    }
    std::uint32_t *const *from(unsigned first) const
    {
        return rows_.data() + first;
    }

  private:
    Scratch scratch_;
    std::array<std::uint32_t *, 3 * 40> rows_{};
};

class Product
{
  public:
    Product(Ciphertext &out, const Ciphertext &a, const Ciphertext &b)
        : out_(out), a_(a), b_(b), t_(tables_of(out)), kernels_(*t_.kernels), integers_(*t_.integers),
          level_(integers_.levels[a.primes() - 1]), n_(t_.n()), primes_(a.primes()),
          auxiliary_(level_.auxiliary), places_(primes_ + 1, n_), first_(2 * auxiliary_, n_),
          second_(2 * (auxiliary_ + 1), n_), second_data_(2 * primes_, n_), product_(3 * (auxiliary_ + 1), n_)
    {
    }

    void run()
    {
        for (unsigned component = 0; component < 2; component++) {
            extend_first(component);
            extend_second(component);
        }
        multiply();
        for (unsigned component = 0; component < 3; component++) {
            divide(component);
        }
    }

  private:
    const arch::prime &auxiliary_prime(unsigned j) const
    {
        return integers_.auxiliary[j].prime();
    }

    // Places of a component at the data primes, times a factor.
    void take_places(const Ciphertext &c, unsigned component, const std::vector<arch::factor> &factors)
    {
        for (unsigned i = 0; i < primes_; i++) {
            std::copy_n(polynomial(c, component, i), n_, places_[i]);
            kernels_.ntt_inverse(places_[i], t_.prime(i));
            kernels_.scale(places_[i], places_[i], factors[i], t_.prime(i));
        }
    }

    void transform_auxiliary(std::uint32_t *const *rows)
    {
        for (unsigned j = 0; j < auxiliary_; j++) {
            kernels_.ntt_forward(rows[j], auxiliary_prime(j));
        }
    }

    // t a at the auxiliary primes.
    void extend_first(unsigned component)
    {
        take_places(a_, component, level_.first);
        std::uint32_t *const *out = first_.from(component * auxiliary_);
        level_.to_auxiliary.extend(kernels_, out, places_.from(0));
        transform_auxiliary(out);
    }

    // b' at the data primes, and its places at the auxiliary ones: a factor that the product keeps.
    void extend_second(unsigned component)
    {
        take_places(b_, component, level_.second);
        std::uint32_t *const *scaled = second_.from(component * (auxiliary_ + 1));
        std::uint32_t *const *at_data = second_data_.from(component * primes_);
        level_.scaled.extend(kernels_, scaled, places_.from(0));
        level_.to_data.extend(kernels_, at_data, scaled);
        for (unsigned i = 0; i < primes_; i++) {
            kernels_.ntt_forward(at_data[i], t_.prime(i));
        }
        transform_auxiliary(scaled);
    }

    std::uint32_t *product(unsigned component, unsigned j) const
    {
        return product_[component * (auxiliary_ + 1) + j];
    }

    void multiply()
    {
        for (unsigned j = 0; j < auxiliary_; j++) {
            std::uint32_t *const to[3] = {product(0, j), product(1, j), product(2, j)};
            const std::uint32_t *const left[2] = {first_[j], first_[auxiliary_ + j]};
            const std::uint32_t *const right[2] = {second_[j], second_[auxiliary_ + 1 + j]};
            kernels_.tensor(to, left, right, auxiliary_prime(j));
        }
        for (unsigned i = 0; i < primes_; i++) {
            std::uint32_t *const to[3] = {polynomial(out_, 0, i), polynomial(out_, 1, i),
                                          polynomial(out_, 2, i)};
            const std::uint32_t *const left[2] = {polynomial(a_, 0, i), polynomial(a_, 1, i)};
            const std::uint32_t *const right[2] = {second_data_[i], second_data_[primes_ + i]};
            kernels_.tensor(to, left, right, t_.prime(i));
        }
    }

    // (t a b' - (t a b' modulo P)) / P at the data primes.
    void divide(unsigned component)
    {
        std::uint32_t *const *rows = product_.from(component * (auxiliary_ + 1));
        for (unsigned j = 0; j < auxiliary_; j++) {
            kernels_.ntt_inverse(rows[j], auxiliary_prime(j));
        }
        level_.remainder.extend(kernels_, places_.from(0), rows);
        for (unsigned i = 0; i < primes_; i++) {
            kernels_.ntt_forward_lazy(places_[i], t_.prime(i));
            std::uint32_t *out = polynomial(out_, component, i);
            kernels_.scale_subtract(out, out, level_.t_over_p[i], places_[i], t_.prime(i));
        }
    }

    Ciphertext &out_;
    const Ciphertext &a_, &b_;
    const Tables &t_;
    const arch::kernels &kernels_;
    const Integers &integers_;
    const ProductLevel &level_;
    std::size_t n_;
    unsigned primes_, auxiliary_;
    // A row more than there are primes: quotients.
    Rows places_, first_, second_, second_data_, product_;
};

} // namespace

void multiply_integers(Ciphertext &out, const Ciphertext &a, const Ciphertext &b)
{
    Product(out, a, b).run();
}

} // namespace ciphermote
