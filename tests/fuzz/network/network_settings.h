/* SPDX-License-Identifier: Apache-2.0 */
/* A device's network, as ports/host/net_settings.py writes it, for the fuzz target. */
#ifndef NETWORK_SETTINGS_H
#define NETWORK_SETTINGS_H

#define NETWORK_GATEWAY_ADDRESS "10.0.2.2"
#define NETWORK_GATEWAY_NAME "localhost"
#define NETWORK_GATEWAY_PORT 8443u
#define NETWORK_BROKER_ADDRESS "10.0.2.2"
#define NETWORK_BROKER_NAME "localhost"
#define NETWORK_BROKER_PORT 8883u
#define NETWORK_FLEET "meters"
#define NETWORK_MQTT_USER "home.meters.1"
#define NETWORK_TOKEN "token"

#endif
