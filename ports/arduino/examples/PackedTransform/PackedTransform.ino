/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 1024 residues modulo 12289, transformed there and back on a board with 2 KB of RAM: packed, they take 1,792
 * bytes. Serial's buffers have no room beside them, so bytes go to the UART one by one, at 38,400 bit/s. It
 * needs no keys.
 */
#include <CiphermoteNtt.h>

/* Prints without a buffer. */
class Uart : public Print
{
  public:
    void begin()
    {
        UBRR0 = F_CPU / 16 / 38400 - 1;
        UCSR0B = _BV(TXEN0);
    }
    size_t write(uint8_t byte) override
    {
        UDR0 = byte;
        while (!(UCSR0A & _BV(TXC0))) {
        }
        UCSR0A |= _BV(TXC0); /* clears it */
        return 1;
    }
};

static Uart uart;
static CiphermotePackedNtt a;

static uint16_t coefficient(uint16_t i)
{
    return (uint32_t)(i + 1) * 7919 % CiphermotePackedNtt::modulus;
}

/* The sum of all coefficients times root^i: the polynomial at a root. */
static uint16_t value_at(uint16_t root)
{
    uint32_t value = 0;
    for (uint16_t i = CiphermotePackedNtt::size; i-- > 0;) {
        value = (value * root + coefficient(i)) % CiphermotePackedNtt::modulus;
    }
    return value;
}

static uint32_t timed(void (CiphermotePackedNtt::*transform)())
{
    const uint32_t start = micros();
    (a.*transform)();
    return micros() - start;
}

void setup()
{
    uart.begin();
    bool right = true;
    for (uint16_t i = 0; i < CiphermotePackedNtt::size; i++) {
        right = a.set(i, coefficient(i)) == CM_OK && right;
    }
    const uint32_t there = timed(&CiphermotePackedNtt::forward);
    right = a.get(0) == value_at(7) && right; /* 7 is the smallest 2048th root of unity */
    const uint32_t back = timed(&CiphermotePackedNtt::inverse);
    for (uint16_t i = 0; i < CiphermotePackedNtt::size; i++) {
        right = a.get(i) == coefficient(i) && right;
    }
    uart.print(F("forward, us: "));
    uart.println(there);
    uart.print(F("inverse, us: "));
    uart.println(back);
    uart.println(right ? F("done") : F("WRONG: the arithmetic of this board is faulty"));
}

void loop()
{
}
