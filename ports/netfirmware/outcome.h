/* SPDX-License-Identifier: Apache-2.0 */
/* How a step over the network ended. */
#ifndef OUTCOME_H
#define OUTCOME_H

typedef enum outcome {
    DONE,
    TRY_AGAIN, /* the network, the server or the broker was away, or had too much to do */
    REFUSED    /* trying again changes nothing until somebody has acted */
} outcome;

/* Why the last step did not end as DONE: a whole sentence. Set by the step that failed. */
const char *outcome_sentence(void);
outcome outcome_set(outcome kind, const char *sentence);

#endif
