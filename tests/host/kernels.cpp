// SPDX-License-Identifier: Apache-2.0
// Every kernel of every back-end beside portable C++'s, on random and on extreme numbers.
#include <cstdlib>
#include <memory>

#include "inputs.h"
#include "rns/group.h"
#include "rns/modulus.h"
#include "topics.h"

namespace
{

using namespace ciphermote;
using namespace ciphermote::testing;

struct BackEnd {
    const arch::kernels *kernels;
    std::vector<Modulus> moduli;

    BackEnd(const arch::kernels &own, const std::vector<std::uint32_t> &primes, unsigned log2_n)
        : kernels(&own)
    {
        moduli.reserve(primes.size());
        for (const std::uint32_t q : primes) {
            moduli.emplace_back(q, log2_n, own);
            moduli.back().transforms_up_to(0x1p26 + 3.03 * 0x1p27); // the largest lift (context.cpp)
        }
    }
};

// One back-end beside portable C++, at one degree.
class Comparison
{
  public:
    Comparison(const arch::kernels &tested, unsigned log2_n)
        : log2_n_(log2_n), n_(std::size_t{1} << log2_n), primes_(primes(log2_n)),
          tested_(tested, primes_, log2_n), portable_(arch::portable, primes_, log2_n)
    {
    }

    void run()
    {
        for (unsigned m = 0; m < primes_.size(); m++) {
            for (const Fill fill : fills_at(log2_n_)) {
                transforms(m, fill);
                residue_operations(m, fill);
                key_switching(m, fill, n_ == 1024 ? 31 : 3);
            }
        }
        for (const Fill fill : fills_at(log2_n_)) {
            conversions(fill);
        }
        permutation();
    }

  private:
    // Near each bound that the library's arithmetic has, and as small as there is.
    static std::vector<std::uint32_t> primes(unsigned log2_n)
    {
        std::vector<std::uint32_t> found = primes_below(1u << 27, log2_n, 2);
        found.push_back(primes_below(1u << 26, log2_n, 1)[0]);
        found.push_back(primes_below(1u << 24, log2_n, 1)[0]);
        found.push_back(smallest_prime(log2_n));
        return found;
    }

    // What `compute` gives on the tested back-end and on the portable one.
    template <class Compute> void same(const std::string &what, Compute compute)
    {
        check_same(compute(tested_), compute(portable_), what, log2_n_, tested_.kernels->name);
    }

    // To [0, q), in words: a division of 64 bits is slow where this also runs.
    static words canonical(words lazy, std::uint32_t q)
    {
        std::uint32_t largest = 0;
        for (std::uint32_t &x : lazy) {
            const bool negative = x >> 31;
            const std::uint32_t magnitude = negative ? 0u - x : x, rest = magnitude % q;
            largest = std::max(largest, magnitude);
            x = negative && rest ? q - rest : rest;
        }
        BEHAVIOUR("lazy values are below 2^31 - q in magnitude");
        CHECK(largest < (1u << 31) - q);
        return lazy;
    }

    void transforms(unsigned m, Fill fill)
    {
        const std::uint32_t q = primes_[m];
        // context.cpp: the largest lift for which transforms that reduce halfway are proven; and one that
        // fits without, below 2^26.
        constexpr auto largest_lift = static_cast<std::uint32_t>(0x1p26 + 3.03 * 0x1p27);
        for (const bool reduces : {true, false}) {
            if (!reduces && q >= 1u << 26) {
                continue;
            }
            const words coefficients = inputs_.signed_numbers(n_, reduces ? largest_lift : q, fill);
            const auto transformed = [&](const BackEnd &on, bool lazy) {
                words a = coefficients;
                arch::prime p = on.moduli[m].prime();
                p.reduces = reduces;
                (lazy ? on.kernels->ntt_forward_lazy : on.kernels->ntt_forward)(a.data(), p);
                return lazy ? canonical(std::move(a), q) : a;
            };
            same("ntt_forward", [&](const BackEnd &on) { return transformed(on, false); });
            same("ntt_forward_lazy", [&](const BackEnd &on) { return transformed(on, true); });
        }
        const words values = inputs_.residues(n_, q, fill);
        same("ntt_inverse", [&](const BackEnd &on) {
            words a = values;
            on.kernels->ntt_inverse(a.data(), on.moduli[m].prime());
            return a;
        });
    }

    void residue_operations(unsigned m, Fill fill)
    {
        const std::uint32_t q = primes_[m];
        const words a = inputs_.residues(n_, q, fill), b = inputs_.residues(n_, q, fill);
        const words c = inputs_.residues(n_, q, fill), d = inputs_.residues(n_, q, fill);
        const words lazy = inputs_.signed_numbers(n_, (1u << 31) - 1 - q, fill);
        const std::uint32_t residue = inputs_.below(q);
        const auto operation = [&](const std::string &what, auto compute) {
            same(what, [&](const BackEnd &on) {
                words out(n_);
                compute(*on.kernels, out.data(), on.moduli[m]);
                return out;
            });
        };
        using arch::kernels;
        operation("add", [&](const kernels &on, std::uint32_t *out, const Modulus &modulus) {
            on.add(out, a.data(), b.data(), modulus.prime());
        });
        operation("subtract", [&](const kernels &on, std::uint32_t *out, const Modulus &modulus) {
            on.subtract(out, a.data(), b.data(), modulus.prime());
        });
        operation("negate", [&](const kernels &on, std::uint32_t *out, const Modulus &modulus) {
            on.negate(out, a.data(), modulus.prime());
        });
        operation("centre", [&](const kernels &on, std::uint32_t *out, const Modulus &modulus) {
            std::copy(a.begin(), a.end(), out);
            on.centre(out, modulus.prime());
        });
        operation("multiply", [&](const kernels &on, std::uint32_t *out, const Modulus &modulus) {
            on.multiply(out, a.data(), b.data(), modulus.prime());
        });
        operation("scale", [&](const kernels &on, std::uint32_t *out, const Modulus &modulus) {
            on.scale(out, a.data(), modulus.factor(residue), modulus.prime());
        });
        operation("subtract_scale", [&](const kernels &on, std::uint32_t *out, const Modulus &modulus) {
            on.subtract_scale(out, a.data(), lazy.data(), modulus.factor(residue), modulus.prime());
        });
        same("tensor", [&](const BackEnd &on) {
            words out(3 * n_);
            std::uint32_t *const to[3] = {out.data(), out.data() + n_, out.data() + 2 * n_};
            const std::uint32_t *const left[2] = {a.data(), b.data()};
            const std::uint32_t *const right[2] = {c.data(), d.data()};
            on.kernels->tensor(to, left, right, on.moduli[m].prime());
            return out;
        });
    }

    // Centred residues [digits][2][n], as a back-end reads them: [n / lanes][digits][2][lanes].
    words in_lanes(const words &residues, const BackEnd &on) const
    {
        const std::size_t lanes = on.kernels->lanes, parts = residues.size() / n_;
        words out(residues.size());
        for (std::size_t part = 0; part < parts; part++) {
            for (std::size_t i = 0; i < n_; i++) {
                out[(i / lanes * parts + part) * lanes + i % lanes] = residues[part * n_ + i];
            }
        }
        return out;
    }

    void key_switching(unsigned m, Fill fill, unsigned digits)
    {
        const std::uint32_t q = primes_[m], largest = (1u << 31) - 1 - q;
        const words lazy = inputs_.signed_numbers(digits * n_, largest, fill);
        const words remainders = inputs_.signed_numbers(2 * n_, largest, fill);
        const words key = inputs_.signed_numbers(2 * (digits + 1) * n_, q / 2, fill); // of a digit more
        const words addend = inputs_.residues(n_, q, fill);
        const auto half = static_cast<std::int32_t>(q / 2);
        const std::int32_t factor =
            fill == Fill::random ? static_cast<std::int32_t>(inputs_.below(q)) - half : -half;
        const auto switched = [&](const BackEnd &on, bool finishes) {
            const words own_key = in_lanes(key, on);
            std::vector<const std::uint32_t *> pointers;
            for (unsigned digit = 0; digit < digits; digit++) {
                pointers.push_back(lazy.data() + digit * n_);
            }
            const arch::key_sums sums{pointers.data(), digits, own_key.data(), digits + 1};
            words out(2 * n_);
            std::uint32_t *const to[2] = {out.data(), out.data() + n_};
            const arch::prime &p = on.moduli[m].prime();
            if (finishes) {
                const arch::key_correction correction{
                    {remainders.data(), remainders.data() + n_}, factor, {addend.data(), nullptr}};
                on.kernels->key_finish(to, sums, correction, p);
            } else {
                on.kernels->key_sums(to, sums, p);
            }
            return out;
        };
        same("key_sums", [&](const BackEnd &on) { return switched(on, false); });
        if (digits < 31) { // sums take 31 products
            same("key_finish", [&](const BackEnd &on) { return switched(on, true); });
        }
    }

    // Digits of values, and what they give when lifted, modulo every prime.
    void conversions(Fill fill)
    {
        for (unsigned count = 1; count <= most_group_primes; count++) {
            std::vector<words> values;
            for (unsigned i = 0; i < count; i++) {
                values.push_back(inputs_.residues(n_, primes_[i], fill));
            }
            const auto digits = [&](const BackEnd &on) {
                words out(count * n_);
                std::uint32_t *parts[most_group_primes];
                const std::uint32_t *from[most_group_primes];
                for (unsigned i = 0; i < count; i++) {
                    parts[i] = out.data() + i * n_;
                    from[i] = values[i].data();
                }
                Group(on.moduli, 0, count).values_to_digits(*on.kernels, parts, from, count);
                return out;
            };
            same("inverse_to_digit", digits);
            for (unsigned target = 0; target < primes_.size(); target++) {
                same("lift_to_values", [&](const BackEnd &on) {
                    const words all = digits(on);
                    const std::uint32_t *parts[most_group_primes];
                    for (unsigned i = 0; i < count; i++) {
                        parts[i] = all.data() + i * n_;
                    }
                    words out(n_);
                    Group(on.moduli, 0, count).lift_to_values(*on.kernels, out.data(), parts, count, target);
                    return canonical(std::move(out), primes_[target]);
                });
            }
        }
    }

    // The layout depends on the lanes: beside what the contract says.
    void permutation()
    {
        const std::size_t lanes = tested_.kernels->lanes;
        const words a = inputs_.residues(n_, primes_[0]);
        const words vectors = inputs_.residues(n_ / lanes, static_cast<std::uint32_t>(n_));
        const words in_vector = inputs_.residues(lanes * lanes, static_cast<std::uint32_t>(lanes));
        words out(n_), expected(n_);
        tested_.kernels->permute(out.data(), a.data(), vectors.data(), in_vector.data(), n_);
        for (std::size_t i = 0; i < n_; i++) {
            const std::size_t from = vectors[i / lanes];
            expected[i] = a[from / lanes * lanes + in_vector[from % lanes * lanes + i % lanes]];
        }
        check_same(out, expected, "permute", log2_n_, tested_.kernels->name);
    }

    unsigned log2_n_;
    std::size_t n_;
    std::vector<std::uint32_t> primes_;
    BackEnd tested_, portable_;
    Inputs inputs_{1};
};

} // namespace

void test_kernels(unsigned log2_n)
{
    for (const arch::kernels *kernels : arch::usable_kernels()) {
        if (kernels != &arch::portable) {
            Comparison(*kernels, log2_n).run();
        }
    }
    Comparison(arch::sixteen_lanes, log2_n).run();
}
