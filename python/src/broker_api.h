/* SPDX-License-Identifier: Apache-2.0
 *
 * What a plugin needs of Mosquitto's interface for plugins, version 5 (Mosquitto 2.0 and later), so that the
 * package builds where Mosquitto's development files are not installed. tests/gateway/test_broker_plugin.py
 * compares it with them where they are. */
#ifndef CIPHERMOTE_BROKER_API_H
#define CIPHERMOTE_BROKER_API_H

#include <stdbool.h>
#include <stdint.h>

#define MOSQ_PLUGIN_VERSION 5

enum {
    MOSQ_ACL_READ = 0x01,
    MOSQ_ACL_WRITE = 0x02,
    MOSQ_ACL_SUBSCRIBE = 0x04,
    MOSQ_ACL_UNSUBSCRIBE = 0x08,
};

enum {
    MOSQ_LOG_NOTICE = 1 << 1,
    MOSQ_LOG_WARNING = 1 << 2,
};

enum {
    MOSQ_ERR_SUCCESS = 0,
    MOSQ_ERR_INVAL = 3,
    MOSQ_ERR_AUTH = 11,
    MOSQ_ERR_ACL_DENIED = 12,
    MOSQ_ERR_UNKNOWN = 13,
};

enum {
    MOSQ_EVT_ACL_CHECK = 2,
    MOSQ_EVT_BASIC_AUTH = 3,
    MOSQ_EVT_TICK = 9,
};

struct mosquitto;
struct mqtt5__property;
typedef struct mosquitto_plugin_id_t mosquitto_plugin_id_t;

struct mosquitto_opt {
    char *key;
    char *value;
};

struct mosquitto_evt_acl_check {
    void *future;
    struct mosquitto *client;
    const char *topic;
    const void *payload;
    struct mqtt5__property *properties;
    int access;
    uint32_t payloadlen;
    uint8_t qos;
    bool retain;
    void *future2[4];
};

struct mosquitto_evt_basic_auth {
    void *future;
    struct mosquitto *client;
    char *username;
    char *password;
    void *future2[4];
};

int mosquitto_callback_register(mosquitto_plugin_id_t *identifier, int event,
                                int (*callback)(int event, void *data, void *user_data),
                                const void *event_data, void *user_data);
void mosquitto_log_printf(int level, const char *format, ...);
const char *mosquitto_client_address(const struct mosquitto *client);
const char *mosquitto_client_username(const struct mosquitto *client);
int mosquitto_client_sub_count(const struct mosquitto *client);
int mosquitto_kick_client_by_username(const char *username, bool with_will);

#endif
