// SPDX-License-Identifier: Apache-2.0
#include "device/offload.h"

#include <algorithm>
#include <string>

#include "evaluate/key_switching.h"

namespace ciphermote::device
{

namespace
{

std::uint32_t two_to(unsigned bits, const Modulus &modulus)
{
    return modulus.residue(std::uint64_t{1} << bits);
}

words twiddles_of(const Modulus &modulus, const Machine &machine)
{
    words twiddles(std::size_t{1} << machine.log2_n);
    const std::uint32_t by = two_to(machine.twiddle_bits, modulus);
    for (std::size_t i = 0; i < twiddles.size(); i++) {
        twiddles[i] = modulus.multiply(modulus.root(i), by);
    }
    return twiddles;
}

} // namespace

Offload::Offload(const Tables &t, std::unique_ptr<Device> device)
    : device_(std::move(device)), machine_(device_->machine())
{
    if (machine_.log2_n != t.chain.log2_n) {
        throw Error("The device computes at n = " + std::to_string(std::size_t{1} << machine_.log2_n) +
                    ", and the chain is for n = " + std::to_string(t.n()) + ": take a device of that degree.");
    }
    const std::vector<const Modulus *> moduli = moduli_of(t);
    for (unsigned m = 0; m < std::min<std::size_t>(moduli.size(), std::min(machine_.moduli, most_moduli)); m++) {
        device_->load_modulus(m, moduli[m]->q(), twiddles_of(*moduli[m], machine_));
    }
}

unsigned Offload::key_polynomials(const Tables &t) const
{
    return static_cast<unsigned>(t.digits.size()) * 2 * t.all();
}

// A key has the last slots of memory B.
std::optional<Schedule> Offload::scheduled(const Tables &t, const Operation &operation, const Circuit &circuit,
                                           Turn turn) const
{
    const unsigned slots = std::min(machine_.slots_b, most_slots);
    const unsigned key = operation.uses_key() ? key_polynomials(t) : 0;
    if (key > slots || !circuit.graph.fits(machine_) || circuit.operands.size() > most_arrivals) {
        return {};
    }
    std::optional<Schedule> found = schedule(circuit.graph, machine_, slots - key, turn);
    if (found && (found->program.weights.size() > machine_.weights ||
                  encode(found->program, 0).size() > machine_.program)) {
        return {};
    }
    return found;
}

Offload::Prepared &Offload::prepared(const Tables &t, const Operation &operation)
{
    const auto known = prepared_.find(operation);
    if (known != prepared_.end()) {
        return known->second;
    }
    Prepared made{circuit(t, operation, machine_.montgomery_bits), {}};
    for (const Turn turn : {Turn::alone, Turn::even, Turn::odd}) {
        if (std::optional<Schedule> found = scheduled(t, operation, made.circuit, turn)) {
            made.turns.emplace(turn, Loaded{std::move(*found), {}});
        }
    }
    return prepared_.emplace(operation, std::move(made)).first->second;
}

// Programs and weights lie behind one another; where one does not fit any more, the memory begins anew.
unsigned Offload::address(Loaded &loaded)
{
    if (loaded.address) {
        return *loaded.address;
    }
    const Program &program = loaded.schedule.program;
    if (weights_ + program.weights.size() > machine_.weights) {
        forget_programs();
    }
    std::vector<std::uint64_t> words = encode(program, weights_);
    if (program_words_ + words.size() > machine_.program) {
        forget_programs();
        words = encode(program, weights_);
    }
    device_->load_weights(weights_, program.weights);
    device_->load_program(program_words_, words);
    loaded.address = program_words_;
    weights_ += static_cast<unsigned>(program.weights.size());
    program_words_ += static_cast<unsigned>(words.size());
    return *loaded.address;
}

void Offload::forget_programs()
{
    for (auto &[operation, prepared] : prepared_) {
        for (auto &[turn, loaded] : prepared.turns) {
            loaded.address.reset();
        }
    }
    weights_ = program_words_ = 0;
}

// From the layout and the form of key switching's kernels (evaluate/key_switching.h).
void Offload::load_key(const Tables &t, const SwitchingKey &key)
{
    if (key_ == key.number) {
        return;
    }
    key_.reset();
    const std::size_t n = t.n(), lanes = t.kernels->lanes, digits = t.digits.size();
    const unsigned first = std::min(machine_.slots_b, most_slots) - key_polynomials(t);
    words residues(n);
    for (unsigned m = 0; m < t.all(); m++) {
        const Modulus &modulus = t.moduli[m];
        const std::uint32_t by =
            modulus.multiply(modulus.inverse(two_to(32, modulus)), two_to(machine_.montgomery_bits, modulus));
        for (std::size_t part = 0; part < 2 * digits; part++) {
            for (std::size_t i = 0; i < n; i++) {
                const std::size_t vector = m * (n / lanes) + i / lanes;
                const auto centred =
                    static_cast<std::int32_t>(key.residues[(vector * 2 * digits + part) * lanes + i % lanes]);
                residues[i] = modulus.multiply(modulus.residue_of({centred, 0}), by);
            }
            const auto digit = static_cast<unsigned>(part / 2), component = static_cast<unsigned>(part % 2);
            device_->load_polynomial(Memory::b, first + key_index(t, digit, component, m), residues);
        }
    }
    key_ = key.number;
}

bool Offload::holds(const Tables &t, const Operation &operation)
{
    const std::lock_guard lock(mutex_);
    return prepared(t, operation).turns.contains(Turn::alone);
}

DeviceUse Offload::use() const
{
    const std::lock_guard lock(mutex_);
    return use_;
}

bool Offload::run(const Tables &t, const Operation &operation, const SwitchingKey *key,
                  std::span<const Call> calls)
{
    const std::lock_guard lock(mutex_);
    Prepared &made = prepared(t, operation);
    if (!made.turns.contains(Turn::alone)) {
        use_.on_host += calls.size();
        return false;
    }
    if (key) {
        load_key(t, *key);
    }
    const bool overlap = calls.size() > 1 && made.turns.contains(Turn::even) && made.turns.contains(Turn::odd);
    std::vector<Device::Job> jobs;
    for (std::size_t i = 0; i < calls.size(); i++) {
        const Turn turn = !overlap ? Turn::alone : i % 2 ? Turn::odd : Turn::even;
        Loaded &loaded = made.turns.at(turn);
        Device::Job &job = jobs.emplace_back();
        job.program = address(loaded);
        for (const Polynomial &polynomial : made.circuit.operands) {
            job.operands.push_back(calls[i].operand(polynomial));
        }
        for (const unsigned result : loaded.schedule.sent) {
            job.results.push_back(calls[i].result(made.circuit.results[result]));
        }
        if (!overlap) {
            device_->run({&job, 1});
        }
    }
    if (overlap) {
        device_->run(jobs);
    }
    use_.on_device += calls.size();
    return true;
}

} // namespace ciphermote::device
