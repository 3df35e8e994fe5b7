/* SPDX-License-Identifier: Apache-2.0 */
// Encryption under a public key with and without the accelerator: the same bytes, and the time of each step.
//
// Software's time is measured on this machine; with the accelerator, while the simulation's answers come from
// memory. The accelerator's time is its simulated cycles at 200 MHz, and transfers are beats of 128 bits at
// 250 MHz, one after the other: the clocks of Mert, Ozturk and Savas's Virtex-7 on PCI Express. Each prime
// has an accelerator, which keeps its tables and the key from one encryption to the next.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "ciphermote/ciphermote.h"
#include "verilated_bus.h"

extern "C" {
#include "core/platform.h"
#include "ring/ring.h"
}

namespace
{

constexpr double CLOCK_MHZ = 200;
constexpr double BUS_MHZ = 250;
constexpr size_t N = size_t{1} << LOG2_N;
constexpr unsigned ROUNDS = 200;

const cm_params &PARAMS = LOG2_N == 10 ? cm_std2018_n1024_q27 : cm_n4096_q26x3_p27;
constexpr uint32_t PLAIN_MODULUS = 251; // of 8 bits

std::vector<std::unique_ptr<verilated_bus>> buses; // of each data prime
bool with_accelerator = false;

// --- a key and a message -----------------------------------------------------------------------------

std::vector<uint32_t> key_words;
cm_flat_public_key flat_key = {nullptr, static_cast<uint32_t>(N)};

void must(cm_status status)
{
    if (status != CM_OK) {
        std::fprintf(stderr, "%s\n", cm_status_text(status));
        std::exit(1);
    }
}

void make_key(cm_device &device)
{
    static uint8_t ternary[CM_TERNARY_BYTES(N)];
    const uint8_t seed[CM_SEED_BYTES] = {1};
    uint64_t key_id = 0;
    key_words.resize(2 * PARAMS.data_primes * N);
    flat_key.residues = key_words.data();
    must(cm_device_make_secret_key(&device, &PARAMS, ternary, &key_id));
    for (unsigned i = 0; i < PARAMS.data_primes; i++) {
        uint32_t *const p0 = key_words.data() + 2 * i * N;
        must(cm_zero_encryption(&PARAMS, ternary, seed, i, p0, p0 + N));
    }
}

int append(void *context, const uint8_t *bytes, size_t length)
{
    auto &all = *static_cast<std::vector<uint8_t> *>(context);
    all.insert(all.end(), bytes, bytes + length);
    return 0;
}

// The frames of one encryption, from the same random source every time.
std::vector<uint8_t> encryption()
{
    alignas(8) static uint8_t arena[CM_BFV_ASYMMETRIC_ARENA_BYTES(N, CM_BFV_16, 0)];
    static uint16_t numbers[N];
    test_platform platform{};
    cm_device device;
    must(test_device_start(&device, &platform));
    for (size_t i = 0; i < N; i++) {
        numbers[i] = static_cast<uint16_t>(i * i % PLAIN_MODULUS);
    }
    cm_bfv_values values{};
    values.data = numbers;
    values.count = static_cast<uint32_t>(N);
    values.number = CM_UINT16;
    values.encoding = CM_BFV_COEFFICIENTS;
    values.width = CM_BFV_16;
    values.plain_modulus = PLAIN_MODULUS;
    values.largest = PLAIN_MODULUS - 1;
    const cm_public_key key = {&PARAMS, 1, cm_flat_public_key_polynomial, &flat_key, nullptr};
    std::vector<uint8_t> bytes;
    bytes.reserve(64 * N);
    cm_frame_writer writer;
    cm_frame_writer_init(&writer, {append, &bytes});
    cm_encryptor_setup setup{};
    setup.device = &device;
    setup.emitter = &writer.emitter;
    setup.arena = arena;
    setup.arena_bytes = sizeof arena;
    cm_encryptor encryptor;
    must(cm_encryptor_init_asymmetric(&encryptor, &key, &setup));
    must(cm_bfv_encrypt(&encryptor, &values));
    return bytes;
}

// --- time --------------------------------------------------------------------------------------------

double now_us()
{
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// Keeps the time of its shortest run.
class timed
{
  public:
    explicit timed(std::function<void()> work) : work(std::move(work))
    {
    }
    void run()
    {
        const double start = now_us();
        work();
        shortest = std::min(shortest, now_us() - start);
    }
    double us() const
    {
        return shortest;
    }

  private:
    std::function<void()> work;
    double shortest = 1e30;
};

struct step_times {
    double in, computing, out;
    double total() const
    {
        return in + computing + out;
    }
};

// What the commands with these codes took since the costs were cleared.
step_times hardware_us(const std::vector<uint32_t> &codes)
{
    step_times times{};
    for (const auto &bus : buses) {
        for (const uint32_t code : codes) {
            const verilated_bus::cost &cost = bus->costs[code];
            times.in += static_cast<double>(cost.beats_in) / BUS_MHZ;
            times.computing += static_cast<double>(cost.computing) / CLOCK_MHZ;
            times.out += static_cast<double>(cost.beats_out) / BUS_MHZ;
        }
    }
    return times;
}

void clear_costs()
{
    for (const auto &bus : buses) {
        bus->costs = {};
        bus->record();
    }
}

// Both products of a prime, and both transforms, as portable C computes them.
void software_products(const cmi_ring &ring, const uint32_t *factors)
{
    static uint32_t out0[N];
    static uint32_t out1[N];
    static uint8_t u[N / 4]; // all digits 0: time does not depend on them
    cmi_double_product(out0, out1, u, factors, factors + N, &ring);
}

void software_transforms(const cmi_ring &ring)
{
    static uint32_t a[N];
    for (unsigned component = 0; component < 2; component++) {
        std::memset(a, 0, sizeof a);
        cmi_ntt_forward(a, &ring);
    }
}

void line(const char *step, double software, const step_times &hardware)
{
    std::printf("  %-34s %10.1f %10.1f %10.1f %10.1f %10.1f\n", step, software, hardware.in,
                hardware.computing, hardware.out, hardware.total());
}

} // namespace

cm_accelerator *cm_accelerator_for(unsigned log2_n, uint32_t q)
{
    for (size_t i = 0; i < buses.size(); i++) {
        if (with_accelerator && log2_n == LOG2_N && PARAMS.primes[i].q == q) {
            return buses[i]->accelerator();
        }
    }
    return nullptr;
}

int main()
{
    test_platform platform{};
    cm_device device;
    must(test_device_start(&device, &platform));
    make_key(device);

    const std::vector<uint8_t> plain_bytes = encryption();
    for (unsigned i = 0; i < PARAMS.data_primes; i++) {
        buses.push_back(std::make_unique<verilated_bus>(LOG2_N));
    }
    with_accelerator = true;
    (void)encryption();
    const step_times tables = hardware_us({CM_NTT_CODE_LOAD_TWIDDLES, CM_NTT_CODE_LOAD_OPERAND});
    clear_costs();
    const bool same = encryption() == plain_bytes;
    const step_times product = hardware_us({CM_NTT_CODE_DOUBLE_PRODUCT});
    const step_times transform = hardware_us({CM_NTT_CODE_FORWARD});
    for (const auto &bus : buses) {
        bus->replay();
    }

    std::vector<cmi_ring> rings(PARAMS.data_primes);
    for (unsigned i = 0; i < PARAMS.data_primes; i++) {
        cmi_ring_init(&rings[i], &PARAMS.primes[i], LOG2_N, NULL);
    }
    timed plain_run([] { (void)encryption(); });
    timed driver_run([] { (void)encryption(); });
    timed products_run([&rings] {
        for (size_t i = 0; i < rings.size(); i++) {
            software_products(rings[i], key_words.data() + 2 * i * N);
        }
    });
    timed transforms_run([&rings] {
        for (const cmi_ring &ring : rings) {
            software_transforms(ring);
        }
    });
    for (unsigned i = 0; i < ROUNDS; i++) { // alternately, so that a busy machine slows all of them
        with_accelerator = true;
        driver_run.run();
        with_accelerator = false;
        plain_run.run();
        products_run.run();
        transforms_run.run();
    }
    with_accelerator = true;
    if (!same || encryption() != plain_bytes) {
        std::puts("The ciphertext with the accelerator differs.");
        return 1;
    }
    const double plain = plain_run.us();
    const double driver = driver_run.us();
    const double products = products_run.us();
    const double transforms = transforms_run.us();
    const double accelerated = driver + product.total() + transform.total();

    std::printf(
        "\nBFV under a public key, %s (n = %zu, %u data prime%s), t = %u, %u units: %zu bytes, the same "
        "both ways\n",
        PARAMS.name, N, PARAMS.data_primes, PARAMS.data_primes == 1 ? "" : "s", PLAIN_MODULUS,
        1u << LOG2_UNITS, plain_bytes.size());
    std::printf(
        "  microseconds                         software         in  computing        out      total\n");
    line("u p0, u p1 (one command a prime)", products, product);
    line("transforms of noise and message", transforms, transform);
    std::printf("  %-34s %10.1f %43.1f\n", "sampling, encoding, frames, driver",
                plain - products - transforms, driver);
    std::printf("  %-34s %10.1f %43.1f\n", "an encryption", plain, accelerated);
    std::printf("  what the accelerator takes over: %.1f times as fast, transfers counted\n",
                (products + transforms) / (product.total() + transform.total()));
    std::printf("  once for a key: %.1f us for twiddles and factors\n", tables.computing);
}
