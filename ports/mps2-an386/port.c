/* SPDX-License-Identifier: Apache-2.0 */
/* port.h on a Cortex-M, with a board's UART and linker script: the same on every board here. */
#include "port.h"

#include "application.h"
#include "board.h"
#include "memory.h"

size_t port_receive(uint8_t *out, size_t length, uint32_t patience_ms)
{
    return uart_receive(out, length, patience_ms);
}

int port_send(const uint8_t *bytes, size_t length)
{
    uart_send(bytes, length);
    return 0;
}

size_t port_static_bytes(void)
{
    return static_bytes();
}

size_t port_ram_bytes(void)
{
    return ram_bytes();
}

void port_stack_watch(void)
{
    stack_paint();
}

size_t port_stack_used(void)
{
    return stack_used();
}

int main(void)
{
    return application_run();
}
