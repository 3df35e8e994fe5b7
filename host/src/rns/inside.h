// SPDX-License-Identifier: Apache-2.0
// How the library's own files reach what its objects hold, which the public headers keep to themselves.
#ifndef CM_HOST_RNS_INSIDE_H
#define CM_HOST_RNS_INSIDE_H

#include <memory>
#include <utility>

#include "ciphermote/context.h"
#include "rns/tables.h"

namespace ciphermote
{

// A pointer that is not null.
template <class Pointer> const Pointer &held(const Pointer &pointer)
{
    if (!pointer) {
        throw Error("The context is a null pointer, or an object is used that was moved from, or that no "
                    "result was written into yet: give a context that was made, and use the object that was "
                    "moved to.");
    }
    return pointer;
}

// Every class but Context keeps what it holds in a Body, which its own source file defines.
struct Inside {
    static const Tables &tables(const Context &context)
    {
        return *context.tables_;
    }
    template <class Object> static auto &body(Object &object)
    {
        return *held(object.body_);
    }
    template <class Object> static const typename Object::Body &body(const Object &object)
    {
        return *held(object.body_);
    }
    // Gives the object a body of these fields.
    template <class Object, class... Field> static auto &fill(Object &object, Field &&...fields)
    {
        object.body_.reset(new typename Object::Body{std::forward<Field>(fields)...});
        return *object.body_;
    }
    template <class Object, class... Field> static Object make(Field &&...fields)
    {
        using Body = typename Object::Body;
        return Object(std::unique_ptr<Body>(new Body{std::forward<Field>(fields)...}));
    }
};

inline const Tables &tables_of(const Context &context)
{
    return Inside::tables(context);
}

inline const Tables &tables_of(const std::shared_ptr<const Context> &context)
{
    return Inside::tables(*held(context));
}

// Those of the object's context.
template <class Object> const Tables &tables_of(const Object &object)
{
    return tables_of(object.context());
}

// Whether operands of the two contexts go together.
inline bool go_together(const std::shared_ptr<const Context> &a, const std::shared_ptr<const Context> &b)
{
    return a == b || *held(a) == *held(b);
}

} // namespace ciphermote

#endif
