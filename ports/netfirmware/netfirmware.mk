# SPDX-License-Identifier: Apache-2.0
# Firmware for the simulated Cortex-M4 that delivers by itself (netfirmware/README.md), included by Makefile.
#   make -C ports netfirmware GENERATED=DIR             link BUILD/netfirmware/ciphermote.elf: DIR has
#                                                       network_settings.h, and provisioned_keys.h or
#                                                       compact_keys.h; with app_model.h, its features
#                                                       of a window are sent
#   make -C ports netfirmware BUILD=DIR GENERATED=DIR   into another folder
# MARKS=1 marks what the bench counts. lwIP and Mbed TLS are fetched into SOURCES first (fetch.sh).
.PHONY: netfirmware netfirmware-libraries
SOURCES ?= $(ROOT)/build/netfirmware
NET_BUILD := $(BUILD)/netfirmware
# Objects that hold no keys, so that images of several devices compile them once.
NET_SHARED ?= $(BUILD)/netfirmware
NET_PRESET ?= -DCM_CONFIG_PRESET=CM_CONFIG_PRESET_BALANCED
# Measured: 4.1 KB at most (README.md).
NET_STACK_BYTES := 8192

net_generated = $(wildcard $(GENERATED)/provisioned_keys.h $(GENERATED)/compact_keys.h)
net_sensor = $(if $(filter %/compact_keys.h,$(net_generated)),sensor_compact,sensor_full)
net_includes := -Inetfirmware -isystem $(SOURCES)/lwip/src/include -isystem $(SOURCES)/mbedtls/include \
    -DMBEDTLS_CONFIG_FILE='"tls_config.h"'
net_flags := $(M4_FLAGS) $(FLAGS) $(NET_PRESET) -DCM_CONFIG_COMPLEX=0 -DCM_CONFIG_PRECISION_63=0
net_own_flags := $(net_flags) $(WERROR) $(net_includes) -iquote app -iquote mps2-an386 \
    $(if $(MARKS),-DNET_MARKS=1 -iquote $(ROOT)/bench/m4/firmware)
# Other people's code is compiled as it is.
net_library_flags := $(M4_FLAGS) -std=c11 $(OPTIMIZE) -w -ffunction-sections -fdata-sections -MMD -MP \
    $(net_includes)

net_names := $(addprefix netfirmware/,clock delivery ethernet outcome simulator_sensor tcp_stream text tls \
    work) $(m4_board) $(addprefix mps2-an386/,platform simulator_random simulator_files) app/device_record \
    app/window_features
net_lwip := $(addprefix lwip/src/,$(addprefix core/,def inet_chksum init ip mem memp netif pbuf tcp tcp_in \
    tcp_out timeouts ipv4/etharp ipv4/icmp ipv4/ip4 ipv4/ip4_addr ipv4/ip4_frag) netif/ethernet)
net_mbedtls := $(addprefix mbedtls/library/,\
    aes asn1parse asn1write bignum bignum_core bignum_mod bignum_mod_raw chacha20 chachapoly cipher \
    cipher_wrap constant_time ecdh ecdsa ecp ecp_curves ecp_curves_new gcm hkdf md memory_buffer_alloc \
    oid pk pk_wrap pkparse platform platform_util poly1305 psa_crypto psa_crypto_aead psa_crypto_cipher \
    psa_crypto_client psa_crypto_driver_wrappers_no_static psa_crypto_ecp psa_crypto_ffdh \
    psa_crypto_hash psa_crypto_mac psa_crypto_pake psa_crypto_rsa psa_crypto_slot_management psa_util \
    sha256 sha512 ssl_ciphersuites ssl_client ssl_debug_helpers_generated ssl_msg ssl_tls \
    ssl_tls13_client ssl_tls13_generic ssl_tls13_keys x509 x509_crt)

net_libraries := $(addprefix $(NET_SHARED)/libraries/,$(addsuffix .o,$(net_lwip) $(net_mbedtls)))
net_core := $(addprefix $(NET_SHARED)/,$(addsuffix .o,$(core_names) $(assembly_names)))
net_plain := $(addprefix $(NET_SHARED)/,$(addsuffix .o,$(net_names)))
net_device_names = $(addprefix netfirmware/,main https lwip_network mqtt $(net_sensor))
net_device = $(addprefix $(NET_BUILD)/device/,$(addsuffix .o,$(net_device_names)))

netfirmware: $(NET_BUILD)/generated.stamp $(NET_BUILD)/ciphermote.elf

# What a build without keys needs.
netfirmware-libraries: $(net_libraries) $(net_core) $(net_plain)

net_features = $(if $(wildcard $(GENERATED)/app_model.h),-DSENSOR_FEATURES=1)
net_made_of = $(abspath $(GENERATED)) $(net_sensor) $(net_features)
$(NET_BUILD)/generated.stamp: FORCE
	@test -f '$(GENERATED)/network_settings.h' -a -n '$(net_generated)' || { \
	    echo 'GENERATED=$(GENERATED) must name a directory with network_settings.h and provisioned_keys.h or' \
	        'compact_keys.h (netfirmware/README.md); a relative one is relative to ports/.' >&2; exit 1; }
	@mkdir -p $(@D)
	@echo '$(net_made_of)' | cmp -s - $@ || echo '$(net_made_of)' >$@

$(SOURCES)/fetched: netfirmware/fetch.sh
	netfirmware/fetch.sh $(SOURCES)
	@touch $@

$(SOURCES)/lwip/% $(SOURCES)/mbedtls/%: $(SOURCES)/fetched ;

net_options = $(quoted_options) '$(NET_PRESET) $(MARKS)'
$(NET_SHARED)/net_options.stamp: FORCE
	@mkdir -p $(@D)
	@echo $(net_options) | cmp -s - $@ || echo $(net_options) >$@

$(net_libraries) $(net_core) $(net_plain): $(NET_SHARED)/net_options.stamp
# Headers that other people's include are theirs to the compiler, which lists no such dependencies.
$(net_libraries) $(net_plain): $(SOURCES)/fetched $(addprefix netfirmware/,tls_config.h lwipopts.h arch/cc.h)
$(net_device): $(NET_BUILD)/generated.stamp $(SOURCES)/fetched $(NET_SHARED)/net_options.stamp

$(NET_SHARED)/libraries/%.o: $(SOURCES)/fetched
	@mkdir -p $(@D)
	$(M4_CC) $(net_library_flags) -I$(dir $(SOURCES)/$*) -c $(SOURCES)/$*.c -o $@

$(NET_SHARED)/core/%.o: $(ROOT)/core/%.c
	@mkdir -p $(@D)
	$(M4_CC) $(net_flags) $(WERROR) -I$(ROOT)/core/src -c $< -o $@

$(NET_SHARED)/core/%.o: $(ROOT)/core/%.S
	@mkdir -p $(@D)
	$(M4_CC) $(net_flags) -I$(ROOT)/core/src -c $< -o $@

$(net_plain): $(NET_SHARED)/%.o: %.c
	@mkdir -p $(@D)
	$(M4_CC) $(net_own_flags) -c $< -o $@

$(NET_BUILD)/device/%.o: %.c
	@mkdir -p $(@D)
	$(M4_CC) $(net_own_flags) $(net_features) -I$(GENERATED) -c $< -o $@

$(NET_BUILD)/ciphermote.elf: $(net_device) $(net_plain) $(net_libraries) $(net_core) \
    mps2-an386/application.ld mps2-an386/sections.ld
	$(M4_CC) $(M4_FLAGS) $(M4_LINK) $(LDFLAGS) -Wl,--defsym=stack_bytes=$(NET_STACK_BYTES) -Tapplication.ld \
	    -Wl,-Map=$(@:.elf=.map) $(net_device) $(net_plain) $(net_libraries) $(net_core) -o $@
	arm-none-eabi-size $@

-include $(net_libraries:.o=.d) $(net_core:.o=.d) $(net_plain:.o=.d) $(net_device:.o=.d)
