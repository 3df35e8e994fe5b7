// SPDX-License-Identifier: Apache-2.0
#include "device/schedule.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "device/timing.h"

namespace ciphermote::device
{

namespace
{

using Kind = Graph::Kind;

// What does not change between attempts.
struct Plan {
    const Graph &graph;
    const Machine &machine;
    Timing timing;
    unsigned first_key;
    Turn turn;
    std::vector<std::vector<Value>> readers;
    std::vector<double> rank; // the least time from the beginning of an instruction to the end of the job

    Plan(const Graph &given, const Machine &on, unsigned key, Turn when)
        : graph(given), machine(on), timing(on), first_key(key), turn(when), readers(given.nodes().size()),
          rank(given.nodes().size())
    {
        const auto &nodes = graph.nodes();
        for (Value v = 0; v < nodes.size(); v++) {
            for (const Sum::Operand &operand : nodes[v].operands) {
                for (const auto &read : {operand.value, operand.multiplier}) {
                    if (read && (readers[*read].empty() || readers[*read].back() != v)) {
                        readers[*read].push_back(v);
                    }
                }
            }
        }
        for (Value v = static_cast<Value>(nodes.size()); v-- > 0;) {
            double after = nodes[v].send ? timing.packet : 0;
            for (const Value reader : readers[v]) {
                after = std::max(after, rank[reader]);
            }
            rank[v] = after + timing.sum(nodes[v].operands.size()) +
                      (nodes[v].kind == Kind::transform ? timing.transform : 0);
        }
    }
};

// The free slots of a memory.
class Slots
{
  public:
    void give(unsigned slot)
    {
        free_.push_back(slot);
    }
    std::optional<unsigned> take()
    {
        if (free_.empty()) {
            return {};
        }
        const unsigned slot = free_.back();
        free_.pop_back();
        return slot;
    }
    std::size_t count() const
    {
        return free_.size();
    }

  private:
    std::vector<unsigned> free_;
};

// One attempt: always the instruction next that keeps the transformer busy, or else the one with the longest
// way to the end.
class Attempt
{
  public:
    Attempt(const Plan &plan, std::vector<double> rank)
        : plan_(plan), nodes_(plan.graph.nodes()), rank_(std::move(rank)), clock_(plan.timing),
          places_(nodes_.size()), reads_left_(nodes_.size()), issued_(nodes_.size())
    {
        for (Value v = 0; v < nodes_.size(); v++) {
            reads_left_[v] = plan_.readers[v].size();
        }
    }

    std::optional<Schedule> run()
    {
        if (!lay_out()) {
            return {};
        }
        for (std::size_t left = to_issue(); left > 0; left--) {
            const std::optional<Value> next = choose();
            if (!next || !issue(*next)) {
                return {};
            }
        }
        result_.program.instructions.back().end = true;
        result_.cycles = clock_.departed();
        return std::move(result_);
    }

  private:
    struct Located {
        Memory memory = Memory::a;
        unsigned slot = 0; // or the set
    };

    static std::size_t index(Memory memory)
    {
        return static_cast<std::size_t>(memory);
    }

    // Operands and results first: their slots are the same in every attempt.
    bool lay_out()
    {
        const unsigned turns = plan_.turn == Turn::alone ? 1 : 2, turn = plan_.turn == Turn::odd ? 1 : 0;
        std::array<unsigned, 2> operands{}, next{}, limit{plan_.machine.slots_a, plan_.first_key};
        for (const Graph::Node &node : nodes_) {
            operands[index(node.memory.value_or(Memory::a))] += node.kind == Kind::operand;
        }
        const unsigned results = static_cast<unsigned>(plan_.graph.results().size());
        const std::array<unsigned, 2> taken{turns * (operands[0] + results), turns * operands[1]};
        if (taken[0] > limit[0] || taken[1] > limit[1]) {
            return false;
        }
        next = {turn * operands[0], turn * operands[1]};
        for (Value v = 0; v < nodes_.size(); v++) {
            if (nodes_[v].kind == Kind::operand) {
                const Memory memory = *nodes_[v].memory;
                places_[v] = {memory, next[index(memory)]++};
                result_.program.receives.push_back({memory, places_[v].slot});
                arrivals_[v] = static_cast<unsigned>(result_.program.receives.size());
                issued_[v] = true;
            } else if (nodes_[v].kind == Kind::key) {
                places_[v] = {Memory::b, plan_.first_key + nodes_[v].key};
                issued_[v] = places_[v].slot < plan_.machine.slots_b;
            }
        }
        unsigned result = turns * operands[0] + turn * results;
        for (const Value v : plan_.graph.results()) {
            places_[v] = {Memory::a, result++};
        }
        for (std::size_t memory = 0; memory < 2; memory++) {
            for (unsigned slot = limit[memory]; slot-- > taken[memory];) {
                free_[memory].give(slot);
            }
        }
        clock_.receive(0, static_cast<unsigned>(result_.program.receives.size()));
        clock_.next_job(0);
        return true;
    }

    std::size_t to_issue() const
    {
        return static_cast<std::size_t>(std::count(issued_.begin(), issued_.end(), false));
    }

    bool reads(Value v, Value read) const
    {
        return std::find(plan_.readers[read].begin(), plan_.readers[read].end(), v) !=
               plan_.readers[read].end();
    }

    // Whether all that v reads is there, but perhaps one value.
    bool is_ready(Value v, std::optional<Value> but = {}) const
    {
        return std::all_of(nodes_[v].operands.begin(), nodes_[v].operands.end(),
                           [&](const Sum::Operand &operand) {
                               const auto there = [&](std::optional<Value> read) {
                                   return !read || issued_[*read] || read == but;
                               };
                               return there(operand.value) && there(operand.multiplier);
                           });
    }

    std::optional<unsigned> set_read_by(Value v) const
    {
        for (const Sum::Operand &operand : nodes_[v].operands) {
            if (operand.value && nodes_[*operand.value].kind == Kind::transform) {
                return places_[*operand.value].slot;
            }
        }
        return {};
    }

    // A transform needs a set, and its reader everything else that it reads: else it would keep the set.
    bool can_begin(Value v) const
    {
        if (issued_[v] || !is_ready(v)) {
            return false;
        }
        if (nodes_[v].kind != Kind::transform) {
            return true;
        }
        return (set_is_free_[0] || set_is_free_[1]) && is_ready(plan_.readers[v][0], v);
    }

    std::optional<Value> choose() const
    {
        struct Best {
            std::optional<Value> value{};
            double rank = -1;
            void offer(Value v, double of)
            {
                if (of > rank) {
                    value = v;
                    rank = of;
                }
            }
        };
        Best fill, drain, work, later;
        for (Value v = 0; v < nodes_.size(); v++) {
            if (!can_begin(v)) {
                continue;
            }
            const double start = start_of(v);
            if (start > clock_.now()) {
                later.offer(v, std::numeric_limits<double>::max() / 2 - start);
            } else if (nodes_[v].kind == Kind::transform) {
                fill.offer(v, rank_[v]);
            } else if (set_read_by(v)) {
                drain.offer(v, rank_[v]);
            } else {
                work.offer(v, rank_[v]);
            }
        }
        const Best &turn = fill.value ? fill : drain;
        if (work.value && (!turn.value || work.rank > turn.rank)) {
            const double takes = time_of(*work.value) + (turn.value ? time_of(*turn.value) : 0);
            if (!turn.value || clock_.now() + takes + slack_ <= clock_.transformer_free()) {
                return work.value;
            }
        }
        return turn.value ? turn.value : work.value ? work.value : later.value;
    }

    double time_of(Value v) const
    {
        return plan_.timing.sum(nodes_[v].operands.size());
    }

    unsigned arrivals_of(Value v) const
    {
        unsigned arrivals = 0;
        for (const Sum::Operand &operand : nodes_[v].operands) {
            for (const auto &read : {operand.value, operand.multiplier}) {
                if (read && nodes_[*read].kind == Kind::operand) {
                    arrivals = std::max(arrivals, arrivals_.at(*read));
                }
            }
        }
        return arrivals > awaited_ ? arrivals : 0;
    }

    double start_of(Value v) const
    {
        Instruction needs;
        needs.arrivals = arrivals_of(v);
        if (const auto set = set_read_by(v)) {
            needs.terms.push_back({Source::set, *set, false, 0});
        }
        return clock_.start_of(needs);
    }

    // A slot where v may be; it is kept for a value that is about to be read from the transformer.
    bool place(Value v)
    {
        if (nodes_[v].send || is_placed_.contains(v)) {
            return true;
        }
        const Memory memory = nodes_[v].memory.value_or(
            free_[0].count() >= free_[1].count() ? Memory::a : Memory::b);
        const std::optional<unsigned> slot = free_[index(memory)].take();
        if (slot) {
            places_[v] = {memory, *slot};
            is_placed_[v] = true;
        }
        return slot.has_value();
    }

    void free_operands(Value v)
    {
        for (Value read = 0; read < nodes_.size(); read++) {
            if (!reads(v, read) || --reads_left_[read] > 0) {
                continue;
            }
            if (nodes_[read].kind == Kind::transform) {
                set_is_free_[places_[read].slot] = true;
            } else if (nodes_[read].kind != Kind::key && !nodes_[read].send) {
                free_[index(places_[read].memory)].give(places_[read].slot);
            }
        }
    }

    Term term_of(const Sum::Operand &operand)
    {
        Term term{Source::one, 0, operand.multiplier.has_value(), 0};
        if (operand.value) {
            const Located &at = places_[*operand.value];
            const bool set = nodes_[*operand.value].kind == Kind::transform;
            term.source = set ? Source::set : at.memory == Memory::a ? Source::a : Source::b;
            term.slot = at.slot;
        }
        term.factor = operand.multiplier ? places_[*operand.multiplier].slot : weight(operand.weight);
        return term;
    }

    unsigned weight(std::uint32_t value)
    {
        std::vector<std::uint32_t> &weights = result_.program.weights;
        const auto [at, is_new] = weights_.try_emplace(value, static_cast<unsigned>(weights.size()));
        if (is_new) {
            weights.push_back(value);
        }
        return at->second;
    }

    bool issue(Value v)
    {
        const Graph::Node &node = nodes_[v];
        if (node.operands.size() > most_terms) {
            return false;
        }
        Instruction instruction;
        instruction.modulus = node.modulus;
        instruction.shift = node.shift;
        instruction.arrivals = arrivals_of(v);
        for (const Sum::Operand &operand : node.operands) {
            instruction.terms.push_back(term_of(operand));
        }
        awaited_ = std::max(awaited_, instruction.arrivals);
        free_operands(v);
        if (node.kind == Kind::transform) {
            const unsigned set = set_is_free_[0] && (!set_is_free_[1] || next_set_ == 0) ? 0 : 1;
            next_set_ = 1 - set;
            set_is_free_[set] = false;
            places_[v].slot = set;
            instruction.destination = Destination::transformer;
            instruction.slot = set;
            instruction.inverse = node.inverse;
            const Value reader = plan_.readers[v][0];
            if (nodes_[reader].kind == Kind::sum && !place(reader)) {
                return false;
            }
        } else {
            if (!place(v)) {
                return false;
            }
            instruction.destination =
                places_[v].memory == Memory::a ? Destination::a : Destination::b;
            instruction.slot = places_[v].slot;
            instruction.send = node.send;
        }
        if (node.send) {
            const auto &results = plan_.graph.results();
            result_.sent.push_back(
                static_cast<unsigned>(std::find(results.begin(), results.end(), v) - results.begin()));
        }
        issued_[v] = true;
        clock_.issue(instruction);
        result_.program.instructions.push_back(std::move(instruction));
        return true;
    }

    const Plan &plan_;
    const std::vector<Graph::Node> &nodes_;
    std::vector<double> rank_;
    Clock clock_;
    std::vector<Located> places_;
    std::vector<std::size_t> reads_left_;
    std::vector<bool> issued_;
    std::map<Value, unsigned> arrivals_; // of an operand: how many have arrived with it
    std::map<Value, bool> is_placed_;
    std::map<std::uint32_t, unsigned> weights_;
    std::array<Slots, 2> free_;
    std::array<bool, 2> set_is_free_{true, true};
    unsigned next_set_ = 0, awaited_ = 0;
    double slack_ = 0;
    Schedule result_;
};

} // namespace

std::optional<Schedule> schedule(const Graph &graph, const Machine &machine, unsigned first_key, Turn turn)
{
    const Plan plan(graph, machine, first_key, turn);
    return Attempt(plan, plan.rank).run();
}

} // namespace ciphermote::device
