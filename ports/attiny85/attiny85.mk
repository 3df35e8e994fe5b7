# SPDX-License-Identifier: Apache-2.0
# The ATtiny85: BUILD/attiny85/node.elf, and its flash and EEPROM as .hex. Needs Debian's gcc-avr, avr-libc.
# GENERATED holds compact_keys.h (`ciphermote compact enroll`). NODE_SET: A10, A16, B or L; NODE: options of
# attiny85/main.c, such as NODE=-DNODE_VALUES=8. Included by Makefile.
.PHONY: attiny85

AVR_CC := avr-gcc
NODE_SET ?= A10
NODE_IMAGE ?= $(BUILD)/attiny85/node

# One program: what is never called is not there, and the set's constants are instructions. More inlining than
# main's takes more of both memories.
T85_FLAGS := -mmcu=attiny85 -std=c11 -g -Os -flto -fuse-linker-plugin -fwhole-program -mcall-prologues
T85_FLAGS += -mstrict-X -fno-inline-functions-called-once -fno-partial-inlining -fno-move-loop-invariants
T85_FLAGS += -ffunction-sections -fdata-sections -Wall -Wextra $(WERROR)
T85_FLAGS += -DCM_CONFIG_MAX_LOG2_N=10 -DCM_CONFIG_COMPACT_SET=CM_CONFIG_COMPACT_SET_$(NODE_SET)
# What is below main when it wipes: as deep as anything went.
T85_FLAGS += -DCM_CONFIG_WIPE_STACK_BYTES=$(if $(filter B L,$(NODE_SET)),74,66) $(NODE)
T85_FLAGS += -I$(ROOT)/core/include -I$(ROOT)/core/src -iquote attiny85 -iquote arduino/src
# The deepest stack there was is 139 bytes (tests/avr/test_attiny85.py); what does not leave it is refused.
T85_STACK := 140
T85_LINK := -Wl,--gc-sections -Wl,--relax

t85_sources := attiny85/main.c arduino/src/counter_log.c $(core_sources)
t85_sources += $(wildcard $(ROOT)/core/src/backends/avr_*.S)
t85_headers := $(wildcard attiny85/*.h arduino/src/*.h $(ROOT)/core/include/*/*.h $(ROOT)/core/src/*/*.h)

attiny85: $(NODE_IMAGE).hex $(NODE_IMAGE).eep.hex

$(BUILD)/attiny85.stamp: FORCE
	@test -f '$(GENERATED)/compact_keys.h' || { \
	    echo 'GENERATED=$(GENERATED) must name a directory with compact_keys.h;' \
	        '`ciphermote compact enroll` writes it.' >&2; exit 1; }
	@mkdir -p $(@D)
	@echo '$(abspath $(GENERATED)) $(T85_FLAGS)' | cmp -s - $@ || \
	    echo '$(abspath $(GENERATED)) $(T85_FLAGS)' >$@

$(NODE_IMAGE).elf: $(t85_sources) $(t85_headers) $(BUILD)/attiny85.stamp $(GENERATED)/compact_keys.h
	@mkdir -p $(@D)
	$(AVR_CC) $(T85_FLAGS) -I$(GENERATED) $(T85_LINK) -Wl,-Map=$(@:.elf=.map) $(t85_sources) -o $@
	avr-size -A $@ | awk '/^\.(text|data|bss|noinit|eeprom)/ { print } \
	    /^\.(data|bss|noinit)/ { used += $$2 } \
	    END { if (used > 512 - $(T85_STACK)) { \
	        print "The variables take " used " bytes and the stack up to $(T85_STACK): that is more than 512. " \
	            "Take fewer NODE_VALUES, or NODE_AT_ONCE, or smaller NODE_PACKET_BYTES." > "/dev/stderr"; \
	        exit 1 } }' || { rm -f $@; exit 1; }

$(NODE_IMAGE).hex: $(NODE_IMAGE).elf
	avr-objcopy -O ihex -R .eeprom $< $@

$(NODE_IMAGE).eep.hex: $(NODE_IMAGE).elf
	avr-objcopy -O ihex -j .eeprom --change-section-lma .eeprom=0 $< $@
