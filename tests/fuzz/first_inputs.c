/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a target's first inputs into the directory of its corpus. */
#include <stdio.h>

#include "fuzz.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size)
{
    (void)data;
    (void)max_size;
    return size; /* nothing is mutated here */
}

static const char *directory;

static void store(const char *name, const uint8_t *bytes, size_t size)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "wb");
    fuzz_expect(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0,
                "the corpus can be written");
}

int main(int count, char **arguments)
{
    fuzz_expect(count == 2, "there is one argument, a directory");
    directory = arguments[1];
    fuzz_first_inputs(store);
    return 0;
}
