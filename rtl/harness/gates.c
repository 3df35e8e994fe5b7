/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulates a mapped netlist with the delays of its cells, in picoseconds, and counts the transitions of each
 * net: what a dump of an event-driven simulation holds, without the dump.
 *
 * gates NETLIST STIMULUS PERIOD OUTPUTS COUNTS FIRST LAST ...
 *
 * rtl/tools/gates.py writes the netlist and describes it. One clock: at each rising edge flops and macros
 * take what they find, 200 ps later the inputs change to the next line of the stimulus (bits, 0 or 1). The
 * outputs go to OUTPUTS at the end of each cycle, the counts of the cycles from FIRST up to LAST to COUNTS,
 * of one such window after another. Delays are inertial: a pulse shorter than a cell's delay does not leave
 * it. Everything starts at 0.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 65536, INPUTS_OF_GATE = 6, INPUT_DELAY = 200, LINE = 64 };

/*
 * A net and the gate that drives it, if one does, in a line of the cache. row: the values of the gate's
 * inputs, which is a row of its truth table. target: what the net is to become; active: whether that is under
 * way, as the event with this serial number.
 */
struct net {
    uint64_t truth;
    int64_t high;
    uint32_t rises, falls;
    unsigned serial, row;
    int delay, first_sink;
    unsigned char value, target, active;
};

struct sink {
    int net;
    unsigned bit;
};

struct gate {
    int out, inputs, in[INPUTS_OF_GATE];
};

struct flop {
    int out, delay, data, clock;
};

struct port {
    int clock, enable, write, read, delay, *address, *data, *mask, *out;
    uint64_t states[8];
};

struct macro {
    int words, bits, address_bits, ports;
    unsigned char *content;
    struct port port[2];
};

struct event {
    int net, next;
    unsigned serial;
    unsigned char value;
};

static int nets, gates, flops, clock_gates, macros, inputs, outputs;
static struct net *net;
static struct gate *gate;
static struct flop *flop;
static struct macro *macro;
static int *gated, *enable, *input, *output;
static struct sink *sink;
static unsigned char *clock_runs;
static int slot[SLOTS];
static struct event *event;
static int events, free_event = -1;
static int64_t now;
static int counting;

static void *room(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory) {
        fprintf(stderr, "gates: no memory\n");
        exit(1);
    }
    return memory;
}

static int number(FILE *file)
{
    int read;
    if (fscanf(file, "%d", &read) != 1) {
        fprintf(stderr, "gates: the netlist ends too soon\n");
        exit(1);
    }
    return read;
}

static int *numbers(FILE *file, int count)
{
    int *read = room((size_t)count, sizeof *read);
    for (int i = 0; i < count; i++) {
        read[i] = number(file);
    }
    return read;
}

static void read_port(FILE *file, struct port *p, const struct macro *m)
{
    p->clock = number(file);
    p->enable = number(file);
    p->write = number(file);
    p->read = number(file);
    p->delay = number(file);
    p->address = numbers(file, m->address_bits);
    p->data = numbers(file, m->bits);
    p->mask = numbers(file, m->bits);
    p->out = numbers(file, m->bits);
}

static void read_netlist(FILE *file)
{
    nets = number(file);
    gates = number(file);
    flops = number(file);
    clock_gates = number(file);
    macros = number(file);
    inputs = number(file);
    outputs = number(file);
    net = aligned_alloc(LINE, ((size_t)nets + 1) * sizeof *net);
    if (!net) {
        exit(1);
    }
    memset(net, 0, ((size_t)nets + 1) * sizeof *net);
    gate = room((size_t)gates, sizeof *gate);
    for (int i = 0; i < gates; i++) {
        gate[i].out = number(file);
        struct net *const driven = &net[gate[i].out];
        driven->delay = number(file);
        gate[i].inputs = number(file);
        for (int j = 0; j < gate[i].inputs; j++) {
            gate[i].in[j] = number(file);
        }
        if (fscanf(file, "%lx", &driven->truth) != 1) {
            exit(1);
        }
    }
    flop = room((size_t)flops, sizeof *flop);
    for (int i = 0; i < flops; i++) {
        flop[i].out = number(file);
        flop[i].delay = number(file);
        flop[i].data = number(file);
        flop[i].clock = number(file);
    }
    gated = room((size_t)clock_gates, sizeof *gated);
    enable = room((size_t)clock_gates, sizeof *enable);
    for (int i = 0; i < clock_gates; i++) {
        gated[i] = number(file);
        enable[i] = number(file);
    }
    macro = room((size_t)macros, sizeof *macro);
    for (int i = 0; i < macros; i++) {
        macro[i].words = number(file);
        macro[i].bits = number(file);
        macro[i].address_bits = number(file);
        macro[i].ports = number(file);
        macro[i].content = room((size_t)macro[i].words * (size_t)macro[i].bits, 1);
        for (int p = 0; p < macro[i].ports; p++) {
            read_port(file, &macro[i].port[p], &macro[i]);
        }
    }
    input = numbers(file, inputs);
    output = numbers(file, outputs);
}

static void find_sinks(void)
{
    size_t total = 0;
    for (int i = 0; i < gates; i++) {
        for (int j = 0; j < gate[i].inputs; j++) {
            net[gate[i].in[j] + 1].first_sink++;
            total++;
        }
    }
    for (int i = 0; i < nets; i++) {
        net[i + 1].first_sink += net[i].first_sink;
    }
    sink = room(total, sizeof *sink);
    int *place = room((size_t)nets, sizeof *place);
    for (int i = 0; i < gates; i++) {
        for (int j = 0; j < gate[i].inputs; j++) {
            const int in = gate[i].in[j];
            sink[net[in].first_sink + place[in]++] = (struct sink){gate[i].out, 1u << j};
            net[gate[i].out].row |= (unsigned)net[in].value << j;
        }
    }
    free(place);
}

/* The net takes the value after the delay, unless it changes its mind before. */
static void schedule(int which, unsigned char v, int delay)
{
    struct net *const n = &net[which];
    if (n->target == v) {
        return;
    }
    n->target = v;
    if (n->active) {
        n->active = 0;
        n->serial++;
        if (n->value == v) {
            return;
        }
    }
    int e = free_event;
    if (e >= 0) {
        free_event = event[e].next;
    } else {
        if ((events & (events - 1)) == 0) {
            event = realloc(event, (size_t)(events ? 2 * events : 1) * sizeof *event);
            if (!event) {
                exit(1);
            }
        }
        e = events++;
    }
    n->active = 1;
    const int at = (int)((now + delay) % SLOTS);
    event[e] = (struct event){which, slot[at], n->serial, v};
    slot[at] = e;
}

static void evaluate(int which)
{
    const struct net *const n = &net[which];
    schedule(which, (unsigned char)(n->truth >> n->row & 1), n->delay);
}

static void change(struct net *n, unsigned char v)
{
    n->value = v;
    if (counting) {
        if (v) {
            n->rises++;
            n->high -= now;
        } else {
            n->falls++;
            n->high += now;
        }
    }
    const int end = n[1].first_sink;
    for (int i = n->first_sink; i < end; i++) {
        net[sink[i].net].row ^= sink[i].bit;
        evaluate(sink[i].net);
    }
}

static void run_slot(void)
{
    const int at = (int)(now % SLOTS);
    while (slot[at] >= 0) {
        const int e = slot[at];
        const struct event happens = event[e];
        slot[at] = happens.next;
        event[e].next = free_event;
        free_event = e;
        struct net *const n = &net[happens.net];
        if (n->active && n->serial == happens.serial) {
            n->active = 0;
            n->serial++;
            change(n, happens.value);
        }
    }
}

static void clock_macro(struct macro *m)
{
    for (int i = 0; i < m->ports; i++) {
        struct port *p = &m->port[i];
        if (p->clock >= 0 && !clock_runs[p->clock]) {
            continue;
        }
        if (counting) {
            p->states[net[p->enable].value | net[p->write].value << 1 | net[p->read].value << 2]++;
        }
        int address = 0;
        for (int j = 0; j < m->address_bits; j++) {
            address |= net[p->address[j]].value << j;
        }
        unsigned char *word = m->content + (size_t)(address % m->words) * (size_t)m->bits;
        for (int j = 0; j < m->bits && net[p->enable].value; j++) {
            if (net[p->read].value && p->out[j] >= 0) {
                schedule(p->out[j], word[j], p->delay);
            }
        }
        for (int j = 0; j < m->bits && net[p->enable].value; j++) {
            if (net[p->write].value && net[p->mask[j]].value) {
                word[j] = net[p->data[j]].value;
            }
        }
    }
}

/* A rising edge: everything takes what it finds before anything changes, for all other delays are above 0. */
static void edge(void)
{
    for (int i = 0; i < clock_gates; i++) {
        clock_runs[i] = net[enable[i]].value;
        if (clock_runs[i]) {
            schedule(gated[i], 1, 0);
        }
    }
    for (int i = 0; i < flops; i++) {
        if (flop[i].clock < 0 || clock_runs[flop[i].clock]) {
            schedule(flop[i].out, net[flop[i].data].value, flop[i].delay);
        }
    }
    for (int i = 0; i < macros; i++) {
        clock_macro(&macro[i]);
    }
}

/* Half a cycle later, which latches see alone. */
static void falling_edge(void)
{
    for (int i = 0; i < clock_gates; i++) {
        schedule(gated[i], 0, 0);
    }
}

/* high: a net that is 1 at the window's beginning rose then, and at its end it falls. */
static void border(int64_t sign)
{
    for (int i = 0; i < nets; i++) {
        net[i].high += net[i].value ? sign * now : 0;
    }
}

static int next_inputs(FILE *stimulus)
{
    for (int i = 0; i < inputs; i++) {
        const int bit = fgetc(stimulus);
        if (bit != '0' && bit != '1') {
            return 0;
        }
        schedule(input[i], (unsigned char)(bit - '0'), INPUT_DELAY);
    }
    return fgetc(stimulus) == '\n';
}

/* Writes the counts of a window, and begins those of the next. */
static void write_counts(FILE *file)
{
    for (int i = 0; i < nets; i++) {
        fprintf(file, "%u %u %ld\n", net[i].rises, net[i].falls, net[i].high);
        net[i].rises = net[i].falls = 0;
        net[i].high = 0;
    }
    for (int i = 0; i < macros; i++) {
        for (int p = 0; p < macro[i].ports; p++) {
            for (int s = 0; s < 8; s++) {
                fprintf(file, "%lu ", macro[i].port[p].states[s]);
                macro[i].port[p].states[s] = 0;
            }
            fprintf(file, "\n");
        }
    }
}

static FILE *opened(const char *path, const char *mode)
{
    FILE *file = fopen(path, mode);
    if (!file) {
        fprintf(stderr, "gates: cannot open %s\n", path);
        exit(1);
    }
    return file;
}

static void prepare(FILE *file)
{
    read_netlist(file);
    clock_runs = room((size_t)clock_gates, 1);
    for (int i = 0; i < SLOTS; i++) {
        slot[i] = -1;
    }
    net[1].value = net[1].target = 1;
    find_sinks();
    for (int i = 0; i < gates; i++) {
        evaluate(gate[i].out);
    }
}

int main(int argc, char **argv)
{
    if (argc < 8 || argc % 2 != 0) {
        fprintf(stderr, "usage: gates NETLIST STIMULUS PERIOD OUTPUTS COUNTS FIRST LAST ...\n");
        return 2;
    }
    prepare(opened(argv[1], "r"));
    FILE *stimulus = opened(argv[2], "r");
    FILE *results = opened(argv[4], "w");
    FILE *counts = opened(argv[5], "w");
    const int period = atoi(argv[3]);
    int window = 6;
    for (int cycle = 0; next_inputs(stimulus); cycle++) {
        if (counting && cycle == atoi(argv[window + 1])) {
            border(1);
            counting = 0;
            write_counts(counts);
            window += 2;
        }
        if (window < argc && cycle == atoi(argv[window])) {
            counting = 1;
            border(-1);
        }
        if (cycle) {
            edge();
        }
        const int64_t middle = now + period / 2;
        for (const int64_t end = now + period; now < end; now++) {
            if (now == middle) {
                falling_edge();
            }
            run_slot();
        }
        for (int i = 0; i < outputs; i++) {
            fputc('0' + net[output[i]].value, results);
        }
        fputc('\n', results);
    }
    if (counting) {
        border(1);
        write_counts(counts);
    }
    fclose(counts);
    fclose(results);
    return 0;
}
