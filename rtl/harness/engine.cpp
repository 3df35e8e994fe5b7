/* SPDX-License-Identifier: Apache-2.0 */
// Runs cm_ntt_engine under Verilator: random jobs against an independent transform, and the cycles of each.
//
// The shape of the hardware comes as macros (LOG2_N, WIDTH, LOG2_LANES, PAGES), random numbers from the seed
// in argv[1]. Prints one JSON object of cycles; stops with status 1 at the first difference.
#include <memory>
#include <type_traits>

#include "Vcm_ntt_engine.h"
#include "Vcm_ntt_engine___024root.h"
#include "ring.h"
#include "verilated.h"

namespace
{

constexpr unsigned LANES = 1u << LOG2_LANES;

// --- the hardware
// ---------------------------------------------------------------------------------------------------

struct job {
    bool forward;
    unsigned products;
    bool inverse;
    bool pair = false;
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
        table(words);
    }

    void load_operand(unsigned number, const polynomial &words)
    {
        top.table_is_operand_i = 1;
        top.table_operand_i = number;
        table(words);
        top.table_is_operand_i = 0;
    }

    void write(const polynomial &a, bool transformed, unsigned page = 0)
    {
        top.host_write_transformed_i = transformed;
        top.host_write_page_i = page;
        top.host_write_i = 1;
        for (unsigned i = 0; i < N; i += LANES) {
            top.host_write_index_i = i;
            for (unsigned lane = 0; lane < LANES; lane++) {
                set_lane(top.host_write_data_i, lane, a[i + lane]);
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
        top.pair_i = what.pair;
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

    void table(const polynomial &words)
    {
        top.table_write_i = 1;
        for (unsigned i = 0; i < N; i += top.table_step_o) {
            top.table_index_i = i;
            for (unsigned lane = 0; lane < LANES; lane++) {
                set_lane(top.table_data_i, lane, words[(i + lane) % N]);
            }
            top.eval();
            tick();
        }
        top.table_write_i = 0;
        tick();
        tick();
    }

    // A port is one integer, or an array of words if it is wide.
    template <typename T> static void set_lane(T &port, unsigned lane, word value)
    {
        if constexpr (std::is_integral_v<T>) {
            const word mask = ((word{1} << WIDTH) - 1) << (lane * WIDTH);
            port = static_cast<T>((port & ~mask) | value << (lane * WIDTH));
        } else {
            for (unsigned b = 0; b < WIDTH; b++) {
                const unsigned bit = lane * WIDTH + b;
                port[bit / 32] = (port[bit / 32] & ~(1u << bit % 32)) | (value >> b & 1u) << bit % 32;
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

    template <typename T> static unsigned get_bit(const T &port, unsigned bit)
    {
        if constexpr (std::is_integral_v<T>) {
            return static_cast<unsigned>(port >> bit & 1u);
        } else {
            return port[bit / 32] >> bit % 32 & 1u;
        }
    }
};

} // namespace

int main(int argc, char **argv)
{
    random_bits.seed(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1);
    const auto hardware = std::make_unique<engine>();
    uint64_t cycles[5] = {};
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

        // Transform both factors separately: the product's transform is their pointwise product.
        const polynomial b = random_polynomial(r);
        const polynomial c = random_polynomial(r);
        hardware->load_operand(0, transform(b, r));
        hardware->write(scaled(a, scale, r), false);
        const uint64_t product = hardware->run({true, 1, true});
        require(transform(hardware->read(false), r) == pointwise(transformed, transform(b, r), r), "product");
        uint64_t two = 0;
        uint64_t pair = 0;
        if (PAGES == 2) {
            hardware->load_operand(1, transform(c, r));
            hardware->write(scaled(a, scale, r), false);
            two = hardware->run({true, 2, true});
            require(transform(hardware->read(false, 0), r) == pointwise(transformed, transform(b, r), r),
                    "first of two products");
            require(transform(hardware->read(false, 1), r) == pointwise(transformed, transform(c, r), r),
                    "second of two products");
            hardware->write(scaled(a, scale, r), false, 0);
            hardware->write(scaled(c, scale, r), false, 1);
            pair = hardware->run({true, 1, true, true});
            require(transform(hardware->read(false, 0), r) == pointwise(transformed, transform(b, r), r),
                    "first of a pair");
            require(transform(hardware->read(false, 1), r) == pointwise(transform(c, r), transform(b, r), r),
                    "second of a pair");
        }
        const uint64_t now[5] = {forward, inverse, product, two, pair};
        for (unsigned i = 0; i < 5; i++) {
            require(round == 0 || now[i] == cycles[i], "cycles");
            cycles[i] = now[i];
        }
    }
    constexpr const char *NAMES[5] = {"forward", "inverse", "product", "double_product", "product_pair"};
    for (unsigned i = 0; i < 5; i++) {
        std::printf("%s\"%s\": %llu", i ? ", " : "{", NAMES[i], static_cast<unsigned long long>(cycles[i]));
    }
    std::puts("}");
}
