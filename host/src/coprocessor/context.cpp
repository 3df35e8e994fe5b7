// SPDX-License-Identifier: Apache-2.0
// Contexts that have a coprocessor, or none.
#include "coprocessor/offload.h"
#include "rns/inside.h"

namespace ciphermote
{

namespace
{

std::unique_ptr<const Tables> with_coprocessor(std::unique_ptr<Tables> t, std::unique_ptr<Coprocessor> given)
{
    if (given) {
        t->offload = std::make_shared<coprocessor::Offload>(*t, std::move(given));
    }
    return t;
}

} // namespace

Context::Context(Chain chain, const std::string &isa, std::unique_ptr<Coprocessor> coprocessor)
{
    std::unique_ptr<Tables> t = make_tables(std::move(chain), isa);
    check_secure(*t);
    tables_ = with_coprocessor(std::move(t), std::move(coprocessor));
}

Context::Context(Insecure given, const std::string &isa, std::unique_ptr<Coprocessor> coprocessor)
    : tables_(with_coprocessor(make_tables(std::move(given.chain), isa), std::move(coprocessor)))
{
}

CoprocessorUse Context::coprocessor_use() const
{
    return tables_->offload ? tables_->offload->use() : CoprocessorUse{};
}

} // namespace ciphermote
