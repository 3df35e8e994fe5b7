/* SPDX-License-Identifier: Apache-2.0 */
// SEAL's functions of wrapped.txt, through the accelerator while offload_to names one. What it does not serve
// (another degree, a prime of more than its width) SEAL computes. The linker's --wrap renames: a call of f
// from another object of SEAL's library reaches __wrap_f, and __real_f is SEAL's own. To be included once.
//
// In encrypt_zero_asymmetric of SEAL 4.4.3, nothing but these calls reads u after its transform or a
// product before its inverse transform, and Decryptor::decrypt transforms in place: that is where offload may
// compute calls together.
#ifndef CM_BENCH_SEAL_WRAP_H
#define CM_BENCH_SEAL_WRAP_H

#include <cstdint>

#include <seal/seal.h>
#include <seal/util/ntt.h>
#include <seal/util/polyarithsmallmod.h>
#include <seal/util/rlwe.h>

#include "offload.h"

namespace
{

offload *offload_to = nullptr; // null: SEAL computes everything
// Numbers of wrapped calls, while one is set, that went there, and that SEAL kept.
uint64_t offloaded_calls = 0;
uint64_t kept_calls = 0;

} // namespace

using seal::util::CoeffIter;
using seal::util::ConstCoeffIter;
using seal::util::NTTTables;

#define WRAPPED(name, symbol, result, ...) \
    result real_##name(__VA_ARGS__) __asm__("__real_" symbol); \
    result wrap_##name(__VA_ARGS__) __asm__("__wrap_" symbol); \
    result wrap_##name(__VA_ARGS__)

namespace
{

// Counts the call.
bool takes(size_t n, uint64_t q)
{
    if (offload_to == nullptr) {
        return false;
    }
    const bool serves = offload::serves(n, q);
    (serves ? offloaded_calls : kept_calls)++;
    return serves;
}

// A call whose calls may be computed together.
class together
{
  public:
    explicit together(unsigned products)
    {
        if (offload_to != nullptr) {
            offload_to->expect(products);
        }
    }
    ~together()
    {
        if (offload_to != nullptr) {
            offload_to->finish();
        }
    }
    together(const together &) = delete;
    together &operator=(const together &) = delete;
};

void forward(void real(CoeffIter, const NTTTables &), CoeffIter x, const NTTTables &tables)
{
    if (takes(tables.coeff_count(), tables.modulus().value())) {
        offload_to->forward(x.ptr(), tables.modulus().value(), tables.get_root());
    } else {
        real(x, tables);
    }
}

void inverse(void real(CoeffIter, const NTTTables &), CoeffIter x, const NTTTables &tables)
{
    if (takes(tables.coeff_count(), tables.modulus().value())) {
        offload_to->inverse(x.ptr(), tables.modulus().value(), tables.get_root());
    } else {
        real(x, tables);
    }
}

} // namespace

WRAPPED(ntt, "_ZN4seal4util21ntt_negacyclic_harveyENS0_7PtrIterIPmEERKNS0_9NTTTablesE", void, CoeffIter x,
        const NTTTables &tables)
{
    forward(real_ntt, x, tables);
}

WRAPPED(ntt_lazy, "_ZN4seal4util26ntt_negacyclic_harvey_lazyENS0_7PtrIterIPmEERKNS0_9NTTTablesE", void,
        CoeffIter x, const NTTTables &tables)
{
    forward(real_ntt_lazy, x, tables);
}

WRAPPED(inverse, "_ZN4seal4util29inverse_ntt_negacyclic_harveyENS0_7PtrIterIPmEERKNS0_9NTTTablesE", void,
        CoeffIter x, const NTTTables &tables)
{
    inverse(real_inverse, x, tables);
}

WRAPPED(inverse_lazy, "_ZN4seal4util34inverse_ntt_negacyclic_harvey_lazyENS0_7PtrIterIPmEERKNS0_9NTTTablesE",
        void, CoeffIter x, const NTTTables &tables)
{
    inverse(real_inverse_lazy, x, tables);
}

WRAPPED(dyadic, "_ZN4seal4util23dyadic_product_coeffmodENS0_7PtrIterIPKmEES4_mRKNS_7ModulusENS1_IPmEE", void,
        ConstCoeffIter a, ConstCoeffIter b, std::size_t n, const seal::Modulus &q, CoeffIter out)
{
    if (takes(n, q.value())) {
        offload_to->dyadic(a.ptr(), b.ptr(), q.value(), out.ptr());
    } else {
        real_dyadic(a, b, n, q, out);
    }
}

WRAPPED(encrypt_zero,
        "_ZN4seal4util23encrypt_zero_asymmetricERKNS_9PublicKeyERKNS_11SEALContextESt5arrayImLm4EEbRNS_"
        "10CiphertextE",
        void, const seal::PublicKey &key, const seal::SEALContext &context, seal::parms_id_type id,
        bool transformed, seal::Ciphertext &out)
{
    const together both(2);
    real_encrypt_zero(key, context, id, transformed, out);
}

WRAPPED(decrypt, "_ZN4seal9Decryptor7decryptERKNS_10CiphertextERNS_9PlaintextE", void, seal::Decryptor *self,
        const seal::Ciphertext &in, seal::Plaintext &out)
{
    const together one(1);
    real_decrypt(self, in, out);
}

#endif
