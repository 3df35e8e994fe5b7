// Runs cm_ntt_engine under Verilator: random jobs against an independent transform, and the cycles of each.
//
// The shape of the hardware comes as macros (LOG2_N, WIDTH, LOG2_LANES, PAGES), random numbers from the seed in argv[1].
// Prints one JSON object of cycles; stops with status 1 at the first difference.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include "Vcm_ntt_engine.h"
#include "Vcm_ntt_engine___024root.h"
#include "verilated.h"

namespace
{

using word = uint64_t;
using wide = unsigned __int128;
using polynomial = std::vector<word>;

constexpr unsigned N = 1u << LOG2_N;
constexpr unsigned LANES = 1u << LOG2_LANES;

std::mt19937_64 random_bits;

// --- the ring, by definition ----------------------------------------------------------------------------------------

struct ring {
    word q;
    word psi; // a primitive 2n-th root of unity
};

word multiply(word a, word b, word q)
{
    return static_cast<word>(static_cast<wide>(a) * b % q);
}

word power(word base, word exponent, word q)
{
    word result = 1;
    for (; exponent != 0; exponent >>= 1) {
        if (exponent & 1) {
            result = multiply(result, base, q);
        }
        base = multiply(base, base, q);
    }
    return result;
}

bool is_prime(word q)
{
    for (word base : {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37}) {
        if (q % base == 0) {
            return false;
        }
        word odd = q - 1;
        while (odd % 2 == 0) {
            odd /= 2;
        }
        word x = power(base, odd, q);
        while (odd != q - 1 && x != 1 && x != q - 1) {
            x = multiply(x, x, q);
            odd *= 2;
        }
        if (x != q - 1 && odd % 2 == 0) {
            return false;
        }
    }
    return true;
}

ring random_ring()
{
    ring r;
    do {
        r.q = ((word{1} << (WIDTH - 1)) + random_bits() % (word{1} << (WIDTH - 1))) / (2 * N) * (2 * N) + 1;
    } while (r.q >> (WIDTH - 1) != 1 || !is_prime(r.q));
    do {
        r.psi = power(random_bits() % r.q, (r.q - 1) / (2 * N), r.q);
    } while (power(r.psi, N, r.q) != r.q - 1);
    return r;
}

unsigned bit_reverse(unsigned i)
{
    unsigned reversed = 0;
    for (unsigned b = 0; b < LOG2_N; b++) {
        reversed |= (i >> b & 1u) << (LOG2_N - 1 - b);
    }
    return reversed;
}

// Cyclic transform by decimation in time of a(psi x): another structure than the hardware's.
polynomial transform(const polynomial &a, const ring &r)
{
    polynomial x(N);
    for (unsigned i = 0; i < N; i++) {
        x[bit_reverse(i)] = multiply(a[i], power(r.psi, i, r.q), r.q);
    }
    for (unsigned length = 2; length <= N; length *= 2) {
        const word root = power(r.psi, 2 * N / length, r.q);
        for (unsigned start = 0; start < N; start += length) {
            word w = 1;
            for (unsigned j = start; j < start + length / 2; j++) {
                const word even = x[j];
                const word odd = multiply(x[j + length / 2], w, r.q);
                x[j] = (even + odd) % r.q;
                x[j + length / 2] = (even + r.q - odd) % r.q;
                w = multiply(w, root, r.q);
            }
        }
    }
    polynomial result(N);
    for (unsigned i = 0; i < N; i++) {
        result[i] = x[bit_reverse(i)];
    }
    return result;
}

polynomial pointwise(const polynomial &a, const polynomial &b, const ring &r)
{
    polynomial product(N);
    for (unsigned i = 0; i < N; i++) {
        product[i] = multiply(a[i], b[i], r.q);
    }
    return product;
}

polynomial scaled(polynomial a, word factor, const ring &r)
{
    for (word &x : a) {
        x = multiply(x, factor, r.q);
    }
    return a;
}

polynomial random_polynomial(const ring &r)
{
    polynomial a(N);
    for (word &x : a) {
        const word choice = random_bits() % 8;
        x = choice == 0 ? 0 : choice == 1 ? r.q - 1 : random_bits() % r.q;
    }
    return a;
}

// R of cm_montgomery_multiply, modulo q.
word montgomery_r(const ring &r)
{
    constexpr unsigned words = (WIDTH + LOG2_N) / (LOG2_N + 1);
    constexpr unsigned bits = (WIDTH + words - 1) / words;
    return power(2, words * bits, r.q);
}

// --- the hardware ---------------------------------------------------------------------------------------------------

struct job {
    bool forward;
    unsigned products;
    bool inverse;
};

class engine
{
  public:
    engine()
    {
        top.rst_i = 1;
        tick();
        tick();
        top.rst_i = 0;
    }

    void load(const ring &r)
    {
        top.q_i = r.q;
        const word scale = montgomery_r(r);
        polynomial words(N);
        for (unsigned j = 0; j < N; j++) {
            words[j] = multiply(power(r.psi, bit_reverse(j), r.q), scale, r.q);
        }
        table(words, 1);
    }

    void load_operand(unsigned number, const polynomial &words)
    {
        top.table_is_operand_i = 1;
        top.table_operand_i = number;
        table(words, 0);
        top.table_is_operand_i = 0;
    }

    void write(const polynomial &a, bool transformed)
    {
        top.host_write_transformed_i = transformed;
        top.host_write_page_i = 0;
        top.host_write_i = 1;
        for (unsigned i = 0; i < N; i += LANES) {
            top.host_write_index_i = i;
            for (unsigned lane = 0; lane < LANES; lane++) {
                set_lane(lane, a[i + lane]);
            }
            tick();
        }
        top.host_write_i = 0;
    }

    polynomial read(bool transformed, unsigned page = 0)
    {
        polynomial a(N);
        top.host_read_transformed_i = transformed;
        top.host_read_page_i = page;
        for (unsigned i = 0; i < N; i += LANES) {
            top.host_read_index_i = i;
            tick();
            tick();
            for (unsigned lane = 0; lane < LANES; lane++) {
                a[i + lane] = lane_of(lane);
            }
        }
        return a;
    }

    // Cycles from the first read of the banks to the last write.
    uint64_t run(const job &what)
    {
        top.forward_i = what.forward;
        top.products_i = what.products;
        top.inverse_i = what.inverse;
        top.start_i = 1;
        uint64_t first = 0;
        uint64_t last = 0;
        for (uint64_t cycle = 1; !top.done_o; cycle++) {
            tick();
            top.start_i = 0;
            if (first == 0 && top.rootp->cm_ntt_engine__DOT__read) {
                first = cycle;
            }
            if (top.rootp->cm_ntt_engine__DOT__write) {
                last = cycle;
            }
            if (cycle > 100u * N) {
                std::fprintf(stderr, "a job does not end\n");
                std::exit(1);
            }
        }
        tick();
        return last - first + 1;
    }

  private:
    VerilatedContext context;
    Vcm_ntt_engine top{&context};

    void tick()
    {
        top.clk_i = 0;
        top.eval();
        top.clk_i = 1;
        top.eval();
    }

    void table(const polynomial &words, unsigned first)
    {
        top.table_write_i = 1;
        for (unsigned i = first; i < N; i++) {
            top.table_index_i = i;
            top.table_data_i = words[i];
            tick();
        }
        top.table_write_i = 0;
        tick();
    }

    void set_lane(unsigned lane, word value)
    {
        if constexpr (LANES * WIDTH <= 64) {
            const word mask = LANES * WIDTH == 64 ? ~word{0} : (word{1} << (LANES * WIDTH)) - 1;
            const word lane_mask = ((word{1} << WIDTH) - 1) << (lane * WIDTH);
            auto &data = reinterpret_cast<word &>(buffer);
            data = ((data & ~lane_mask) | value << (lane * WIDTH)) & mask;
            copy(top.host_write_data_i, data);
        } else {
            for (unsigned b = 0; b < WIDTH; b++) {
                const unsigned bit = lane * WIDTH + b;
                put_bit(top.host_write_data_i, bit, value >> b & 1u);
            }
        }
    }

    word lane_of(unsigned lane)
    {
        word value = 0;
        for (unsigned b = 0; b < WIDTH; b++) {
            value |= word{get_bit(top.host_read_data_o, lane * WIDTH + b)} << b;
        }
        return value;
    }

    word buffer = 0;

    template <typename T> static void copy(T &port, word value)
    {
        if constexpr (std::is_integral_v<T>) {
            port = static_cast<T>(value);
        }
    }

    template <typename T> static void put_bit(T &port, unsigned bit, unsigned value)
    {
        if constexpr (!std::is_integral_v<T>) {
            port[bit / 32] = (port[bit / 32] & ~(1u << bit % 32)) | value << bit % 32;
        }
    }

    template <typename T> static unsigned get_bit(const T &port, unsigned bit)
    {
        if constexpr (std::is_integral_v<T>) {
            return static_cast<unsigned>(port >> bit & 1u);
        } else {
            return port[bit / 32] >> bit % 32 & 1u;
        }
    }
};

void require(bool right, const char *what)
{
    if (!right) {
        std::fprintf(stderr, "%s: the hardware differs from the model\n", what);
        std::exit(1);
    }
}

} // namespace

int main(int argc, char **argv)
{
    random_bits.seed(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1);
    const auto hardware = std::make_unique<engine>();
    uint64_t cycles[4] = {};
    for (unsigned round = 0; round < 2; round++) {
        const ring r = random_ring();
        const word scale = montgomery_r(r);
        hardware->load(r);

        const polynomial a = random_polynomial(r);
        const polynomial transformed = transform(a, r);
        hardware->write(a, false);
        const uint64_t forward = hardware->run({true, 0, false});
        require(hardware->read(true) == transformed, "forward transform");
        hardware->write(transformed, true);
        const uint64_t inverse = hardware->run({false, 0, true});
        require(hardware->read(false) == a, "inverse transform");

        // Transform both factors apart: the product's transform is their pointwise product.
        const polynomial b = random_polynomial(r);
        const polynomial c = random_polynomial(r);
        hardware->load_operand(0, transform(b, r));
        hardware->write(scaled(a, scale, r), false);
        const uint64_t product = hardware->run({true, 1, true});
        require(transform(hardware->read(false), r) == pointwise(transformed, transform(b, r), r), "product");
        uint64_t two = 0;
        if (PAGES == 2) {
            hardware->load_operand(1, transform(c, r));
            hardware->write(scaled(a, scale, r), false);
            two = hardware->run({true, 2, true});
            require(transform(hardware->read(false, 0), r) == pointwise(transformed, transform(b, r), r),
                    "first of two products");
            require(transform(hardware->read(false, 1), r) == pointwise(transformed, transform(c, r), r),
                    "second of two products");
        }
        const uint64_t now[4] = {forward, inverse, product, two};
        for (unsigned i = 0; i < 4; i++) {
            require(round == 0 || now[i] == cycles[i], "cycles");
            cycles[i] = now[i];
        }
    }
    std::printf("{\"forward\": %llu, \"inverse\": %llu, \"product\": %llu, \"double_product\": %llu}\n",
                static_cast<unsigned long long>(cycles[0]), static_cast<unsigned long long>(cycles[1]),
                static_cast<unsigned long long>(cycles[2]), static_cast<unsigned long long>(cycles[3]));
}
