/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulates a mapped netlist with the delays of its cells, in picoseconds, and counts the transitions of each
 * net: what a dump of an event-driven simulation holds, without the dump.
 *
 * gates NETLIST STIMULUS PERIOD FIRST LAST OUTPUTS COUNTS
 *
 * rtl/tools/gates.py writes the netlist and describes it. One clock: at each rising edge flops and macros
 * take what they find, 200 ps later the inputs change to the next line of the stimulus (bits, 0 or 1). The
 * outputs go to OUTPUTS at the end of each cycle, the counts of the cycles from FIRST up to LAST to COUNTS.
 * Delays are inertial: a pulse shorter than a cell's delay does not leave it. Everything starts at 0.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SLOTS = 65536, INPUTS_OF_GATE = 6, INPUT_DELAY = 200 };

struct gate {
    int out, delay, inputs, in[INPUTS_OF_GATE];
    uint64_t truth;
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
static struct gate *gate;
static struct flop *flop;
static struct macro *macro;
static int *gated, *enable, *input, *output, *fanout, *first_fanout;
static unsigned char *value, *target, *active, *clock_runs;
static unsigned *serial;
static uint64_t *rises, *falls;
static int64_t *high;
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
    gate = room((size_t)gates, sizeof *gate);
    for (int i = 0; i < gates; i++) {
        gate[i].out = number(file);
        gate[i].delay = number(file);
        gate[i].inputs = number(file);
        for (int j = 0; j < gate[i].inputs; j++) {
            gate[i].in[j] = number(file);
        }
        if (fscanf(file, "%lx", &gate[i].truth) != 1) {
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

static void find_fanout(void)
{
    first_fanout = room((size_t)nets + 2, sizeof *first_fanout);
    size_t total = 0;
    for (int i = 0; i < gates; i++) {
        for (int j = 0; j < gate[i].inputs; j++) {
            first_fanout[gate[i].in[j] + 1]++;
            total++;
        }
    }
    for (int i = 0; i < nets; i++) {
        first_fanout[i + 1] += first_fanout[i];
    }
    fanout = room(total, sizeof *fanout);
    int *place = room((size_t)nets + 1, sizeof *place);
    for (int i = 0; i < gates; i++) {
        for (int j = 0; j < gate[i].inputs; j++) {
            const int net = gate[i].in[j];
            fanout[first_fanout[net] + place[net]++] = i;
        }
    }
    free(place);
}

/* The net takes the value after the delay, unless it changes its mind before. */
static void schedule(int net, unsigned char v, int delay)
{
    if (target[net] == v) {
        return;
    }
    target[net] = v;
    if (active[net]) {
        active[net] = 0;
        serial[net]++;
        if (value[net] == v) {
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
    active[net] = 1;
    const int at = (int)((now + delay) % SLOTS);
    event[e] = (struct event){net, slot[at], serial[net], v};
    slot[at] = e;
}

static void evaluate(const struct gate *g)
{
    unsigned row = 0;
    for (int j = 0; j < g->inputs; j++) {
        row |= (unsigned)value[g->in[j]] << j;
    }
    schedule(g->out, (unsigned char)(g->truth >> row & 1), g->delay);
}

static void change(int net, unsigned char v)
{
    value[net] = v;
    if (counting) {
        if (v) {
            rises[net]++;
            high[net] -= now;
        } else {
            falls[net]++;
            high[net] += now;
        }
    }
    for (int i = first_fanout[net]; i < first_fanout[net + 1]; i++) {
        evaluate(&gate[fanout[i]]);
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
        if (active[happens.net] && serial[happens.net] == happens.serial) {
            active[happens.net] = 0;
            serial[happens.net]++;
            change(happens.net, happens.value);
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
            p->states[value[p->enable] | value[p->write] << 1 | value[p->read] << 2]++;
        }
        int address = 0;
        for (int j = 0; j < m->address_bits; j++) {
            address |= value[p->address[j]] << j;
        }
        unsigned char *word = m->content + (size_t)(address % m->words) * (size_t)m->bits;
        for (int j = 0; j < m->bits && value[p->enable]; j++) {
            if (value[p->read] && p->out[j] >= 0) {
                schedule(p->out[j], word[j], p->delay);
            }
        }
        for (int j = 0; j < m->bits && value[p->enable]; j++) {
            if (value[p->write] && value[p->mask[j]]) {
                word[j] = value[p->data[j]];
            }
        }
    }
}

/* A rising edge: everything takes what it finds before anything changes, for all other delays are above 0. */
static void edge(void)
{
    for (int i = 0; i < clock_gates; i++) {
        clock_runs[i] = value[enable[i]];
        if (clock_runs[i]) {
            schedule(gated[i], 1, 0);
        }
    }
    for (int i = 0; i < flops; i++) {
        if (flop[i].clock < 0 || clock_runs[flop[i].clock]) {
            schedule(flop[i].out, value[flop[i].data], flop[i].delay);
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
        high[i] += value[i] ? sign * now : 0;
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

static void write_counts(FILE *file)
{
    for (int i = 0; i < nets; i++) {
        fprintf(file, "%lu %lu %ld\n", rises[i], falls[i], high[i]);
    }
    for (int i = 0; i < macros; i++) {
        for (int p = 0; p < macro[i].ports; p++) {
            for (int s = 0; s < 8; s++) {
                fprintf(file, "%lu ", macro[i].port[p].states[s]);
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
    find_fanout();
    value = room((size_t)nets, 1);
    target = room((size_t)nets, 1);
    active = room((size_t)nets, 1);
    serial = room((size_t)nets, sizeof *serial);
    rises = room((size_t)nets, sizeof *rises);
    falls = room((size_t)nets, sizeof *falls);
    high = room((size_t)nets, sizeof *high);
    clock_runs = room((size_t)clock_gates, 1);
    for (int i = 0; i < SLOTS; i++) {
        slot[i] = -1;
    }
    value[1] = target[1] = 1;
    for (int i = 0; i < gates; i++) {
        evaluate(&gate[i]);
    }
}

int main(int argc, char **argv)
{
    if (argc != 8) {
        fprintf(stderr, "usage: gates NETLIST STIMULUS PERIOD FIRST LAST OUTPUTS COUNTS\n");
        return 2;
    }
    prepare(opened(argv[1], "r"));
    FILE *stimulus = opened(argv[2], "r");
    FILE *results = opened(argv[6], "w");
    const int period = atoi(argv[3]);
    const int first = atoi(argv[4]);
    const int last = atoi(argv[5]);
    for (int cycle = 0; next_inputs(stimulus); cycle++) {
        if (cycle == first) {
            counting = 1;
            border(-1);
        }
        if (cycle == last) {
            border(1);
            counting = 0;
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
            fputc('0' + value[output[i]], results);
        }
        fputc('\n', results);
    }
    if (counting) {
        border(1);
    }
    write_counts(opened(argv[7], "w"));
    fclose(results);
    return 0;
}
