/* SPDX-License-Identifier: Apache-2.0 */
/* Phases as marks for the cycle model: reserved hints, which it counts as free. */
#include "phase.h"

#if APP_MARKS

#include "mark.h"

static phase current = PHASE_NONE;

phase phase_enter(phase next)
{
    const phase before = current;
    current = next;
    switch (before) {
    case PHASE_ENCRYPT:
        MARK_END(0);
        break;
    case PHASE_DECRYPT:
        MARK_END(1);
        break;
    case PHASE_STEP:
        MARK_END(2);
        break;
    default:
        break;
    }
    switch (next) {
    case PHASE_ENCRYPT:
        MARK_BEGIN(0);
        break;
    case PHASE_DECRYPT:
        MARK_BEGIN(1);
        break;
    case PHASE_STEP:
        MARK_BEGIN(2);
        break;
    default:
        break;
    }
    return before;
}

#else

phase phase_enter(phase next)
{
    return next;
}

#endif
