// SPDX-License-Identifier: Apache-2.0
#include "coprocessor/schedule.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <random>

#include "coprocessor/timing.h"

namespace ciphermote::coprocessor
{

namespace
{

using Kind = Graph::Kind;

// What does not change between attempts.
struct Plan {
    const Graph &graph;
    const Machine &machine;
    Timing timing;
    Layout layout;
    Turn turn;
    std::vector<std::vector<Value>> reads, readers; // each once
    std::vector<double> rank; // the least time from the beginning of an instruction to the end of the job

    Plan(const Graph &given, const Machine &on, const Layout &slots, Turn when)
        : graph(given), machine(on), timing(on), layout(slots), turn(when), reads(given.nodes().size()),
          readers(given.nodes().size()), rank(given.nodes().size())
    {
        const auto &nodes = graph.nodes();
        for (Value v = 0; v < nodes.size(); v++) {
            for (const Sum::Operand &operand : nodes[v].operands) {
                for (const auto &read : {operand.value, operand.multiplier}) {
                    if (read && (readers[*read].empty() || readers[*read].back() != v)) {
                        readers[*read].push_back(v);
                        reads[v].push_back(*read);
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

// What an attempt prefers.
struct Preference {
    std::vector<double> rank;
    double reserve; // cycles by which a transform is ready before the transformer needs it
};

// One attempt: always the instruction next that keeps the transformer busy, or else the one with the longest
// way to the end.
class Attempt
{
  public:
    Attempt(const Plan &plan, Preference preference)
        : plan_(plan), nodes_(plan.graph.nodes()), preference_(std::move(preference)), clock_(plan.timing),
          places_(nodes_.size()), reads_left_(nodes_.size()), waits_for_(nodes_.size()),
          arrivals_(nodes_.size()), is_placed_(nodes_.size())
    {
        for (Value v = 0; v < nodes_.size(); v++) {
            reads_left_[v] = plan_.readers[v].size();
            waits_for_[v] = plan_.reads[v].size();
            to_issue_ += nodes_[v].kind == Kind::sum || nodes_[v].kind == Kind::transform;
        }
    }

    std::optional<Schedule> run()
    {
        if (!lay_out()) {
            return {};
        }
        for (; to_issue_ > 0; to_issue_--) {
            const std::optional<Value> next = choose();
            if (!next || !issue(*next)) {
                return {};
            }
        }
        result_.program.instructions.back().end = true;
        result_.cycles = plan_.turn == Turn::alone ? clock_.departed() : clock_.now();
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
        std::array<unsigned, 2> operands{}, next{},
            limit{std::min(plan_.machine.slots_a, most_slots), plan_.layout.work_slots};
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
                is_there(v);
            } else if (nodes_[v].kind == Kind::key) {
                places_[v] = {Memory::b, plan_.layout.first_key + nodes_[v].key};
                is_there(v);
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
        // Those of a job that follows another have arrived meanwhile.
        const auto all = static_cast<unsigned>(result_.program.receives.size());
        clock_.receive(plan_.turn == Turn::alone ? 0 : -plan_.timing.packet * all, all);
        clock_.next_job(0);
        return true;
    }

    void is_there(Value v)
    {
        for (const Value reader : plan_.readers[v]) {
            if (--waits_for_[reader] == 0) {
                ready_.push_back(reader);
            }
        }
    }

    std::optional<unsigned> set_read_by(Value v) const
    {
        for (const Value read : plan_.reads[v]) {
            if (nodes_[read].kind == Kind::transform) {
                return places_[read].slot;
            }
        }
        return {};
    }

    // A transform needs a set, and its reader everything else that it reads: else it would keep the set.
    bool can_begin(Value v) const
    {
        return nodes_[v].kind != Kind::transform ||
               ((set_is_free_[0] || set_is_free_[1]) && waits_for_[plan_.readers[v][0]] == 1);
    }

    std::optional<Value> choose() const
    {
        struct Best {
            std::optional<Value> value{};
            double rank = -std::numeric_limits<double>::infinity();
            void offer(Value v, double of)
            {
                if (of > rank) {
                    value = v;
                    rank = of;
                }
            }
        };
        Best fill, drain, work, later;
        for (const Value v : ready_) {
            if (!can_begin(v)) {
                continue;
            }
            const double start = start_of(v);
            if (start > clock_.now()) {
                later.offer(v, -start);
            } else if (nodes_[v].kind == Kind::transform) {
                fill.offer(v, preference_.rank[v]);
            } else if (set_read_by(v)) {
                drain.offer(v, preference_.rank[v]);
            } else {
                work.offer(v, preference_.rank[v]);
            }
        }
        const Best &turn = fill.value ? fill : drain;
        if (work.value && (!turn.value || work.rank > turn.rank)) {
            const double takes = time_of(*work.value) + (turn.value ? time_of(*turn.value) : 0);
            if (!turn.value || clock_.now() + takes + preference_.reserve <= clock_.transformer_free()) {
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
        for (const Value read : plan_.reads[v]) {
            arrivals = std::max(arrivals, arrivals_[read]);
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
        if (nodes_[v].send || is_placed_[v]) {
            return true;
        }
        const Memory memory =
            nodes_[v].memory.value_or(free_[0].count() >= free_[1].count() ? Memory::a : Memory::b);
        const std::optional<unsigned> slot = free_[index(memory)].take();
        if (slot) {
            places_[v] = {memory, *slot};
            is_placed_[v] = true;
        }
        return slot.has_value();
    }

    void free_operands(Value v)
    {
        for (const Value read : plan_.reads[v]) {
            if (--reads_left_[read] > 0) {
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
            instruction.destination = places_[v].memory == Memory::a ? Destination::a : Destination::b;
            instruction.slot = places_[v].slot;
            instruction.send = node.send;
        }
        if (node.send) {
            const auto &results = plan_.graph.results();
            result_.sent.push_back(
                static_cast<unsigned>(std::find(results.begin(), results.end(), v) - results.begin()));
        }
        ready_.erase(std::find(ready_.begin(), ready_.end(), v));
        is_there(v);
        clock_.issue(instruction);
        result_.program.instructions.push_back(std::move(instruction));
        return true;
    }

    const Plan &plan_;
    const std::vector<Graph::Node> &nodes_;
    Preference preference_;
    Clock clock_;
    std::vector<Located> places_;
    std::vector<std::size_t> reads_left_, waits_for_;
    std::vector<unsigned> arrivals_; // of an operand: how many have arrived with it
    std::vector<bool> is_placed_;
    std::vector<Value> ready_;
    std::size_t to_issue_ = 0;
    std::map<std::uint32_t, unsigned> weights_;
    std::array<Slots, 2> free_;
    std::array<bool, 2> set_is_free_{true, true};
    unsigned next_set_ = 0, awaited_ = 0;
    Schedule result_;
};

// Attempts begin with the ranks and with the order of the graph, and go on from the best one: they change
// some of its ranks a little, at random.
class Search
{
  public:
    explicit Search(const Plan &plan) : plan_(plan)
    {
        Preference in_order{plan.rank, 0};
        for (std::size_t v = 0; v < in_order.rank.size(); v++) {
            in_order.rank[v] = static_cast<double>(in_order.rank.size() - v);
        }
        attempt({plan.rank, 0});
        attempt(in_order);
        const std::size_t attempts = work / plan.graph.nodes().size();
        for (std::size_t i = 0; i < attempts && best_; i++) {
            attempt(varied());
        }
    }
    std::optional<Schedule> best()
    {
        return std::move(best_);
    }

  private:
    static constexpr std::size_t work = 100'000; // polynomials that all attempts place

    void attempt(const Preference &preference)
    {
        std::optional<Schedule> found = Attempt(plan_, preference).run();
        if (found && (!best_ || found->cycles <= best_->cycles)) {
            best_ = std::move(found);
            preference_ = preference;
        }
    }
    double within(double bound)
    {
        return bound * static_cast<double>(random_()) / 0x1p31;
    }
    Preference varied()
    {
        Preference found = preference_;
        const double share = within(0.3), spread = within(0.4);
        for (double &rank : found.rank) {
            if (within(1) < share) {
                rank *= 1 - spread / 2 + within(spread);
            }
        }
        found.reserve = within(1) < 0.2 ? within(plan_.timing.transform) : found.reserve;
        return found;
    }

    const Plan &plan_;
    std::minstd_rand random_;
    std::optional<Schedule> best_;
    Preference preference_;
};

} // namespace

std::optional<Schedule> schedule(const Graph &graph, const Machine &machine, const Layout &layout, Turn turn)
{
    const Plan plan(graph, machine, layout, turn);
    return Search(plan).best();
}

} // namespace ciphermote::coprocessor
