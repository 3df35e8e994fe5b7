/* SPDX-License-Identifier: Apache-2.0
 *
 * A plugin of Mosquitto that has its gateway decide who is let in, gives each device its own topics and no
 * others, and bounds what a device and a tenant have on their way, so that a flood of one leaves the others
 * their place in the gateway's queue. It never lets anybody in by itself: without the gateway nobody is.
 *
 * It asks over a local socket of packets (python/ciphermote/gateway/broker_gate.py), one answer for each
 * question. Mosquitto calls a plugin from one thread. */
#include "broker_api.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define ROOT "ciphermote/"
#define GATEWAY "gateway-" /* how users of gateways begin, which have no dot */
#define SUBSCRIPTION "$share/gateways/" ROOT "+/up"

enum {
    PACKET_BYTES = 65536,
    ANSWER_MS = 1000, /* longer than the gateway takes; the broker waits meanwhile */
    POLL_MS = 200,
    BUCKETS = 16384, /* a power of two */
    MOST_SUBSCRIPTIONS = 8,
    MOST_FILES = 65536,
    /* On their way to the gateway and not yet answered by it: */
    DEVICE_MESSAGES = 64,
    DEVICE_BYTES = 8 << 20, /* two of the largest */
    TENANT_MESSAGES = 512,
    TENANT_BYTES = 32 << 20,
    /* What has had no answer for so long was lost on the way. */
    LOST_MS = 10000,
};

/* What a device or a tenant has on its way. sizes: of a device, a ring that begins at first. */
struct load {
    struct load *next;
    uint64_t bytes;
    int64_t moved_ms; /* when something was last answered, or began to be on its way */
    unsigned count;
    unsigned first;
    uint32_t sizes[DEVICE_MESSAGES];
    size_t name_bytes;
    char name[];
};

static struct {
    char *path;
    int link;          /* -1: not connected */
    int64_t silent_ms; /* until when a gateway that did not answer is not asked again */
    int64_t polled_ms; /* when it last told who was revoked; 0: never */
    bool is_away;      /* and that has been logged */
} gate = {.link = -1};

static struct load *devices[BUCKETS];
static struct load *tenants[BUCKETS];

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* --- what is on its way --------------------------------------------------------------------------------- */

static struct load **place_of(struct load **table, const char *name, size_t name_bytes)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < name_bytes; i++)
        hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    struct load **place = &table[hash & (BUCKETS - 1)];
    while (*place && ((*place)->name_bytes != name_bytes || memcmp((*place)->name, name, name_bytes) != 0))
        place = &(*place)->next;
    return place;
}

/* The one of this name, made if it is not there. NULL without memory. */
static struct load *load_of(struct load **table, const char *name, size_t name_bytes)
{
    struct load **place = place_of(table, name, name_bytes);
    if (!*place) {
        *place = calloc(1, sizeof **place + name_bytes);
        if (*place) {
            (*place)->name_bytes = name_bytes;
            memcpy((*place)->name, name, name_bytes);
        }
    }
    return *place;
}

static void drop_if_empty(struct load **table, const char *name, size_t name_bytes)
{
    struct load **place = place_of(table, name, name_bytes);
    struct load *found = *place;
    if (found && found->count == 0) {
        *place = found->next;
        free(found);
    }
}

/* The tenant's name is the user's up to its first dot. */
static size_t tenant_bytes(const char *user, size_t user_bytes)
{
    const char *dot = memchr(user, '.', user_bytes);
    return dot ? (size_t)(dot - user) : user_bytes;
}

/* The oldest of a device is no longer on its way. */
static void take_off(struct load *device, struct load *tenant)
{
    uint32_t size = device->sizes[device->first];
    device->first = (device->first + 1) % DEVICE_MESSAGES;
    device->count--;
    device->bytes -= size;
    if (tenant && tenant->count) {
        tenant->count--;
        tenant->bytes -= size;
    }
}

static bool has_room(const struct load *device, const struct load *tenant, uint32_t size)
{
    /* A device with nothing on its way has room where its siblings have taken all that is their tenant's. */
    unsigned times = device->count ? 1 : 2;
    if (device->count == DEVICE_MESSAGES || (device->count && device->bytes + size > DEVICE_BYTES))
        return false;
    return tenant->count < times * TENANT_MESSAGES && tenant->bytes + size <= (uint64_t)times * TENANT_BYTES;
}

/* Whether one more message of a user may be on its way; if so, it is. */
static bool begin(const char *user, uint32_t size)
{
    size_t user_bytes = strlen(user), tenant_length = tenant_bytes(user, user_bytes);
    struct load *device = load_of(devices, user, user_bytes);
    struct load *tenant = load_of(tenants, user, tenant_length);
    bool allowed = false;
    if (device && tenant) {
        if (device->count && now_ms() - device->moved_ms > LOST_MS)
            while (device->count)
                take_off(device, tenant);
        allowed = has_room(device, tenant, size);
        if (allowed) {
            if (device->count == 0)
                device->moved_ms = now_ms();
            device->sizes[(device->first + device->count) % DEVICE_MESSAGES] = size;
            device->count++;
            device->bytes += size;
            tenant->count++;
            tenant->bytes += size;
        }
    }
    drop_if_empty(devices, user, user_bytes);
    drop_if_empty(tenants, user, tenant_length);
    return allowed;
}

/* The gateway has answered a message of this user. */
static void end(const char *user, size_t user_bytes)
{
    struct load *device = *place_of(devices, user, user_bytes);
    if (!device)
        return;
    size_t tenant_length = tenant_bytes(user, user_bytes);
    take_off(device, *place_of(tenants, user, tenant_length));
    device->moved_ms = now_ms();
    drop_if_empty(devices, user, user_bytes);
    drop_if_empty(tenants, user, tenant_length);
}

/* --- the gateway ---------------------------------------------------------------------------------------- */

static void hang_up(void)
{
    if (gate.link >= 0)
        close(gate.link);
    gate.link = -1;
}

static bool connect_to_gateway(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, gate.path, strlen(gate.path) + 1); /* its length was checked at the start */
    struct timeval wait = {.tv_sec = ANSWER_MS / 1000, .tv_usec = ANSWER_MS % 1000 * 1000};
    gate.link = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (gate.link < 0)
        return false;
    if (setsockopt(gate.link, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) != 0 ||
        setsockopt(gate.link, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait) != 0 ||
        connect(gate.link, (struct sockaddr *)&address, sizeof address) != 0) {
        hang_up();
        return false;
    }
    return true;
}

/* One question and its answer, over the link there is: the answer's bytes, or -1. */
static ssize_t exchange(const char *question, size_t question_bytes, char *answer)
{
    if (send(gate.link, question, question_bytes, MSG_NOSIGNAL) != (ssize_t)question_bytes)
        return -1;
    ssize_t found = recv(gate.link, answer, PACKET_BYTES, 0);
    if (found < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        gate.silent_ms = now_ms() + ANSWER_MS;
    return found > 0 ? found : -1; /* 0: it has hung up */
}

/* The answer's bytes, or -1 if the gateway is away. A link may be left over from a gateway that has been
 * started again since: then it is asked over a new one. */
static ssize_t ask(const char *question, size_t question_bytes, char *answer)
{
    ssize_t found = -1;
    for (int attempt = 0; attempt < 2 && found < 0 && now_ms() >= gate.silent_ms; attempt++) {
        if (gate.link < 0 && !connect_to_gateway())
            break;
        found = exchange(question, question_bytes, answer);
        if (found < 0)
            hang_up();
    }
    if ((found < 0) != gate.is_away) {
        gate.is_away = found < 0;
        mosquitto_log_printf(gate.is_away ? MOSQ_LOG_WARNING : MOSQ_LOG_NOTICE,
                             "ciphermote: the gateway at %s %s", gate.path,
                             gate.is_away ? "is away, so nobody is let in" : "answers");
    }
    return found;
}

static int on_connect(int event, void *data, void *user_data)
{
    (void)event, (void)user_data;
    const struct mosquitto_evt_basic_auth *asked = data;
    const char *address = mosquitto_client_address(asked->client);
    if (!asked->username || !asked->password)
        return MOSQ_ERR_AUTH;
    static char question[PACKET_BYTES], answer[PACKET_BYTES];
    int length = snprintf(question, sizeof question, "C%s\n%s\n%s", asked->username, asked->password,
                          address ? address : "");
    if (length < 0 || (size_t)length >= sizeof question)
        return MOSQ_ERR_AUTH;
    ssize_t found = ask(question, (size_t)length, answer);
    if (found < 0)
        return MOSQ_ERR_UNKNOWN; /* no answer to the client: it comes again */
    return found == 1 && answer[0] == 'y' ? MOSQ_ERR_SUCCESS : MOSQ_ERR_AUTH;
}

/* Disconnects users whose tokens were revoked since it was last asked. The question says how long ago that
 * was, for a gateway that has been started again since; the answer has a user a line. */
static int on_tick(int event, void *data, void *user_data)
{
    (void)event, (void)data, (void)user_data;
    static int64_t next_ms;
    int64_t now = now_ms();
    if (now < next_ms)
        return MOSQ_ERR_SUCCESS;
    next_ms = now + POLL_MS;
    static char answer[PACKET_BYTES + 1];
    char question[32];
    long long age = gate.polled_ms ? now - gate.polled_ms : 0;
    int length = snprintf(question, sizeof question, "R%lld", age);
    ssize_t found = ask(question, (size_t)length, answer);
    if (found < 0)
        return MOSQ_ERR_SUCCESS;
    gate.polled_ms = now;
    answer[found] = '\0';
    char *rest = NULL;
    for (char *user = strtok_r(answer + 1, "\n", &rest); user; user = strtok_r(NULL, "\n", &rest)) {
        mosquitto_kick_client_by_username(user, false);
        mosquitto_log_printf(MOSQ_LOG_NOTICE, "ciphermote: %s is revoked, and disconnected", user);
    }
    return MOSQ_ERR_SUCCESS;
}

/* --- topics --------------------------------------------------------------------------------------------- */

/* What comes after ciphermote/USER/, or NULL if the topic does not begin so. */
static const char *within(const char *topic, const char *user, size_t user_bytes)
{
    size_t root = strlen(ROOT);
    if (strncmp(topic, ROOT, root) != 0 || strncmp(topic + root, user, user_bytes) != 0)
        return NULL;
    return topic[root + user_bytes] == '/' ? topic + root + user_bytes + 1 : NULL;
}

static bool is_down(const char *rest)
{
    return rest && strncmp(rest, "down", 4) == 0 && (rest[4] == '\0' || rest[4] == '/');
}

static bool gateway_may(const struct mosquitto_evt_acl_check *asked)
{
    if (asked->access == MOSQ_ACL_SUBSCRIBE)
        return strcmp(asked->topic, SUBSCRIPTION) == 0;
    if (strncmp(asked->topic, ROOT, strlen(ROOT)) != 0)
        return false;
    const char *user = asked->topic + strlen(ROOT);
    size_t user_bytes = strcspn(user, "/");
    const char *rest = within(asked->topic, user, user_bytes);
    if (asked->access == MOSQ_ACL_READ)
        return rest && strcmp(rest, "up") == 0;
    if (!is_down(rest))
        return false;
    end(user, user_bytes);
    return true;
}

static bool device_may(const struct mosquitto_evt_acl_check *asked, const char *user)
{
    const char *rest = within(asked->topic, user, strlen(user));
    if (asked->access == MOSQ_ACL_SUBSCRIBE)
        return is_down(rest) && mosquitto_client_sub_count(asked->client) < MOST_SUBSCRIPTIONS;
    if (asked->access == MOSQ_ACL_READ)
        return is_down(rest);
    return rest && strcmp(rest, "up") == 0 && begin(user, asked->payloadlen);
}

static bool is_gateway(const char *user)
{
    return strncmp(user, GATEWAY, strlen(GATEWAY)) == 0 && !strchr(user, '.');
}

static int on_access(int event, void *data, void *user_data)
{
    (void)event, (void)user_data;
    const struct mosquitto_evt_acl_check *asked = data;
    const char *user = mosquitto_client_username(asked->client);
    if (!user)
        return MOSQ_ERR_ACL_DENIED;
    if (asked->access == MOSQ_ACL_UNSUBSCRIBE)
        return MOSQ_ERR_SUCCESS;
    bool allowed = is_gateway(user) ? gateway_may(asked) : device_may(asked, user);
    return allowed ? MOSQ_ERR_SUCCESS : MOSQ_ERR_ACL_DENIED;
}

/* --- what Mosquitto looks for --------------------------------------------------------------------------- */

int mosquitto_plugin_version(int supported_version_count, const int *supported_versions);
int mosquitto_plugin_init(mosquitto_plugin_id_t *identifier, void **user_data, struct mosquitto_opt *options,
                          int option_count);
int mosquitto_plugin_cleanup(void *user_data, struct mosquitto_opt *options, int option_count);

int mosquitto_plugin_version(int supported_version_count, const int *supported_versions)
{
    for (int i = 0; i < supported_version_count; i++)
        if (supported_versions[i] == MOSQ_PLUGIN_VERSION)
            return MOSQ_PLUGIN_VERSION;
    return -1;
}

/* As many connections as the broker may have, not as many as a shell has set: those that say nothing stay for
 * 90 seconds. */
static void allow_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    if (limit.rlim_cur < MOST_FILES)
        limit.rlim_cur = limit.rlim_max < MOST_FILES ? limit.rlim_max : MOST_FILES;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        mosquitto_log_printf(MOSQ_LOG_WARNING, "ciphermote: the limit of open files stays as it is");
}

int mosquitto_plugin_init(mosquitto_plugin_id_t *identifier, void **user_data, struct mosquitto_opt *options,
                          int option_count)
{
    (void)user_data;
    const char *path = NULL;
    for (int i = 0; i < option_count; i++)
        if (strcmp(options[i].key, "gateway") == 0)
            path = options[i].value;
    if (!path || strlen(path) >= sizeof((struct sockaddr_un *)NULL)->sun_path) {
        mosquitto_log_printf(MOSQ_LOG_WARNING,
                             "ciphermote: plugin_opt_gateway must name the gateway's socket");
        return MOSQ_ERR_INVAL;
    }
    allow_files();
    gate.path = strdup(path);
    if (!gate.path)
        return MOSQ_ERR_UNKNOWN;
    int status = mosquitto_callback_register(identifier, MOSQ_EVT_BASIC_AUTH, on_connect, NULL, NULL);
    if (status == MOSQ_ERR_SUCCESS)
        status = mosquitto_callback_register(identifier, MOSQ_EVT_ACL_CHECK, on_access, NULL, NULL);
    if (status == MOSQ_ERR_SUCCESS)
        status = mosquitto_callback_register(identifier, MOSQ_EVT_TICK, on_tick, NULL, NULL);
    return status;
}

int mosquitto_plugin_cleanup(void *user_data, struct mosquitto_opt *options, int option_count)
{
    (void)user_data, (void)options, (void)option_count;
    hang_up();
    free(gate.path);
    gate.path = NULL;
    return MOSQ_ERR_SUCCESS;
}
