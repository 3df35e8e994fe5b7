# SPDX-License-Identifier: Apache-2.0
"""The fleet's demo: a gateway, a broker and twenty devices of three kinds, through kills of what serves them.

site       the gateway and its broker, as processes that can be killed and started again
station    a device's connection to the broker
diary      what each device measured, and what became of it
links      the two ways to the gateway, HTTPS and MQTT
linux_device, boards, unos  the devices
run        the demo's course; report: what it found
"""
