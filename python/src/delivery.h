/* SPDX-License-Identifier: Apache-2.0 */
/* The hosted library's deliveries (host/include/ciphermote/delivery.h) for Python. */
#ifndef CIPHERMOTE_PYTHON_DELIVERY_H
#define CIPHERMOTE_PYTHON_DELIVERY_H

#include <span>

#include "ciphermote/delivery.h"
#include "library.h"

namespace ciphermote
{

inline std::span<const uint8_t> span_of(const nb::bytes &bytes)
{
    return {static_cast<const uint8_t *>(bytes.data()), bytes.size()};
}

template <class Array> nb::bytes to_bytes(const Array &bytes)
{
    return nb::bytes(std::data(bytes), std::size(bytes));
}

/*
 * Check many deliveries at once, without Python's lock: (params, or None for packets; tag key; newest;
 * bytes).
 */
using Given = std::tuple<nb::object, nb::bytes, uint64_t, nb::bytes>;
inline std::vector<std::unique_ptr<Delivery>> check_deliveries(const std::vector<Given> &given)
{
    struct Task {
        const Params *params;
        const uint8_t *key;
        uint64_t newest;
        std::span<const uint8_t> bytes;
    };
    std::vector<Task> tasks;
    std::vector<std::unique_ptr<Delivery>> out;
    for (const auto &[params, key, newest, data] : given) {
        tasks.push_back({params.is_none() ? nullptr : nb::cast<const Params *>(params),
                         bytes_of(key, CM_TAG_KEY_BYTES, "the tag key"), newest, span_of(data)});
        out.push_back(std::make_unique<Delivery>());
    }
    const nb::gil_scoped_release released;
    for (size_t i = 0; i < tasks.size(); i++) {
        const Task &task = tasks[i];
        out[i]->read(task.params ? task.params->get() : nullptr, task.key, task.newest, task.bytes);
    }
    return out;
}

/* What check_deliveries has accepted and a disk has kept: all but tags and residues is checked again. */
inline std::unique_ptr<Delivery> read_stored(const Params *params, uint64_t counter, const nb::bytes &data)
{
    auto out = std::make_unique<Delivery>();
    {
        const std::span<const uint8_t> bytes = span_of(data);
        const nb::gil_scoped_release released;
        out->read(params ? params->get() : nullptr, nullptr, counter, bytes);
    }
    check(out->status());
    return out;
}

inline void bind_deliveries(nb::module_ &m)
{
    using Part = Delivery::Part;
    nb::class_<Delivery>(m, "Delivery", "Tagged frames or packets of one attempt; see check_deliveries.")
        .def_prop_ro(
            "status", [](const Delivery &d) { return StatusError(d.status()).name(); },
            "CM_OK, or why it is refused; all else is as CM_OK alone has it.")
        .def_prop_ro(
            "fault", [](const Delivery &d) { return cm_status_text(d.status()); }, "The status in words.")
        .def_prop_ro("failed_at", &Delivery::failed_at, "Where the frame or packet begins that is refused.")
        .def_prop_ro("set", &Delivery::set, "The compact set's id; 0 for frames.")
        .def_prop_ro("device", [](const Delivery &d) { return d.first().device; })
        .def_prop_ro("epoch", [](const Delivery &d) { return d.first().epoch; })
        .def_prop_ro("counter", &Delivery::counter)
        .def_prop_ro("window", &Delivery::window)
        .def_prop_ro("random", [](const Delivery &d) { return to_bytes(d.first().random); })
        .def_prop_ro("key_id", [](const Delivery &d) { return d.first().info.key_id; })
        .def_prop_ro("scheme", [](const Delivery &d) { return static_cast<int>(d.first().info.scheme); })
        .def_prop_ro(
            "primes", [](const Delivery &d) { return d.first().info.primes; }, "Residues a coefficient.")
        .def_prop_ro("components", [](const Delivery &d) { return d.first().info.components; })
        .def_prop_ro("ntt_form", [](const Delivery &d) { return d.first().info.ntt_form; })
        .def_prop_ro("xof", [](const Delivery &d) { return static_cast<int>(d.first().info.xof); })
        .def_prop_ro("scale", &Delivery::scale, "CKKS's; 1 for BFV.")
        .def_prop_ro("seeded", &Delivery::seeded, "Whether a seed's frame takes place 0.")
        .def_prop_ro(
            "agreed", [](const Delivery &d) { return to_bytes(d.agreed()); },
            "What all frames of a set share; byte 5: log2 of the tiles, 0 of a seed alone.")
        .def_prop_ro("tags", &Delivery::tags, "The sum of all tags, modulo 2^64.")
        .def_prop_ro("covered", &Delivery::covered, "How many places the parts take.")
        .def_prop_ro("places", &Delivery::places,
                     "How many frames a whole set of these has; 0 for packets, which do not say.")
        .def_prop_ro(
            "parts",
            [](const Delivery &d) {
                std::vector<std::tuple<unsigned, unsigned, uint64_t, size_t, size_t>> out;
                for (const Part &p : d.parts()) {
                    out.emplace_back(p.place, p.count, p.tag, p.at, p.length);
                }
                return out;
            },
            "(place, places, tag, where it begins, bytes) of each; a packet's places are its positions.");
    m.def("check_deliveries", &check_deliveries, "deliveries"_a,
          "Every byte of each (params, None for packets; tag key; newest counter; bytes), without the lock.");
    m.def("read_stored", &read_stored, "params"_a.none(), "counter"_a, "data"_a,
          "What check_deliveries accepted: all but tags and residues is checked again. counter: of packets.");
}

} // namespace ciphermote

#endif
