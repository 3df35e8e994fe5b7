/* SPDX-License-Identifier: Apache-2.0 */
// offload.h against an independent transform: single calls and those that are computed together, in random
// order, with words above q, primes that change, and factors that come and go. random numbers from the seed
// in argv[1]. Prints the number of commands that it took.
#include <memory>

#include "offload.h"

namespace
{

polynomial lazy(polynomial a, const ring &r)
{
    for (word &x : a) {
        x += random_bits() % 4 * r.q;
    }
    return a;
}

void single_calls(offload &to, const ring &r)
{
    const polynomial a = random_polynomial(r);
    const polynomial b = random_polynomial(r);
    polynomial x = lazy(a, r);
    to.forward(x.data(), r.q, r.psi);
    require(x == transform(a, r), "forward");
    to.inverse(x.data(), r.q, r.psi);
    require(x == a, "inverse");
    const polynomial y = lazy(a, r);
    to.dyadic(y.data(), b.data(), r.q, x.data());
    require(x == pointwise(a, b, r), "dyadic");
    to.dyadic(b.data(), y.data(), r.q, x.data()); // the stored factor comes first
    require(x == pointwise(a, b, r), "dyadic, the other way round");
    to.dyadic(b.data(), b.data(), r.q, x.data());
    require(x == pointwise(b, b, r), "a square");
}

// NTT_DOUBLE_MULTIPLY; with no inverse transforms; with one product, in place.
void together(offload &to, const ring &r, const polynomial factors[2])
{
    const polynomial a = random_polynomial(r);
    for (const bool inverse : {true, false}) {
        polynomial x = a;
        polynomial out[2] = {polynomial(N), polynomial(N)};
        to.expect(2);
        const unsigned first = static_cast<unsigned>(random_bits() % 2);
        to.forward(x.data(), r.q, r.psi);
        for (const unsigned i : {first, 1 - first}) {
            to.dyadic(x.data(), factors[i].data(), r.q, out[i].data());
            if (inverse) {
                to.inverse(out[i].data(), r.q, r.psi);
            }
        }
        to.finish();
        for (unsigned i = 0; i < 2; i++) {
            const polynomial got = inverse ? transform(out[i], r) : out[i];
            require(got == pointwise(transform(a, r), factors[i], r), "two products together");
        }
    }
    polynomial x = a;
    to.expect(1);
    to.forward(x.data(), r.q, r.psi);
    to.dyadic(x.data(), factors[0].data(), r.q, x.data());
    to.inverse(x.data(), r.q, r.psi);
    require(transform(x, r) == pointwise(transform(a, r), factors[0], r), "a product in place");
    to.finish();
}

// What breaks the pattern is computed first.
void broken(offload &to, const ring &r, const polynomial &factor)
{
    const polynomial a = random_polynomial(r);
    const polynomial b = random_polynomial(r);
    polynomial x = a;
    polynomial y = b;
    polynomial out(N);
    to.expect(2);
    to.forward(x.data(), r.q, r.psi);
    to.forward(y.data(), r.q, r.psi);
    require(x == transform(a, r), "a transform before another");
    to.dyadic(y.data(), factor.data(), r.q, out.data());
    to.inverse(x.data(), r.q, r.psi);
    require(x == a, "an inverse of something else");
    require(out == pointwise(transform(b, r), factor, r), "a product before it");
    y = b;
    to.forward(y.data(), r.q, r.psi);
    to.dyadic(y.data(), factor.data(), r.q, out.data());
    to.inverse(out.data(), r.q, r.psi);
    to.finish();
    require(transform(out, r) == pointwise(transform(b, r), factor, r), "a single product where two may be");
}

} // namespace

int main(int argc, char **argv)
{
    random_bits.seed(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1);
    const auto to = std::make_unique<offload>();
    const ring rings[2] = {random_ring(), random_ring()};
    for (const ring &r : {rings[0], rings[1], rings[0]}) {
        const polynomial factors[2] = {random_polynomial(r), random_polynomial(r)};
        for (unsigned round = 0; round < 3; round++) {
            single_calls(*to, r);
            together(*to, r, factors);
            broken(*to, r, factors[round % 2]);
        }
        const uint64_t before = to->commands;
        together(*to, r, factors);
        require(to->commands == before + 3, "a command for each chain"); // and no more
    }
    require(!offload::serves(N, rings[0].q + 2) && !offload::serves(2 * N, rings[0].q) &&
                !offload::serves(N, (word{1} << WIDTH) * 2 * N + 1) && offload::serves(N, rings[0].q),
            "what it serves");
    std::printf("%llu commands\n", static_cast<unsigned long long>(to->commands));
}
